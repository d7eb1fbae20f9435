/** The newest tasks of a state in the local run's file: what listings of the store, oldest first, would reach last. */
import type { Database } from "../../lambdas/shared/engine/sqlite/database.ts";
import type { TaskPlace } from "./place.ts";

export function newestInFile({
  database,
  now = Date.now,
}: {
  database: Pick<Database, "prepare">;
  now?: () => number;
}): TaskPlace["newestIds"] {
  const select = database.prepare(
    "SELECT seq, id FROM tasks WHERE state = ? AND seq < ? AND expires_at_ms > ? ORDER BY seq DESC LIMIT ?",
  );
  return async ({ state, cursor = String(Number.MAX_SAFE_INTEGER), limit }) => {
    if (!/^\d{1,16}$/.test(cursor)) throw new RangeError("not a cursor of this listing");
    const rows = select.all(state, Number(cursor), now(), limit) as { seq: number; id: string }[];
    const last = rows.at(-1);
    const ids = rows.map(({ id }) => id);
    return rows.length < limit || last === undefined ? { ids } : { ids, cursor: String(last.seq) };
  };
}
