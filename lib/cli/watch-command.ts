/** `--watch` of the commands that run an agent file. */
import { join, resolve } from "node:path";
import { listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { configFileName } from "@sekisho/config/config-error.ts";
import { supervise } from "@sekisho/local/watch/supervise.ts";
import { type CommandRun, UsageError } from "./command.ts";

type Watched = {
  run: CommandRun;
  name: string;
  /** Further arguments, which come last. */
  more?: readonly string[];
  execution: { agent: AgentConfig; agents: Readonly<Record<string, AgentConfig>> };
  /** The folder to which the agents' paths are relative. */
  base: string;
  /** The path of the configuration, if it was given. */
  config: string | undefined;
};

/** Runs the command until the person stops it, and starts it again after each change. Throws a UsageError if all agents are built-in. */
export async function watchCommand({
  run,
  name,
  more = [],
  execution,
  base,
  config,
}: Watched): Promise<void> {
  const agents = listAgents(execution).map(({ agent }) => agent);
  const agentFiles = new Set(agents.filter((each) => typeof each === "string" && each !== "echo"));
  if (agentFiles.size === 0)
    throw new UsageError(
      "--watch needs an agent file: --agent FILE, or execution.agent of the configuration.",
    );
  const { args, directory, signal, note } = run;
  const files = [
    ...[...agentFiles].map((file) => resolve(base, String(file))),
    resolve(directory, config ?? configFileName),
    join(directory, ".env"),
  ];
  note(`Watching ${[...agentFiles].join(", ")} and the files that it imports. Ctrl-C stops.`);
  const childArgs = [name, ...args.filter((arg) => arg !== "--watch"), ...more];
  await supervise({ args: childArgs, hasPage: name === "start", files, signal, note });
}
