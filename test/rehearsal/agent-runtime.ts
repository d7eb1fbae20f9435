/** A runtime of AgentCore: for each session a process of its own that runs the bundled server, as each has a machine of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createSessions, defaultQuotas, type SessionQuotas, type SessionRefusal } from "./agent-sessions.ts";
import { clock, inRehearsalTime, keepInTime, timeVariables, withChannel } from "./clock.ts";
import { endWithUs } from "./reaper.ts";
import type { AgentRuntime } from "./template/wiring.ts";

/** `done` must be called when the call is over. `isNew`: the call started the session. */
export type Entered = { url: string; isNew: boolean; done: () => void };
/** The process of a session that AWS starts, or ends, does not take calls. */
export type Refused = { refusal: SessionRefusal | "RetryableConflictException" | "RuntimeClientError" };

export type RunningRuntime = {
  runtime: AgentRuntime;
  /** To the session's server, which is started where it does not run. */
  enter(sessionId: string): Promise<Entered | Refused>;
  /** Ends the session at once. False where there is none. */
  stop(sessionId: string): boolean;
  /** Ends what has idled or lived for too long. It happens each second and with each move of the clock. */
  expire(): Promise<void>;
  close(): Promise<void>;
};

const startTimeoutMs = 10_000;
const expireEveryMs = 1000;

type Running = { child: ChildProcess; url: Promise<string>; isReady: boolean };

export function runAgentRuntime({
  runtime,
  environment,
  quotas = defaultQuotas,
  onStart,
  onLine,
  onFailure,
}: {
  runtime: AgentRuntime;
  environment: Record<string, string>;
  quotas?: SessionQuotas;
  onStart: () => void;
  onLine: (line: string) => void;
  onFailure: (error: string) => void;
}): RunningRuntime {
  const running = new Map<string, Running>();
  /** Of ended sessions, until their processes are gone. */
  const ending = new Set<string>();
  const sessions = createSessions({ quotas, lifecycle: runtime.lifecycle });

  function start(sessionId: string): Running {
    onStart();
    const child = spawn(process.execPath, [...inRehearsalTime, join(runtime.folder, runtime.entryPoint)], {
      // AgentCore wants 0.0.0.0:8080; a rehearsal stays on loopback and has several of them.
      env: { ...environment, ...timeVariables(), SEKISHO_HOSTNAME: "127.0.0.1", SEKISHO_EXECUTION_PORT: "0" },
      cwd: runtime.folder,
      stdio: withChannel,
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error("its server does not listen")), startTimeoutMs);
    endWithUs(child);
    keepInTime(child);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n").filter(Boolean)) {
          onLine(line);
          const address = addressIn(line);
          if (address !== undefined) resolve(address);
        }
      });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      ending.delete(sessionId);
      const error = `its process ended with ${signal ?? String(code)}`;
      // A session that was stopped may run again, in another process.
      if (running.get(sessionId)?.child === child) {
        running.delete(sessionId);
        sessions.end(sessionId);
        onFailure(error);
      }
      reject(new Error(error));
    });
    const session: Running = { child, url: promise, isReady: false };
    promise.then(
      () => {
        clearTimeout(timer);
        session.isReady = true;
      },
      (error: Error) => onFailure(error.message),
    );
    running.set(sessionId, session);
    return session;
  }

  async function enter(sessionId: string): Promise<Entered | Refused> {
    const known = running.get(sessionId);
    if (ending.has(sessionId) || known?.isReady === false) return { refusal: "RetryableConflictException" };
    const refusal = known === undefined ? sessions.start(sessionId) : undefined;
    if (refusal !== undefined) return { refusal };
    const session = known ?? start(sessionId);
    const done = sessions.use(sessionId);
    try {
      return { url: await session.url, isNew: known === undefined, done };
    } catch {
      done();
      return { refusal: "RuntimeClientError" };
    }
  }

  function stop(sessionId: string): boolean {
    const session = running.get(sessionId);
    running.delete(sessionId);
    sessions.end(sessionId);
    if (session !== undefined && session.child.exitCode === null) ending.add(sessionId);
    session?.child.kill("SIGKILL");
    return session !== undefined;
  }

  async function expire(): Promise<void> {
    const isBusy = async (sessionId: string) => {
      const url = await running.get(sessionId)?.url;
      const response = await fetch(`${url}/ping`).catch(() => undefined);
      return ((await response?.json()) as { status?: string } | undefined)?.status === "HealthyBusy";
    };
    for (const sessionId of await sessions.expired(isBusy)) stop(sessionId);
  }

  const timer = setInterval(() => void expire(), expireEveryMs);
  const ignore = clock.onAdvance(() => void expire());

  return {
    runtime,
    enter,
    stop,
    expire,
    async close() {
      clearInterval(timer);
      ignore();
      const children = [...running.values()].map(({ child }) => child);
      const gone = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
      for (const sessionId of [...running.keys()]) stop(sessionId);
      await Promise.all(gone);
    },
  };
}

/** The server says in its log where it listens. */
function addressIn(line: string): string | undefined {
  return /https?:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
}
