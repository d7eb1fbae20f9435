/** Where a message's task goes: the first route that fits names its destinations. */
import type { Route } from "../../shared/config/schema.ts";
import type { AskedMessage } from "../task/messages.ts";

/**
 * The names of the destinations, of which the first is to be tried first; none where no route fits. All given conditions
 * must match; a route without any fits all.
 */
export function routeOf({
  routes,
  message,
}: {
  routes: readonly Route[];
  message: Pick<AskedMessage, "team" | "channel" | "text">;
}): readonly string[] {
  const fitting = routes.find(
    ({ team, channel, word }) =>
      (team === undefined || team === message.team) &&
      (channel === undefined || channel === message.channel) &&
      (word === undefined || beginsWith(message.text, word)),
  );
  return fitting?.destination ?? [];
}

/** In any letter case and width, the colon too. */
function beginsWith(text: string, word: string): boolean {
  const [first, rest] = text.normalize("NFKC").split(":", 2);
  return rest !== undefined && folded(first ?? "") === folded(word.normalize("NFKC"));
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}
