/** Which routes a message could take of which only a part is known. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { findRoute } from "../../../lambdas/verification/gate/rules.ts";

/** What is known of the message. */
export type KnownMessage = { team?: string | undefined; channel?: string | undefined; text?: string | undefined };

/** `place` counts from 1; `certain` is only the last one, where nothing that is unknown keeps messages from it. */
export type PossibleRoute = { place: number; destination: readonly string[]; certain: boolean };

/** In their order: what a message may be for each of them is what keeps it from the ones before. */
export function listPossibleRoutes({
  routes,
  known,
}: {
  routes: Config["routes"];
  known: KnownMessage;
}): PossibleRoute[] {
  const found: PossibleRoute[] = [];
  for (const [index, { team, channel, word, destination }] of routes.entries()) {
    const asked = {
      ...(known.team === undefined ? {} : { team }),
      ...(known.channel === undefined ? {} : { channel }),
      ...(known.text === undefined ? {} : { word }),
      destination,
    };
    const message = { team: known.team ?? "", channel: known.channel ?? "", text: known.text ?? "" };
    if (findRoute({ routes: [asked], message }).length === 0) continue;
    const certain = asked.team === team && asked.channel === channel && asked.word === word;
    found.push({ place: index + 1, destination, certain });
    if (certain) break;
  }
  return found;
}
