/** The generated part of `docs/reference/configuration.md`, made from the schemas of the configuration and of the environment. */

import { environmentVariables } from "@sekisho/config/environment.ts";
import { configJsonSchema } from "@sekisho/config/json-schema.ts";
import { containerVariables } from "@sekisho/execution/config/container-environment.ts";
import { keyRows, type Section, sectionsOf, variableRows } from "./config-keys.ts";
import { escapeProse, formatTable } from "./markdown.ts";

/** Pages that explain what a section is for. */
const further: Record<string, string> = {
  slack: "[slack.md](slack.md) explains what these do for people.",
  execution: "See [agent.md](../how-to/agent.md), and [a2a.md](a2a.md) for `a2a`.",
  telemetry: "See [logs-and-metrics.md](logs-and-metrics.md).",
  usageHistory: "See [personal-data.md](../how-to/personal-data.md).",
  routes: "In a stage, `sekisho config push` changes them without a deploy.",
  destinations: "See [move.md](../how-to/move.md).",
  authorizer: "See [move.md](../how-to/move.md).",
  stages: "See [deploy.md](../how-to/deploy.md).",
};

export function configurationPart(): string {
  const sections = sectionsOf(JSON.parse(configJsonSchema())).map(formatSection);
  const localRows = variableRows(environmentVariables);
  const isLocal = (row: string[]) => localRows.some((one) => one.join("|") === row.join("|"));
  const containerRows = variableRows(containerVariables);
  const sharedNames = containerRows.filter(isLocal).map(([name]) => name);
  const head = ["variable", "default", "meaning"];
  const environment = [
    "## Environment variables",
    "The local commands read these variables. An empty variable counts as unset. The secrets of the configuration are further variables. Of the names of proxies, those in lower case take precedence.",
    formatTable(head, localRows),
    "### In a container",
    `\`server.cjs\`, which \`sekisho execution bundle\` writes, reads these variables, and as above ${sharedNames.join(", ")}.`,
    formatTable(
      head,
      containerRows.filter((row) => !isLocal(row)),
    ),
  ];
  return [...sections, ...environment].join("\n\n");
}

function formatSection(section: Section): string {
  const { name, level, description, kind, variants } = section;
  const rows = keyRows(section);
  const parts = [`${"#".repeat(level)} \`${name}\``, escapeProse(description), further[name]];
  if (kind !== undefined && variants.length > 0) {
    const cells = variants.map((one) => [`\`${one.name}\``, escapeProse(one.description)]);
    parts.push(formatTable([`\`${kind}\``, "what it does"], cells));
  }
  const head = [
    "key",
    ...(kind === undefined ? [] : [`for \`${kind}\``]),
    "type",
    "default",
    "meaning",
  ];
  if (rows.length > 0) parts.push(formatTable(head, rows));
  return parts.filter(Boolean).join("\n\n");
}
