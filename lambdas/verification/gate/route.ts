/** Where a message's task goes: the first route that fits names the destination. */
import type { Route } from "../../shared/config/schema.ts";
import type { AskedMessage } from "../task/messages.ts";

/** A route fits where every given condition does; one without any fits every message. Undefined where no route fits. */
export function routeOf({ routes, message }: { routes: readonly Route[]; message: AskedMessage }): string | undefined {
  return routes.find(
    ({ team, channel }) =>
      (team === undefined || team === message.team) && (channel === undefined || channel === message.channel),
  )?.destination;
}
