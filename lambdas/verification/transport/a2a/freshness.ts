/** How long a card may be used without asking for it again (RFC 9111, section 5.2.2). Pure. */

const shortestMs = 60_000;
const longestMs = 60 * 60_000;
const withoutWordMs = 5 * 60_000;

/** What `Cache-Control` says, within a minute and an hour; five minutes where it says nothing. */
export function freshnessMs(cacheControl: string | undefined): number {
  const words = (cacheControl ?? "").toLowerCase().split(/\s*,\s*/);
  if (words.includes("no-store") || words.includes("no-cache")) return shortestMs;
  const seconds = words.flatMap((word) => /^max-age="?(\d{1,10})"?$/.exec(word)?.[1] ?? [])[0];
  if (seconds === undefined) return withoutWordMs;
  return Math.min(Math.max(Number(seconds) * 1000, shortestMs), longestMs);
}
