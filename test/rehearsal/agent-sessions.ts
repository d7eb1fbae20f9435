/** The life of AgentCore's sessions: quotas on new ones, and when AWS ends one that runs. */

/** What an account may have: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/bedrock-agentcore-limits.html */
export type SessionQuotas = { activeSessions: number; newSessionsPerSecond: number };

/** Outside of us-east-1 and us-west-2. */
export const defaultQuotas: SessionQuotas = { activeSessions: 2500, newSessionsPerSecond: 25 };

/** Of a runtime's template. Both are in AWS's unit, seconds. */
export type Lifecycle = { idleSeconds: number; maxLifetimeSeconds: number };

export type SessionRefusal = "ServiceQuotaExceededException" | "ThrottlingException";

type Session = { startedAtMs: number; usedAtMs: number; calls: number };

export type Sessions = {
  /** Why a new session may not start now; undefined after it was counted. */
  start(sessionId: string): SessionRefusal | undefined;
  /** Counts a call until the returned function is called: a session is not idle meanwhile. */
  use(sessionId: string): () => void;
  end(sessionId: string): void;
  /** The sessions that AWS ends now. `isBusy` asks a session's own `/ping`. */
  expired(isBusy: (sessionId: string) => Promise<boolean>): Promise<string[]>;
  count(): number;
};

const secondMs = 1000;

export function createSessions({
  quotas,
  lifecycle,
  now = Date.now,
}: {
  /** Can be changed at any time. */
  quotas: SessionQuotas;
  lifecycle: Lifecycle;
  now?: () => number;
}): Sessions {
  const sessions = new Map<string, Session>();
  let starts: number[] = [];

  return {
    start(sessionId) {
      const nowMs = now();
      starts = starts.filter((atMs) => atMs > nowMs - secondMs);
      if (starts.length >= quotas.newSessionsPerSecond) return "ThrottlingException";
      if (sessions.size >= quotas.activeSessions) return "ServiceQuotaExceededException";
      starts.push(nowMs);
      sessions.set(sessionId, { startedAtMs: nowMs, usedAtMs: nowMs, calls: 0 });
      return undefined;
    },
    use(sessionId) {
      const session = sessions.get(sessionId);
      if (session !== undefined) session.calls++;
      return () => {
        if (session === undefined) return;
        session.calls--;
        session.usedAtMs = now();
      };
    },
    end: (sessionId) => void sessions.delete(sessionId),
    async expired(isBusy) {
      const ended: string[] = [];
      for (const [sessionId, session] of [...sessions]) {
        const isOld = now() - session.startedAtMs >= lifecycle.maxLifetimeSeconds * secondMs;
        const isUnused = session.calls === 0 && now() - session.usedAtMs >= lifecycle.idleSeconds * secondMs;
        if (isOld) ended.push(sessionId);
        else if (isUnused && (await isBusy(sessionId))) session.usedAtMs = now();
        else if (isUnused) ended.push(sessionId);
      }
      return ended;
    },
    count: () => sessions.size,
  };
}
