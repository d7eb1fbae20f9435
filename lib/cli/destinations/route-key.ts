/** The key of a route: the conditions that a message must meet. */
import type { Route } from "@sekisho/config/schema.ts";

/** A key without any field fits every message. */
export type RouteKey = Pick<Route, "team" | "channel" | "word">;

const fields = ["team", "channel", "word"] as const;

/** True if every message that fits `inner` fits `outer`. Letter case does not matter. */
export function isCovering(outer: RouteKey, inner: RouteKey): boolean {
  return fields.every(
    (field) => outer[field] === undefined || fold(outer[field]) === fold(inner[field]),
  );
}

/** True if a message can fit both. */
export function isOverlapping(a: RouteKey, b: RouteKey): boolean {
  return fields.every(
    (field) =>
      a[field] === undefined || b[field] === undefined || fold(a[field]) === fold(b[field]),
  );
}

export function formatRouteKey({ team, channel, word }: RouteKey): string {
  const parts = [team && `team ${team}`, channel && `channel ${channel}`, word && `"${word}: ..."`];
  return parts.filter(Boolean).join(", ") || "every message";
}

export const noRouteText =
  "There is no route, so the bot answers every message that no agent is set up.";

/** The first destination is used. A task fails over to the next one only if it certainly never arrived. */
export function orderText(destination: readonly string[]): string {
  return destination.join(", then ");
}

function fold(text: string | undefined): string | undefined {
  return text?.normalize("NFKC").toLowerCase();
}
