/** What the task machine needs to know of the configuration. */
import { hash } from "node:crypto";
import type { Destination } from "../shared/config/destination-schema.ts";
import type { Config } from "../shared/config/schema.ts";
import { routeOf } from "./gate/route.ts";
import type { Locale } from "./slack/failure-words.ts";
import type { Policy } from "./task/policy.ts";

/** What somebody reads of whose language nothing is known. */
export function defaultLocaleOf({ locale }: Pick<Config["slack"], "locale">): Locale {
  return locale === "user" ? "en" : locale;
}

function addressOf(destination: Destination): string {
  const { transport, url, runtimeArn, qualifier, endpoint, card } = { ...noAddress, ...destination };
  // One more only where there is a card: the records of tasks under way have what came out before there were any.
  const parts = [transport, url, runtimeArn, qualifier, endpoint, ...(card === undefined ? [] : [card])];
  return hash("sha256", JSON.stringify(parts), "hex").slice(0, 16);
}
const noAddress = {
  url: undefined,
  runtimeArn: undefined,
  qualifier: undefined,
  endpoint: undefined,
  card: undefined,
};

export function createPolicy({
  config,
}: {
  config: Pick<Config, "slack" | "routes" | "destinations" | "limits">;
}): Policy {
  return {
    routeOf: (message) => routeOf({ routes: config.routes, message }),
    destinations: new Map(
      Object.entries(config.destinations).map(([name, destination]) => [
        name,
        {
          deadlineMs: destination.deadlineMs,
          address: addressOf(destination),
          idempotent: destination.idempotent,
          concurrency: destination.concurrency,
          questionMs: destination.questions.expireAfterMs,
          stopAfterResult: destination.transport === "agentcore" && destination.stopAfterResult,
        },
      ]),
    ),
    threadReplies: config.slack.threadReplies,
    commandsPrivately: config.slack.command?.answerIn === "person",
    sweepAfterMs: config.limits.sweepAfterMs,
  };
}
