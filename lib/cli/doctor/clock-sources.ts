/** Who can tell what time it is: Slack, the deployed entry, and whatever destinations are asked over HTTP. */
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { readSkewMs } from "./ask-slack.ts";
import type { ClockSource } from "./checks/machine.ts";
import type { SlackSide } from "./slack-side.ts";

const timeoutMs = 5000;

export function slackClock({ slack }: { slack: SlackSide }): ClockSource {
  return {
    who: "Slack",
    async skewMs() {
      const identity = await slack.identity();
      return "answer" in identity ? identity.answer.skewMs : undefined;
    },
  };
}

/** Those on this machine have the same clock. Whether they let us in does not matter. */
export function destinationClocks({ config, signal }: { config: Config; signal: AbortSignal }): ClockSource[] {
  return Object.entries(config.destinations).flatMap(([name, destination]) => {
    const url = URL.parse(toAddress(destination) ?? "");
    if (url === null || !/^https?:$/.test(url.protocol) || isLoopbackHost(url.hostname)) return [];
    return [{ who: `destination ${name}`, skewMs: () => measureSkew({ url: url.origin, signal }) }];
  });
}

/** Resolves to undefined where nothing answers, or the answer has no date. */
export async function measureSkew({
  url,
  signal,
  now = Date.now,
}: {
  url: string;
  signal: AbortSignal;
  now?: () => number;
}): Promise<number | undefined> {
  const sentAtMs = now();
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { method: "HEAD", redirect: "manual", signal: bounded });
    return readSkewMs({ date: response.headers.get("date"), sentAtMs, receivedAtMs: now() });
  } catch {
    return undefined;
  }
}
