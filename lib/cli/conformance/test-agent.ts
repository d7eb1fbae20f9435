/** `sekisho conformance --agent`: finds one agent, runs it, and reports which of our features it can serve. */
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import {
  type ConfigLocation,
  configDirectory,
  configPath,
  loadConfig,
  parseConfig,
} from "@sekisho/config/load.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { loadAgent } from "@sekisho/execution/agents/load-agent.ts";
import { listAgentSecrets } from "@sekisho/execution/config/execution-secrets.ts";
import { runAsAgent } from "@sekisho/execution/runs/uncaught-errors.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { findEntry } from "../agents/add-agent.ts";
import { type CommandRun, exitCodes, requireSecrets, UsageError } from "../command.ts";
import { formatFeatures, listFeatures, requiredFeature } from "./agent-features.ts";
import { runThreeTimes } from "./agent-runs.ts";

type AgentTest = Pick<CommandRun, "signal" | "print" | "note"> & {
  /** The name of an agent in the configuration, or what `agents add` takes. */
  target: string;
  /** The environment variable with the bearer token. */
  variable: string | undefined;
  location: ConfigLocation;
  budgetMs: number;
  isJson: boolean;
};

export async function testAgent(test: AgentTest): Promise<number> {
  const { target, location, budgetMs, isJson, signal, print, note } = test;
  const { seen: kind, agent } = await findAgent(test);
  requireSecrets(listAgentSecrets({ agent, agents: {} }));
  const log = createLog({ service: "sekisho", level: readEnvironment().logLevel ?? "warn" });
  const cwd = configDirectory(location);
  const loadedAgent = await runAsAgent(log, () => loadAgent({ agent, cwd, readSecret })).catch(
    (error: unknown) => {
      throw new UsageError(error instanceof Error ? error.message : String(error));
    },
  );
  note(`Testing ${target}: ${kind}. It runs up to three times.`);
  try {
    const seen = await runThreeTimes({ agent: loadedAgent, budgetMs, signal, log });
    const rows = listFeatures(agent, seen);
    const hasAnswered = seen[requiredFeature] === "yes";
    print(
      isJson
        ? JSON.stringify({ agent: target, kind, kept: hasAnswered, features: rows }, null, 2)
        : formatFeatures(rows),
    );
    if (!hasAnswered) note(noAnswerText);
    return hasAnswered ? exitCodes.success : exitCodes.failed;
  } catch (error) {
    if (!signal.aborted) throw error;
    note("Interrupted. There is no report.");
    return exitCodes.interrupted;
  }
}

const noAnswerText = `It gave no answer, so it cannot be used. The log above says why. If it refuses the request, its type, its path or its request may be wrong: ${sekisho} agents add URL --dry-run says what answers at a URL.`;

async function findAgent(test: AgentTest): Promise<{ seen: string; agent: AgentConfig }> {
  const { target, variable, location, signal } = test;
  const path = configPath(location);
  const { destinations, execution } = loadConfig(location);
  const { agents } = execution;
  const named = Object.hasOwn(agents, target) ? agents[target] : undefined;
  if (named !== undefined) return { seen: describe(named), agent: named };
  if (Object.hasOwn(destinations, target))
    throw new UsageError(
      `"${target}" is a destination of its own, and no agent of the Execution host. Run ${sekisho} doctor --destination ${target}.`,
    );
  const { directory } = location;
  const { seen, entry, isDestination } = await findEntry({
    ...{ target, variable, directory, path, signal },
  });
  if (isDestination) {
    const test = seen.startsWith("an A2A")
      ? `Add it by ${sekisho} agents add ${target}, and run ${sekisho} doctor.`
      : `Run ${sekisho} conformance ${target}.`;
    throw new UsageError(`${target} is ${seen}. It needs no agent of the Execution host. ${test}`);
  }
  const config = parseConfig({ json: { execution: { agent: entry } }, name: target });
  return { seen, agent: config.execution.agent };
}

function describe(agent: AgentConfig): string {
  return typeof agent === "string" ? agent : `an agent of type ${agent.type}`;
}
