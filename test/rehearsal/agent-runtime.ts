/** A runtime of AgentCore: for each session a process of its own that runs the bundled server, as each has a machine of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { endWithUs } from "./reaper.ts";
import type { AgentRuntime } from "./template/wiring.ts";

export type RunningRuntime = {
  runtime: AgentRuntime;
  /** Where the session's server listens; started where it does not run yet. */
  urlOf(sessionId: string): Promise<string>;
  /** Ends the session at once. False where there is none. */
  stop(sessionId: string): boolean;
  close(): Promise<void>;
};

const startTimeoutMs = 10_000;

export function runAgentRuntime({
  runtime,
  environment,
  onStart,
  onLine,
  onFailure,
}: {
  runtime: AgentRuntime;
  environment: Record<string, string>;
  onStart: () => void;
  onLine: (line: string) => void;
  onFailure: (error: string) => void;
}): RunningRuntime {
  const sessions = new Map<string, { child: ChildProcess; url: Promise<string> }>();

  function start(sessionId: string) {
    onStart();
    const child = spawn(process.execPath, [join(runtime.folder, runtime.entryPoint)], {
      // AgentCore wants 0.0.0.0:8080; a rehearsal stays on loopback and has several of them.
      env: { ...environment, SEKISHO_HOSTNAME: "127.0.0.1", SEKISHO_EXECUTION_PORT: "0" },
      cwd: runtime.folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error("its server does not listen")), startTimeoutMs);
    endWithUs(child);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n").filter(Boolean)) {
          onLine(line);
          const address = addressIn(line);
          if (address !== undefined) resolve(address);
        }
      });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      const error = `its process ended with ${signal ?? String(code)}`;
      // A session that was stopped may run again, in another process.
      if (sessions.get(sessionId)?.child === child) {
        sessions.delete(sessionId);
        onFailure(error);
      }
      reject(new Error(error));
    });
    promise.then(
      () => clearTimeout(timer),
      (error: Error) => onFailure(error.message),
    );
    const session = { child, url: promise };
    sessions.set(sessionId, session);
    return session;
  }

  function stop(sessionId: string): boolean {
    const session = sessions.get(sessionId);
    sessions.delete(sessionId);
    session?.child.kill("SIGKILL");
    return session !== undefined;
  }

  return {
    runtime,
    urlOf: (sessionId) => (sessions.get(sessionId) ?? start(sessionId)).url,
    stop,
    async close() {
      const children = [...sessions.values()].map(({ child }) => child);
      const gone = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
      for (const sessionId of [...sessions.keys()]) stop(sessionId);
      await Promise.all(gone);
    },
  };
}

/** The server says in its log where it listens. */
function addressIn(line: string): string | undefined {
  return /https?:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
}
