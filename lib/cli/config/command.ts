/** `sekisho config`: checks the configuration, and pushes live settings to a stage without a deploy. */
import { existsSync } from "node:fs";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { isOwnExecution } from "@sekisho/config/destination-address.ts";
import { type ConfigLocation, configPath } from "@sekisho/config/load.ts";
import { isRemote, type RemoteTarget, readAgentArn } from "@sekisho/config/remote-agent.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName, hasSecret } from "@sekisho/config/secrets.ts";
import { findExecutionTarget } from "@sekisho/config/stage-config.ts";
import type { Stage } from "@sekisho/config/stage-schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { neededSecrets } from "@sekisho/local/slack-installation.ts";
import { readStage, stageOptions } from "../aws/stage.ts";
import { awsExits, configOption, defineCommand, exitCodes, flag } from "../command.ts";
import { pushLiveSettings } from "../destinations/push-live-settings.ts";
import { noRouteText } from "../destinations/route-key.ts";
import { exampleAccount } from "../init/files.ts";
import { checkConfig } from "./check-config.ts";
import { listNonSlackSecrets } from "./config-needs.ts";

export const configCheck = defineCommand({
  name: "config check",
  about: `
Checks sekisho.config.json, and lists every problem at once with its path: syntax, unknown keys, wrong values, missing
destinations. A check that depends on a wrong value waits until that value is right.`,
  options: { config: configOption },
  exits: "Exit code: 0 the file is valid; 2 it is not.",
  async run({ directory, print, note, values }) {
    const location = { directory, file: values.config };
    const config = checkConfig(location);
    print(sourceOf(location));
    const destinations = Object.keys(config.destinations).join(", ") || "none";
    const routes =
      config.routes.map(({ destination }) => destination.join(" or ")).join(", ") || "nowhere";
    print(`The configuration is valid: destinations ${destinations}; routes to ${routes}.`);
    print(
      `Agent: ${agentText(config.execution.agent)}${isAgentUsed(config) ? "" : ", to which no route leads"}.`,
    );
    for (const [name, agent] of Object.entries(config.execution.agents))
      print(`Agent ${name}: ${agentText(agent)}.`);
    const stages = Object.entries(config.stages);
    for (const [name, stage] of stages) print(`Stage ${name}: ${stageText(stage)}.`);
    for (const [name, stage] of stages) {
      if (stageText(stage).includes(exampleAccount))
        note(
          `Note: stage ${name} has the example account ${exampleAccount}. Write your own account into it.`,
        );
    }
    for (const [name, { alarmEmail }] of stages) {
      if (!alarmEmail)
        note(`Note: the alarms of stage ${name} notify nobody. Set alarmEmail in the stage.`);
    }
    const cut = config.routes.flatMap(({ word, keepsWord }) =>
      word !== undefined && keepsWord === undefined ? [word] : [],
    );
    if (cut.length > 0)
      note(
        `Note: agents get messages without the words of their routes (${cut.map((word) => `${word}:`).join(", ")}). Set keepsWord of each route: true for an agent that needs the word, false for the others.`,
      );
    if (config.routes.length === 0) note(noRouteText);
    if (config.allowlist.length === 0)
      note(
        "The allowlist is empty. In a real workspace nobody may ask until you run sekisho allow add.",
      );
    for (const secret of unsetSecrets(config))
      note(
        `Note: the environment variable ${formatSecretName(secret)} is not set here.${describeNeed(config, secret)}`,
      );
    return exitCodes.success;
  },
});

function sourceOf(location: ConfigLocation): string {
  const path = configPath(location);
  if (existsSync(path)) return `Read ${path}.`;
  return `There is no sekisho.config.json in ${location.directory}, so every default is in effect.`;
}

function agentText(agent: AgentConfig): string {
  if (typeof agent === "string") return agent;
  if (isRemote(agent)) {
    const { url, baseUrl }: RemoteTarget = agent;
    return `${agent.type}, ${url ?? baseUrl ?? readAgentArn(agent)}`;
  }
  return agent.type === "bedrock"
    ? `bedrock, ${agent.modelId}`
    : `openai-compatible, ${agent.model} at ${agent.baseUrl}`;
}

/** False if every route leads to other Execution zones. A stage deploys the agent in any case. */
function isAgentUsed({ destinations, routes, stages }: Config): boolean {
  if (routes.length === 0 || Object.keys(stages).length > 0) return true;
  const routedDestinations = routes.flatMap(({ destination }) =>
    destination.map((name) => destinations[name]),
  );
  return routedDestinations.some(
    (one) => one !== undefined && (one.transport === "in-process" || isOwnExecution(one)),
  );
}

function stageText(stage: Stage): string {
  const { verification, execution } = stage;
  const target = findExecutionTarget(stage);
  const where = target === undefined ? "" : ` in ${target.account}, ${target.region}`;
  return `Verification in ${verification.account}, ${verification.region}; Execution ${execution.kind}${where}`;
}

function describeNeed({ slack }: Config, secret: SecretReference): string {
  return secret === slack.signingSecret ? " Over Socket Mode it is not needed." : "";
}

/** Lists the secrets that are missing here. The configuration may be used elsewhere, so a missing secret is only a note. */
function unsetSecrets(config: Config): SecretReference[] {
  return [...neededSecrets(config.slack), ...listNonSlackSecrets(config)].filter(
    (secret) => !hasSecret(secret),
  );
}

export const configPush = defineCommand({
  name: "config push",
  about: `
Updates a deployed stage from the configuration without a deploy, within a minute.

It pushes the routes, and these fields of destinations: deadlineMs, concurrency, longPollMs, dialect, idempotent,
maxResponseBytes, questions, version, url and card. The url and the card are not pushed if calls are permitted by address
(as with sigv4) or carry the bot token. Everything else needs a deploy.

A destination that is new, or needs other permissions, needs a deploy first. If a route leads to one, or one of its fields
above differs from the last push, nothing is written.`,
  options: { ...stageOptions, "dry-run": flag("only shows what would change") },
  exits: awsExits("a deploy is needed"),
  async run(run) {
    const { signal, print, note, values } = run;
    const { config, named } = readStage(run, values);
    return pushLiveSettings({ ...named, config, dryRun: values["dry-run"], signal, print, note });
  },
});
