/** Lists what a configuration needs in addition to its file: the agent's file, and secrets. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { listDestinationSecrets } from "@sekisho/config/destination-address.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import {
  listAgentSecrets,
  listAuthenticatorSecrets,
  listCardSecrets,
} from "@sekisho/execution/config/execution-secrets.ts";
import { UsageError } from "../command.ts";

/** Checks that the files of all agents exist, and does not run them. */
export function requireAgentFiles(execution: Config["execution"], directory: string): void {
  const [problem] = agentFileProblems(execution, directory);
  if (problem !== undefined) throw new UsageError(`${problem}.`);
}

/** `execution` is the section of the file, which may be wrong in other ways. */
export function agentFileProblems(execution: unknown, directory: string): string[] {
  const { agent, agents } = Object(execution) as { agent?: unknown; agents?: unknown };
  const named = Object.entries(Object(agents)).map(([name, each]) => [`agents.${name}`, each]);
  const files = [["agent", agent], ...named].flatMap(([field, each]) => {
    if (typeof each !== "string" || !/^\.{0,2}\//.test(each)) return [];
    const file = resolve(directory, each);
    return existsSync(file) ? [] : [[file, `execution.${field}: the file ${file} does not exist`]];
  });
  // The main agent may be the first of those by name.
  return [...new Map(files.reverse() as [string, string][]).values()].reverse();
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
    ...listAgentSecrets(execution),
    ...listCardSecrets(execution.a2a),
    ...(exporter.type === "otlp" ? Object.values(exporter.headers) : []),
    ...listAuthenticatorSecrets(operators.authenticator),
  ];
}
