/** What a message must be for a route to fit, and how two of these lie to each other. */
import type { Route } from "../../../lambdas/shared/config/schema.ts";

/** Without any of them it fits every message. */
export type RouteKey = Pick<Route, "team" | "channel" | "word">;

const fields = ["team", "channel", "word"] as const;

/** Every message that fits `inner` fits `outer`. A word is one in any letter case. */
export function isCovering(outer: RouteKey, inner: RouteKey): boolean {
  return fields.every((field) => outer[field] === undefined || folded(outer[field]) === folded(inner[field]));
}

/** There are messages that fit both. */
export function isOverlapping(a: RouteKey, b: RouteKey): boolean {
  return fields.every(
    (field) => a[field] === undefined || b[field] === undefined || folded(a[field]) === folded(b[field]),
  );
}

export function formatRouteKey({ team, channel, word }: RouteKey): string {
  const parts = [
    ...(team === undefined ? [] : [`team ${team}`]),
    ...(channel === undefined ? [] : [`channel ${channel}`]),
    ...(word === undefined ? [] : [`"${word}: ..."`]),
  ];
  return parts.join(", ") || "every message";
}

/** The first is used, the others for what certainly did not arrive. */
export function orderText(destination: readonly string[]): string {
  return destination.join(", then ");
}

function folded(text: string | undefined): string | undefined {
  return text?.normalize("NFKC").toLowerCase();
}
