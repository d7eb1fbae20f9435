/** The generated part of `docs/reference/configuration.md`, made from the schemas of the configuration and of the environment. */

import { environmentVariables } from "@sekisho/config/environment.ts";
import { configJsonSchema } from "@sekisho/config/json-schema.ts";
import { containerVariables } from "@sekisho/execution/config/container-environment.ts";
import { keyRows, type Section, sectionsOf, variableRows } from "./config-keys.ts";
import { escapeProse, formatTable } from "./markdown.ts";

/** Pages that explain what a section is for. */
const further: Record<string, string> = {
  slack: "[slack.md](slack.md) explains what each of these does for people.",
  execution:
    "[agent.md](../how-to/agent.md) explains how to write an agent, and [a2a.md](a2a.md) what `a2a` is for.",
  telemetry: "[logs-and-metrics.md](logs-and-metrics.md) explains what they produce.",
  usageHistory: "[personal-data.md](../how-to/personal-data.md) explains what it is for.",
  routes: "In a stage, `sekisho config push` changes them without a deploy.",
  destinations: "[move.md](../how-to/move.md) explains how to move execution from one to another.",
  authorizer: "[move.md](../how-to/move.md) says which one fits which place.",
  stages: "[deploy.md](../how-to/deploy.md) explains how to deploy one.",
};

export function configurationPart(): string {
  const sections = sectionsOf(JSON.parse(configJsonSchema())).map(formatSection);
  const environment = [
    "## Environment variables",
    "The local commands read these variables. An empty variable counts as unset. The secrets of the configuration are further variables.",
    formatTable(["variable", "type", "default", "meaning"], variableRows(environmentVariables)),
    "### In a container",
    "`server.cjs`, which `sekisho execution bundle` writes, reads these variables.",
    formatTable(["variable", "type", "default", "meaning"], variableRows(containerVariables)),
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
