/** Limits log lines that anybody can cause, so that they do not fill the log. */

/** Beyond this number, the oldest key is forgotten. */
const maxRemembered = 1000;

/** Returns true the first time for each key, and then once a minute. */
export function createMinuteLimiter({ now }: { now: () => number }): (key: string) => boolean {
  const loggedAtMs = new Map<string, number>();
  return (key) => {
    const nowMs = now();
    if (nowMs < (loggedAtMs.get(key) ?? Number.NEGATIVE_INFINITY) + 60_000) return false;
    loggedAtMs.delete(key);
    const [oldest] = loggedAtMs.keys();
    if (oldest !== undefined && loggedAtMs.size >= maxRemembered) loggedAtMs.delete(oldest);
    loggedAtMs.set(key, nowMs);
    return true;
  };
}
