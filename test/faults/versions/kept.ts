/** Members of the next version in stored records, which the old version must keep when it writes them again. */
import type { World } from "../world.ts";

type Json = Record<string, unknown>;

const added = "addedByNext";

/** Notes the parts of a record that had a member of the next version before this write and have lost it. */
export function noteLosses({
  world,
  json,
  before: oldValue,
}: {
  world: World;
  json: string;
  before: string | undefined;
}): void {
  if (world.mix === undefined || oldValue === undefined || !oldValue.includes(added)) return;
  const [was, is] = [JSON.parse(oldValue) as Json, JSON.parse(json) as Json];
  // With the texts, or with the end of a host's task, goes what may be a text.
  const isErased = is.textsErased === true || (was.params !== undefined && is.params === undefined);
  if (was.id !== is.id || isErased || was.textsErased === true) return;
  for (const [what, one, other] of [
    ["record", was, is],
    ["message", was.message, is.message],
    ...entriesOf(was, is),
  ] as const) {
    if (hasNews(one) && other !== undefined && !hasNews(other))
      world.losses.push(`${what} of ${String(was.id)}`);
  }
}

/** The same of a queue message, of which the old version sends a copy with a count of its own. */
export function noteLostMembers({ world, body }: { world: World; body: string }): void {
  if (world.mix !== "ingress_next:minor" || body.includes(added)) return;
  const { type, looks, early, buried } = JSON.parse(body) as Json;
  const isCopy = [looks, early, buried].some((count) => count !== undefined);
  if (isCopy && (type === "ask" || type === "message_change"))
    world.losses.push(`a copy of ${type}`);
}

/** The tasks in the record of a thread. */
function entriesOf(was: Json, is: Json): [string, unknown, unknown][] {
  if (!Array.isArray(was.tasks) || !Array.isArray(is.tasks)) return [];
  const now = is.tasks as Json[];
  return (was.tasks as Json[]).map((entry) => [
    "entry",
    entry,
    now.find(({ id }) => id === entry.id),
  ]);
}

function hasNews(part: unknown): boolean {
  return typeof part === "object" && part !== null && added in part;
}
