/** The key of a route: what a message must be for the route to fit. */
import type { Route } from "../../../lambdas/shared/config/schema.ts";

/** A key without any field fits every message. */
export type RouteKey = Pick<Route, "team" | "channel" | "word">;

const fields = ["team", "channel", "word"] as const;

/** Whether every message that fits `inner` fits `outer`. Letter case does not matter. */
export function isCovering(outer: RouteKey, inner: RouteKey): boolean {
  return fields.every((field) => outer[field] === undefined || fold(outer[field]) === fold(inner[field]));
}

/** Whether a message can fit both. */
export function isOverlapping(a: RouteKey, b: RouteKey): boolean {
  return fields.every((field) => a[field] === undefined || b[field] === undefined || fold(a[field]) === fold(b[field]));
}

export function formatRouteKey({ team, channel, word }: RouteKey): string {
  const parts = [team && `team ${team}`, channel && `channel ${channel}`, word && `"${word}: ..."`];
  return parts.filter(Boolean).join(", ") || "every message";
}

/** The first destination is used. The others get tasks that certainly did not arrive at it. */
export function orderText(destination: readonly string[]): string {
  return destination.join(", then ");
}

function fold(text: string | undefined): string | undefined {
  return text?.normalize("NFKC").toLowerCase();
}
