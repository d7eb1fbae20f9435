/** Is this machine's clock right, by the dates of what answers? */
import { type Check, failed, ok, skipped, warning } from "../check.ts";

/** `skewMs` resolves to how far our clock is ahead; to undefined where nothing tells. */
export type ClockSource = { who: string; skewMs: () => Promise<number | undefined> };

const warnMs = 60_000;
/** Slack's signatures hold so long, and AWS's as well. */
const failMs = 300_000;

/** `trusted` tell of our clock alone; where they say that it is right, `others` tell of their own. */
export function clock({ trusted, others }: { trusted: readonly ClockSource[]; others: readonly ClockSource[] }): Check {
  return {
    name: "clock",
    async run() {
      const [known, further] = await Promise.all([read(trusted), read(others)]);
      const worst = mostOff([...known, ...further]);
      if (worst === undefined) return skipped("Nothing answered that tells the time.");
      const off = Math.abs(worst.skewMs);
      const reference = mostOff(known);
      const isTheirs = reference !== undefined && Math.abs(reference.skewMs) <= warnMs;
      const remedy = isTheirs
        ? `Set the clock of ${worst.who}: Slack's and AWS's agree with this machine's.`
        : "Set this machine's clock, best by NTP (Linux: timedatectl set-ntp true).";
      const seconds = Math.round(off / 1000);
      if (off <= warnMs) {
        const names = [...known, ...further].map(({ who }) => who).join(", ");
        return ok(`${seconds} s from ${worst.who} at most (asked: ${names}).`);
      }
      const what = `It is ${seconds} s ${worst.skewMs > 0 ? "ahead of" : "behind"} ${worst.who}; signatures hold for ${failMs / 1000} s.`;
      return off >= failMs ? failed(what, remedy) : warning(what, remedy);
    },
  };
}

type Skew = { who: string; skewMs: number };

async function read(sources: readonly ClockSource[]): Promise<Skew[]> {
  const all = await Promise.all(
    sources.map(async ({ who, skewMs }) => ({ who, skewMs: await skewMs().catch(() => undefined) })),
  );
  return all.flatMap(({ who, skewMs }) => (skewMs === undefined ? [] : [{ who, skewMs }]));
}

function mostOff(skews: readonly Skew[]): Skew | undefined {
  return skews.toSorted((a, b) => Math.abs(b.skewMs) - Math.abs(a.skewMs))[0];
}
