/** What the task machine needs to know of the configuration. */
import { hash } from "node:crypto";
import type { Destination } from "../shared/config/destination-schema.ts";
import type { AllowlistRule, Config } from "../shared/config/schema.ts";
import { isAllowed } from "./gate/allowlist.ts";
import { routeOf } from "./gate/route.ts";
import type { Policy } from "./task/policy.ts";

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

/** `extraRules` join those of the configuration (the stand-in's workspace on one machine). */
export function createPolicy({
  config,
  extraRules = [],
}: {
  config: Pick<Config, "allowlist" | "routes" | "destinations" | "limits">;
  extraRules?: readonly AllowlistRule[];
}): Policy {
  const rules = [...config.allowlist, ...extraRules];
  return {
    isAllowed: (message) => isAllowed({ rules, message }),
    routeOf: (message) => routeOf({ routes: config.routes, message }),
    destinations: new Map(
      Object.entries(config.destinations).map(([name, destination]) => [
        name,
        {
          deadlineMs: destination.deadlineMs,
          address: addressOf(destination),
          idempotent: destination.idempotent,
          concurrency: destination.concurrency,
          stopAfterResult: destination.transport === "agentcore" && destination.stopAfterResult,
        },
      ]),
    ),
    sweepAfterMs: config.limits.sweepAfterMs,
  };
}
