/** `sekisho config`: checks the configuration, and pushes live settings to a stage without a deploy. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  listAgentSecrets,
  listAuthenticatorSecrets,
  listCardSecrets,
} from "../../lambdas/execution/config/execution-secrets.ts";
import { listDestinationSecrets } from "../../lambdas/shared/config/destination-address.ts";
import { type ConfigLocation, configDirectory, configPath, loadConfig } from "../../lambdas/shared/config/load.ts";
import type { AgentConfig, Config } from "../../lambdas/shared/config/schema.ts";
import { formatSecretName, hasSecret } from "../../lambdas/shared/config/secrets.ts";
import { findExecutionPlace } from "../../lambdas/shared/config/stage-config.ts";
import type { Stage } from "../../lambdas/shared/config/stage-schema.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { pushLiveSettings } from "../../lib/cli/aws/push-live-settings.ts";
import { readStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { neededSecrets } from "../../lib/local/slack-installation.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const configCheck: Command = {
  help: `
sekisho config check [--config FILE]

Checks sekisho.config.json (or FILE) and lists every problem with its place.
Exit code 0: it can be used; 2: it cannot.
`,
  async run({ words, directory, print, note }) {
    const { values } = parseArgs({ args: words, options: { config: { type: "string" } } });
    const place = { directory, file: values.config };
    const config = loadConfig(place);
    requireAgentFile(config.execution.agent, configDirectory(place));
    print(sourceOf(place));
    const destinations = Object.keys(config.destinations).join(", ") || "none";
    const routes = config.routes.map(({ destination }) => destination.join(" or ")).join(", ") || "nowhere";
    print(`The configuration is fine: destinations ${destinations}; routes to ${routes}.`);
    print(`Agent: ${agentText(config.execution.agent)}.`);
    const stages = Object.entries(config.stages);
    for (const [name, stage] of stages) print(`Stage ${name}: ${stageText(stage)}.`);
    for (const [name, { alarmEmail }] of stages) {
      if (!alarmEmail) note(`Note: the alarms of stage ${name} notify nobody. Set alarmEmail.`);
    }
    if (config.routes.length === 0) note("There is no route, so everybody who asks learns that no agent is set up.");
    if (config.allowlist.length === 0)
      note("The allowlist is empty: in a real workspace only rules of sekisho allow add let somebody ask.");
    for (const secret of unsetSecrets(config))
      note(`Note: the environment variable ${formatSecretName(secret)} is not set here.`);
    return exitCodes.success;
  },
};

function sourceOf(place: ConfigLocation): string {
  const path = configPath(place);
  if (existsSync(path)) return `Read ${path}.`;
  return `There is no sekisho.config.json in ${place.directory}, so every default is in effect.`;
}

/** Checks that the file exists, and does not run it. */
export function requireAgentFile(agent: AgentConfig, directory: string): void {
  if (typeof agent !== "string" || agent === "echo") return;
  const file = resolve(directory, agent);
  if (!existsSync(file)) throw new UsageError(`execution.agent: the file ${file} does not exist.`);
}

function agentText(agent: AgentConfig): string {
  if (typeof agent === "string") return agent;
  return agent.type === "bedrock"
    ? `bedrock, ${agent.modelId}`
    : `openai-compatible, ${agent.model} at ${agent.baseUrl}`;
}

function stageText(stage: Stage): string {
  const { verification, execution } = stage;
  const place = findExecutionPlace(stage);
  const where = place === undefined ? "" : ` in ${place.account}, ${place.region}`;
  return `Verification in ${verification.account}, ${verification.region}; Execution ${execution.kind}${where}`;
}

/** A variable that is not set here may be set where the configuration is used, so it is only a note. */
function unsetSecrets(config: Config): SecretReference[] {
  return [...neededSecrets(config.slack), ...listNonSlackSecrets(config)].filter((secret) => !hasSecret(secret));
}

/** The secrets of destinations, of the Execution zone, of telemetry and of the operators' page. */
export function listNonSlackSecrets({ destinations, execution, telemetry, operators }: Config): SecretReference[] {
  const { exporter } = telemetry.traces;
  return [
    ...Object.values(destinations).flatMap(listDestinationSecrets),
    ...listAuthenticatorSecrets(execution.authenticator),
    ...listAgentSecrets(execution.agent),
    ...listCardSecrets(execution.a2a),
    ...(exporter.type === "otlp" ? Object.values(exporter.headers) : []),
    ...listAuthenticatorSecrets(operators.authenticator),
  ];
}

export const configPush: Command = {
  help: `
sekisho config push [--stage NAME] [--dry-run] [--config FILE]

Pushes to a deployed stage the routes of the configuration, and of its destinations deadlineMs, concurrency, longPollMs,
dialect, idempotent, maxResponseBytes and url (unless permissions name the address, as with sigv4, or calls get the bot
token). The workers see it within a minute, without a deploy. Everything else takes effect with the next deploy.
A destination "needs a deploy" where it is new, or where the fields that need permissions have changed. If a route leads
there, or if one of the fields above differs from the last push, nothing is written. Otherwise it is left out.

  --stage NAME   of the configuration's stages; without it the first
  --dry-run      only shows what would change
  --config FILE  instead of ./sekisho.config.json

Exit code: 0 done or nothing to do; 1 needs a deploy, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { words, signal, print, note } = run;
    const { values } = parseArgs({
      args: words,
      options: { ...stageOptions, "dry-run": { type: "boolean" } },
    });
    const { config, named } = readStage(run, values);
    return pushLiveSettings({ ...named, config, dryRun: values["dry-run"] ?? false, signal, print, note });
  },
};
