/** Finds the routes that a message can take when only a part of it is known. */
import type { Config } from "@sekisho/config/schema.ts";
import { findRoute } from "@sekisho/verification/gate/rules.ts";

/** The known part of a message. */
export type KnownMessage = {
  team?: string | undefined;
  channel?: string | undefined;
  text?: string | undefined;
};

/** `position` counts from 1. Only the last one is `certain`: no unknown part keeps the message from it. */
export type PossibleRoute = { position: number; destination: readonly string[]; certain: boolean };

type RouteSearch = { routes: Config["routes"]; known: KnownMessage };

/** Lists them in the order of the configuration, in which the first that fits decides. */
export function listPossibleRoutes({ routes, known }: RouteSearch): PossibleRoute[] {
  const possibleRoutes: PossibleRoute[] = [];
  for (const [index, { team, channel, word, destination }] of routes.entries()) {
    const ofKnown = {
      ...(known.team !== undefined && { team }),
      ...(known.channel !== undefined && { channel }),
      ...(known.text !== undefined && { word }),
      destination,
    };
    const message = {
      team: known.team ?? "",
      channel: known.channel ?? "",
      text: known.text ?? "",
    };
    if (findRoute({ routes: [ofKnown], message }).length === 0) continue;
    const certain = ofKnown.team === team && ofKnown.channel === channel && ofKnown.word === word;
    possibleRoutes.push({ position: index + 1, destination, certain });
    if (certain) break;
  }
  return possibleRoutes;
}
