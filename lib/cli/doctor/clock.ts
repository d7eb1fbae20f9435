/** Checks this machine's clock against the dates of HTTP answers. */
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { type Check, failed, ok, row, skipped, warning } from "./check.ts";
import { measureSkew } from "./http.ts";

/** `skewMs` resolves to the time by which our clock is ahead, or to undefined if the source gave no time. */
export type ClockSource = { who: string; skewMs: () => Promise<number | undefined> };

const warnMs = 60_000;
/** Slack's signatures and AWS's are refused when they are older. */
const failMs = 300_000;

/** A clock of `others` may be wrong itself. If the `trusted` clocks agree with ours, the remedy is to set the other one. */
export function clockCheck(sources: {
  trusted: readonly ClockSource[];
  others: readonly ClockSource[];
}): Check {
  return row({
    name: "clock",
    needs: () => Promise.all([readAll(sources.trusted), readAll(sources.others)]),
    check([trusted, others]) {
      const all = [...trusted, ...others];
      const worst = findWorst(all);
      if (worst === undefined) return skipped("No server answered with its time.");
      const offMs = Math.abs(worst.skewMs);
      const seconds = Math.round(offMs / 1000);
      if (offMs <= warnMs) {
        return ok(
          `At most ${seconds} s from ${worst.who} (compared with ${all.map(({ who }) => who).join(", ")}).`,
        );
      }
      const reference = findWorst(trusted);
      const isOursRight = reference !== undefined && Math.abs(reference.skewMs) <= warnMs;
      const remedy = isOursRight
        ? `Set the clock of ${worst.who}: the other clocks agree with this machine's.`
        : "Set this machine's clock, best by NTP (Linux: timedatectl set-ntp true).";
      const what = `It is ${seconds} s ${worst.skewMs > 0 ? "ahead of" : "behind"} ${worst.who}. Signatures are valid for ${failMs / 1000} s.`;
      return offMs >= failMs ? failed(what, remedy) : warning(what, remedy);
    },
  });
}

type Skew = { who: string; skewMs: number };

async function readAll(sources: readonly ClockSource[]): Promise<Skew[]> {
  const all = await Promise.all(
    sources.map(async ({ who, skewMs }) => ({
      who,
      skewMs: await skewMs().catch(() => undefined),
    })),
  );
  return all.flatMap(({ who, skewMs }) => (skewMs === undefined ? [] : [{ who, skewMs }]));
}

function findWorst(skews: readonly Skew[]): Skew | undefined {
  return skews.toSorted((a, b) => Math.abs(b.skewMs) - Math.abs(a.skewMs))[0];
}

/** Leaves out destinations on this machine, which have the same clock. A refused request still shows the server's time. */
export function destinationClocks({ destinations }: Config, signal: AbortSignal): ClockSource[] {
  return Object.entries(destinations).flatMap(([name, destination]) => {
    const url = URL.parse(toAddress(destination) ?? "");
    if (url === null || !/^https?:$/.test(url.protocol) || isLoopbackHost(url.hostname)) return [];
    return [{ who: `destination ${name}`, skewMs: () => measureSkew({ url: url.origin, signal }) }];
  });
}
