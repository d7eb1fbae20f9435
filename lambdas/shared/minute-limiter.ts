/** Says whether a line about something that anybody can cause is due: such lines must not fill the log. */

/** Beyond that, the key that was logged first is forgotten. */
const maxRemembered = 1000;

/** True the first time for each key, then once a minute. */
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
