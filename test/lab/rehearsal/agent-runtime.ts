/** A runtime of AgentCore. Each session runs the bundled server in a process of its own, as AWS gives each its own machine. */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { hangMs } from "../../tooling/hang.ts";
import { clock, startProcess } from "./clock.ts";
import type { AgentRuntime } from "./template/wiring.ts";

/** `done` must be called when the call is over. `isNew`: the call started the session. */
export type Entered = { url: string; isNew: boolean; done: () => void };
/** A session whose process is starting or ending takes no calls. */
export type Refused = {
  refusal: SessionRefusal | "RetryableConflictException" | "RuntimeClientError";
};

export type RunningRuntime = {
  runtime: AgentRuntime;
  /** Leads to the session's server, and starts it where it does not run. */
  enter(sessionId: string): Promise<Entered | Refused>;
  /** Ends the session at once. Returns false if there is none. */
  stop(sessionId: string): boolean;
  /** Ends sessions that were idle or alive for too long. It also runs each second and with each move of the clock. */
  expire(): Promise<void>;
  close(): Promise<void>;
};

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
  /** Ended sessions whose processes are not gone yet. */
  const ending = new Set<string>();
  const sessions = createSessions({ quotas, lifecycle: runtime.lifecycle });

  const ownPort = runtime.isA2a ? "9000" : "8080";
  const runtimeUrl = `https://bedrock-agentcore.${runtime.region}.amazonaws.com/runtimes/${encodeURIComponent(runtime.arn)}/invocations`;

  function start(sessionId: string): Running {
    onStart();
    const { SEKISHO_EXECUTION_PORT: port = "8080" } = environment;
    if (port !== ownPort) onFailure(`it listens on ${port}, and AgentCore calls ${ownPort}`);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const timer = setTimeout(() => reject(new Error("its server does not listen")), hangMs);
    const child = startProcess({
      args: [join(runtime.folder, runtime.entryPoint)],
      // AgentCore expects 0.0.0.0 and the port. A rehearsal stays on loopback and has several sessions.
      environment: {
        ...environment,
        AGENTCORE_RUNTIME_URL: runtimeUrl,
        SEKISHO_HOSTNAME: "127.0.0.1",
        SEKISHO_EXECUTION_PORT: "0",
      },
      folder: runtime.folder,
      onLine(line) {
        onLine(line);
        // The server logs its address.
        const [address] = /https?:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      },
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      ending.delete(sessionId);
      const error = `its process ended with ${signal ?? String(code)}`;
      // A stopped session may already run again in another process.
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
    const cachedValue = running.get(sessionId);
    if (ending.has(sessionId) || cachedValue?.isReady === false)
      return { refusal: "RetryableConflictException" };
    const refusal = cachedValue === undefined ? sessions.start(sessionId) : undefined;
    if (refusal !== undefined) return { refusal };
    const session = cachedValue ?? start(sessionId);
    const done = sessions.use(sessionId);
    try {
      return { url: await session.url, isNew: cachedValue === undefined, done };
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

  /** Returns undefined while the server starts, and where it does not answer. */
  async function ping(sessionId: string): Promise<unknown> {
    const session = running.get(sessionId);
    if (!session?.isReady) return undefined;
    const response = await fetch(`${await session.url}/ping`).catch(() => undefined);
    const pinged: unknown = await response?.json().catch(() => undefined);
    // While the clock moves, the session's time is ahead of the time here.
    await clock.settled();
    return pinged;
  }

  async function expire(): Promise<void> {
    const { expired: expiredSessions, problems } = await sessions.pingAll(ping);
    for (const problem of problems) onFailure(problem);
    for (const sessionId of expiredSessions) stop(sessionId);
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

/** The limits of an account: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/bedrock-agentcore-limits.html */
export type SessionQuotas = { activeSessions: number; newSessionsPerSecond: number };

/** The defaults outside of us-east-1 and us-west-2. */
export const defaultQuotas: SessionQuotas = { activeSessions: 2500, newSessionsPerSecond: 25 };

/** From the template of the runtime. */
export type Lifecycle = { idleSeconds: number; maxLifetimeSeconds: number };

export type SessionRefusal = "ServiceQuotaExceededException" | "ThrottlingException";

type Session = { startedAtMs: number; usedAtMs: number; calls: number };

const secondMs = 1000;

export function createSessions({
  quotas,
  lifecycle,
  now = Date.now,
}: {
  /** May change at any time. */
  quotas: SessionQuotas;
  lifecycle: Lifecycle;
  now?: () => number;
}) {
  const sessions = new Map<string, Session>();
  let starts: number[] = [];

  return {
    /** Starts and counts a session, or returns why it may not start now. */
    start(sessionId: string): SessionRefusal | undefined {
      const nowMs = now();
      starts = starts.filter((atMs) => atMs > nowMs - secondMs);
      if (starts.length >= quotas.newSessionsPerSecond) return "ThrottlingException";
      if (sessions.size >= quotas.activeSessions) return "ServiceQuotaExceededException";
      starts.push(nowMs);
      sessions.set(sessionId, { startedAtMs: nowMs, usedAtMs: nowMs, calls: 0 });
      return undefined;
    },
    /** Counts a call until the returned function is called. A session with a call is not idle. */
    use(sessionId: string): () => void {
      const session = sessions.get(sessionId);
      if (session !== undefined) session.calls++;
      return () => {
        if (session === undefined) return;
        session.calls--;
        session.usedAtMs = now();
      };
    },
    end: (sessionId: string) => void sessions.delete(sessionId),
    /**
     * Pings all sessions. Returns those that AWS ends now, and what is wrong with the answers. A session is ended for the time that
     * had passed before its ping: a call that comes during the ping is too late, as it would be after a long wait.
     */
    async pingAll(
      ping: (sessionId: string) => Promise<unknown>,
    ): Promise<{ expired: string[]; problems: string[] }> {
      const problems: string[] = [];
      const end = [...sessions].map(async ([sessionId, { startedAtMs, usedAtMs, calls }]) => {
        const passedMs = now() - startedAtMs;
        const sinceCallMs = calls > 0 ? 0 : now() - usedAtMs;
        const { isBusy, changedAtMs, problem } = readPing({
          answer: await ping(sessionId),
          nowMs: now(),
        });
        if (problem !== undefined) problems.push(problem);
        if (passedMs >= lifecycle.maxLifetimeSeconds * secondMs) return [sessionId];
        const idleMs = isBusy ? 0 : Math.min(sinceCallMs, now() - changedAtMs);
        return idleMs >= lifecycle.idleSeconds * secondMs ? [sessionId] : [];
      });
      return { expired: (await Promise.all(end)).flat(), problems };
    },
  };
}

type Ping = { isBusy: boolean; changedAtMs: number; problem?: string };

/**
 * Reads an answer of `/ping` as AgentCore was measured to: the field alone counts. `HealthyBusy` without it keeps no session alive
 * (aws/bedrock-agentcore-sdk-python#471, fastagent-sh/fastagent#314), and neither does a date that is no number
 * (aws/bedrock-agentcore-sdk-typescript#129). The documentation says that it is a Unix time in seconds, of the last change of the status.
 * A time in the future, such as one in milliseconds, is a problem.
 */
export function readPing({ answer, nowMs }: { answer: unknown; nowMs: number }): Ping {
  const none = { isBusy: false, changedAtMs: Number.NEGATIVE_INFINITY };
  if (typeof answer !== "object" || answer === null || !("time_of_last_update" in answer))
    return none;
  const { time_of_last_update: seconds, status } = answer as {
    time_of_last_update: unknown;
    status?: unknown;
  };
  const problem = `GET /ping answered ${JSON.stringify(answer)}`;
  if (!Number.isSafeInteger(seconds))
    return { ...none, problem: `${problem}: the time is no whole number of seconds` };
  const changedAtMs = Number(seconds) * secondMs;
  if (changedAtMs > nowMs) return { ...none, problem: `${problem}: the time is in the future` };
  return { isBusy: status === "HealthyBusy", changedAtMs };
}
