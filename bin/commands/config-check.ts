/** `sekisho config check`: is the configuration one that can be used? */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  secretsOfAgent,
  secretsOfAuthenticator,
  secretsOfCards,
} from "../../lambdas/execution/config/execution-secrets.ts";
import { type ConfigPlace, configDirectory, configPath, loadConfig } from "../../lambdas/shared/config/load.ts";
import type { AgentConfig, Config } from "../../lambdas/shared/config/schema.ts";
import { hasSecret, nameOfSecret } from "../../lambdas/shared/config/secret-in-hand.ts";
import { executionPlaceOf } from "../../lambdas/shared/config/stage-config.ts";
import type { Stage } from "../../lambdas/shared/config/stage-schema.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { neededSecrets } from "../local/slack-secrets.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";
import { secretsOfDestination } from "./required-secrets.ts";

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
      note(`Note: the environment variable ${nameOfSecret(secret)} is not set here.`);
    return exitCodes.success;
  },
};

function sourceOf(place: ConfigPlace): string {
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
  const place = executionPlaceOf(stage);
  const where = place === undefined ? "" : ` in ${place.account}, ${place.region}`;
  return `Verification in ${verification.account}, ${verification.region}; Execution ${execution.kind}${where}`;
}

/** The references that cannot be resolved here; that is no problem of the file. */
function unsetSecrets(config: Config): SecretReference[] {
  return [...neededSecrets(config.slack), ...secretsBesideSlack(config)].filter((secret) => !hasSecret(secret));
}

/** Of destinations, of the Execution zone, and of those who are told or tell what happens. */
export function secretsBesideSlack({ destinations, execution, telemetry, operators }: Config): SecretReference[] {
  const { exporter } = telemetry.traces;
  return [
    ...Object.values(destinations).flatMap(secretsOfDestination),
    ...secretsOfAuthenticator(execution.authenticator),
    ...secretsOfAgent(execution.agent),
    ...secretsOfCards(execution.a2a),
    ...(exporter.type === "otlp" ? Object.values(exporter.headers) : []),
    ...secretsOfAuthenticator(operators.authenticator),
  ];
}
