/**
 * Errors that nothing catches: a rejected promise that nobody awaits, a throw in a timer, an event `error` without a listener. One of the
 * agent is logged, and all tasks go on. Any other ends the process, because the host's own state may be damaged.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { errorKind, readField } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import {
  formatPlace,
  type Place,
  stackFrames,
  toSourcePlace,
} from "@sekisho/runtime/stack-frames.ts";
import { isBundledAgent } from "../agents/create-agent.ts";

/** Holds the log of the agent's run. Everything that a function starts there (promises, timers, sockets) remembers it. */
const agentScope = new AsyncLocalStorage<Log | undefined>();

/** Calls the agent's code. Its uncaught errors then belong to the agent, whatever their stack is, and are written to `log`. */
export function runAsAgent<T>(log: Log, call: () => T): T {
  return agentScope.run(log, call);
}

/** Calls the host's code that works for the agent. Its uncaught errors are the host's, but a rejection of its result is the agent's. */
export async function runAsHost<T>(call: () => Promise<T>): Promise<T> {
  return await agentScope.run(undefined, call);
}

/** Limits how much of a stack is read, because it is the agent's own text. */
const maxStackLength = 20_000;
/** The limit of a field of a log line. */
const maxLineLength = 200;

/**
 * Handles the uncaught errors of this process. Replaces all other listeners, because those of Lambda's runtime end the process. Ends it
 * with 1 for an error that is not the agent's. An error is the agent's if it happened in `runAsAgent`, or in a file of `isAgentFile`.
 */
export function handleUncaughtErrors(options: {
  log: Log;
  isAgentFile?: (file: string) => boolean;
  /** Gets each error of the agent, for its author. */
  show?: (error: unknown) => void;
  now?: () => number;
}): void {
  const { log, isAgentFile = isBundledAgent, show, now = Date.now } = options;
  /** A timer may throw many times a second, so each line of code is logged once per run and minute. */
  const limiters = new WeakMap<Log, (key: string) => boolean>();

  function handle({ error, runLog }: { error: unknown; runLog: Log | undefined }): void {
    const frames = readFrames(error);
    const agentFrame = frames.find(({ file }) => isAgentFile(file));
    const kind = errorKind(error);
    const frame = agentFrame ?? frames[0];
    if (runLog === undefined && agentFrame === undefined) {
      log.error("host_error_uncaught", {
        cause_kind: kind,
        source_line: frame && describePlace(frame),
      });
      process.exit(1);
    }
    const agentLog = runLog ?? log;
    const isDue = limiters.get(agentLog) ?? createMinuteLimiter({ now });
    limiters.set(agentLog, isDue);
    if (!isDue(`${kind} ${frame && formatPlace(frame)}`)) return;
    agentLog.error("agent_error_uncaught", {
      cause_kind: kind,
      source_line: frame && describePlace(frame),
    });
    try {
      show?.(error);
    } catch {
      // An agent may throw an object whose getters throw.
    }
  }

  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.removeAllListeners(event);
    process.on(event, (error: unknown) => {
      const runLog = agentScope.getStore();
      // An error while it is logged, such as a closed stderr, is the host's. As the agent's it would be logged again without end.
      agentScope.run(undefined, () => handle({ error, runLog }));
    });
  }
}

/** Empty for what is no error, and for a stack that cannot be read. */
function readFrames(error: unknown): Place[] {
  try {
    return stackFrames(String(readField(error, "stack") ?? "").slice(0, maxStackLength));
  } catch {
    return [];
  }
}

/** The end of a long path says more than its beginning. */
function describePlace(place: Place): string {
  try {
    return formatPlace(toSourcePlace(place)).slice(-maxLineLength);
  } catch {
    return formatPlace(place).slice(-maxLineLength);
  }
}
