/** Where a message's task goes: the first route that fits names the destination. */
import type { Route } from "../../shared/config/schema.ts";
import type { AskedMessage } from "../task/messages.ts";

/** The destination's name, or undefined where no route fits. All given conditions must match; a route without any fits all. */
export function routeOf({
  routes,
  message,
}: {
  routes: readonly Route[];
  message: Pick<AskedMessage, "team" | "channel">;
}): string | undefined {
  return routes.find(
    ({ team, channel }) =>
      (team === undefined || team === message.team) && (channel === undefined || channel === message.channel),
  )?.destination;
}
