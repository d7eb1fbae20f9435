/** Pages of the listings in sqlite: the rows of one index key after a place, which a cursor names. */
import type { StoreIndex } from "../ports.ts";
import type { Database } from "./database.ts";

/** `place` is the cursor by which the rows after this one are read. */
type Row = { place: string; item: string };

/** Throws RangeError where `cursor` is none of the index; without one the page is the first. */
type Page = (request: { key: string; cursor: string | undefined; nowMs: number; limit: number }) => Row[];

export function createPages({ database }: { database: Database }): Record<StoreIndex, Page> {
  return {
    thread: oldestFirst({ database, index: "thread" }),
    principal: newestFirst({ database }),
    state: oldestFirst({ database, index: "state" }),
  };
}

/** In the order of creation. */
function oldestFirst({ database, index }: { database: Database; index: "thread" | "state" }): Page {
  const select = database.prepare(
    `SELECT CAST(seq AS TEXT) AS place, item FROM tasks
     WHERE ${index} = ? AND seq > ? AND expires_at_ms > ? ORDER BY seq LIMIT ?`,
  );
  return ({ key, cursor = "0", nowMs, limit }) => {
    if (!/^\d{1,15}$/.test(cursor)) throw notOurs();
    return select.all(key, Number(cursor), nowMs, limit) as Row[];
  };
}

/** By the time that the items say themselves, then by id. `IS NOT NULL` lets sqlite see that the partial index is enough. */
function newestFirst({ database }: { database: Database }): Page {
  const select = database.prepare(
    `SELECT listed_at_ms || '.' || id AS place, item FROM tasks
     WHERE principal = ? AND listed_at_ms IS NOT NULL AND (listed_at_ms, id) < (?, ?) AND expires_at_ms > ?
     ORDER BY listed_at_ms DESC, id DESC LIMIT ?`,
  );
  return ({ key, cursor = `${Number.MAX_SAFE_INTEGER}.`, nowMs, limit }) => {
    const [, listedAtMs, id] = /^(\d{1,16})\.(.*)$/s.exec(cursor) ?? [];
    if (listedAtMs === undefined || id === undefined) throw notOurs();
    return select.all(key, Number(listedAtMs), id, nowMs, limit) as Row[];
  };
}

function notOurs(): RangeError {
  return new RangeError("not a cursor of this store");
}
