/** Lists what a configuration needs in addition to its file: the agent's file, and secrets. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { listDestinationSecrets } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import {
  listAgentSecrets,
  listAuthenticatorSecrets,
  listCardSecrets,
} from "@sekisho/execution/config/execution-secrets.ts";
import { UsageError } from "../command.ts";

/** Checks that the file exists, and does not run it. */
export function requireAgentFile(agent: AgentConfig, directory: string): void {
  const [problem] = agentFileProblems(agent, directory);
  if (problem !== undefined) throw new UsageError(`${problem}.`);
}

/** `agent` is the value in the file, which may be wrong in other ways. */
export function agentFileProblems(agent: unknown, directory: string): string[] {
  if (typeof agent !== "string" || !/^\.{0,2}\//.test(agent)) return [];
  const file = resolve(directory, agent);
  return existsSync(file) ? [] : [`execution.agent: the file ${file} does not exist`];
}

/** The secrets of destinations, of the Execution zone, of telemetry and of the operators' page. */
export function listNonSlackSecrets({
  destinations,
  execution,
  telemetry,
  operators,
}: Config): SecretReference[] {
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
