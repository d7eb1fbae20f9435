/**
 * Spaces the calls that show progress, so that the streams of a workspace together keep Slack's rate limits, which count per method, app
 * and workspace (https://docs.slack.dev/apis/web-api/rate-limits). Each stream books its next call, so they take turns. Answers, questions
 * and notices are never delayed here: the limits leave some calls for them.
 */

/** `perMinute` and `burst` together stay below Slack's calls in a minute: 20, 100 and 50. */
const limits = {
  start: { perMinute: 10, burst: 8 },
  append: { perMinute: 75, burst: 15 },
  edit: { perMinute: 41, burst: 4 },
} as const;

/** Which call is meant: `chat.startStream`, `chat.appendStream` or `chat.update`. */
export type PacedCall = keyof typeof limits;

/** A turn that was not taken for this long is forgotten. Its task has ended. */
const forgetAfterMs = 60_000;

type Line = { freeAtMs: number; booked: Map<string, number> };

/** Returns 0 if the task may make the call now, or else the time until its turn. */
export type SlackPace = (request: { team: string; call: PacedCall; requestId: string }) => number;

/** Counts for one process. Where several run at once, as on Lambda, Slack's own answer (`ratelimited`) tells the time to wait. */
export function createSlackPace({ now }: { now: () => number }): SlackPace {
  const lines = new Map<string, Line>();
  return ({ team, call, requestId }) => {
    const nowMs = now();
    const { perMinute, burst } = limits[call];
    const spacingMs = 60_000 / perMinute;
    const line = findLine(`${call} ${team}`, nowMs);
    const bookedMs = line.booked.get(requestId) ?? book();
    if (bookedMs > nowMs) {
      line.booked.set(requestId, bookedMs);
      return Math.ceil(bookedMs - nowMs);
    }
    line.booked.delete(requestId);
    return 0;

    function book(): number {
      const atMs = Math.max(line.freeAtMs, nowMs - (burst - 1) * spacingMs);
      line.freeAtMs = atMs + spacingMs;
      return atMs;
    }
  };

  function findLine(name: string, nowMs: number): Line {
    const line = lines.get(name) ?? {
      freeAtMs: Number.NEGATIVE_INFINITY,
      booked: new Map<string, number>(),
    };
    lines.set(name, line);
    for (const [requestId, atMs] of line.booked)
      if (atMs < nowMs - forgetAfterMs) line.booked.delete(requestId);
    return line;
  }
}
