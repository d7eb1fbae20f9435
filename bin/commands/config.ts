/** `sekisho config check`: is the configuration one that can be used? */
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
      if (!alarmEmail) note(`Note: nobody hears of the alarms of stage ${name}: set alarmEmail.`);
    }
    if (config.routes.length === 0) note("There is no route: whoever asks is told that no agent is set up.");
    if (config.allowlist.length === 0)
      note("The allowlist is empty: in a real workspace nobody may ask but by rules of sekisho allow add.");
    for (const secret of unsetSecrets(config))
      note(`Note: the environment variable ${formatSecretName(secret)} is not set here.`);
    return exitCodes.success;
  },
};

function sourceOf(place: ConfigLocation): string {
  const path = configPath(place);
  if (existsSync(path)) return `Read ${path}.`;
  return `There is no sekisho.config.json in ${place.directory}: every default holds.`;
}

/** Whether its code can be loaded shows when it runs: here it is not executed. */
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

/** The references that cannot be resolved here; that is no problem of the file. */
function unsetSecrets(config: Config): SecretReference[] {
  return [...neededSecrets(config.slack), ...listNonSlackSecrets(config)].filter((secret) => !hasSecret(secret));
}

/** Of destinations, of the Execution zone, and of those who are told or tell what happens. */
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

// `sekisho config push`: brings routes, and what of destinations needs no permission, to a stage without a deploy.

export const configPush: Command = {
  help: `
sekisho config push [--stage NAME] [--dry-run] [--config FILE]

Brings the routes of the configuration, and of its destinations deadlineMs, concurrency, longPollMs, dialect,
idempotent, maxResponseBytes and (unless calls are permitted by address, as with sigv4, or get the bot token) url, to a deployed stage.
The workers see it within a minute; no deploy is needed. Everything else of the file takes effect with the next
deploy. A destination that is new, or is another one in what needs permissions, "needs a deploy": where a route leads
there, or where one of those fields is another than was pushed before, nothing is written; else it is left out.

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
