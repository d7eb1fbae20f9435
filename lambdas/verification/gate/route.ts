/** Where a message's task goes: the first route that fits names the destination. */
import * as z from "zod";
import type { AskedMessage } from "../task/messages.ts";

const slackId = z.string().min(1).max(64);

/** All given conditions must match; a route without any fits every message. */
const routeSchema = z.strictObject({
  team: slackId.optional(),
  channel: slackId.optional(),
  destination: z.string().min(1).max(64),
});
export type Route = z.infer<typeof routeSchema>;

/** In order of precedence. Only the last may have no condition: behind such a one, none would ever be reached. */
export const routesSchema = z.array(routeSchema).superRefine((routes, context) => {
  const unconditional = routes.findIndex((route) => route.team === undefined && route.channel === undefined);
  if (unconditional === -1 || unconditional === routes.length - 1) return;
  context.addIssue({
    code: "custom",
    path: [unconditional],
    message: "only the last route may be without team and channel",
  });
});

/** The destination's name, or undefined where no route fits. */
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
