/** Keeps the live list up to date while the tab is visible. */
import { showConnection } from "../../web/dom.js";
import { listen } from "../../web/server.js";
import { count, read } from "./view.js";

const freshMs = 6000;
/** Screen readers would read out every single change, so changes are announced together. */
const announceEveryMs = 10_000;

export function startLive({ changed, trouble, announce }) {
  let rows = new Map();
  let more = [];
  const freshUntil = new Map();
  let source;
  let pending = [];

  function onEvent(update) {
    showConnection("live", true);
    trouble(update.type === "trouble" ? update.text : "");
    if (update.type === "all") rows = new Map();
    for (const id of update.gone ?? []) rows.delete(id);
    for (const row of update.rows ?? []) rows.set(row.id, row);
    more = update.more ?? more;
    if (update.type !== "change") return changed();
    for (const { id } of update.rows) freshUntil.set(id, Date.now() + freshMs);
    setTimeout(changed, freshMs + 50);
    pending.push(...update.rows);
    changed(update.rows);
  }

  async function onState(state) {
    if (state === "on") return showConnection("live", true);
    showConnection("reconnecting…", false);
    if (state !== "refused") return;
    // The browser does not ask again by itself. If nobody is signed in any more, this leads to the form.
    await read("where").catch(() => {});
    setTimeout(follow, 3000);
  }

  function follow() {
    source?.close();
    if (document.visibilityState === "visible")
      source = listen("/operate/api/live", { onEvent, onState });
    else showConnection("paused", false);
  }

  document.addEventListener("visibilitychange", follow);
  setInterval(() => {
    if (pending.length === 0) return;
    const changedIds = new Set(pending.map(({ id }) => id));
    const failedIds = new Set(pending.flatMap(({ id, kind }) => (kind === "bad" ? [id] : [])));
    pending = [];
    announce(
      `${count(changedIds.size, "task")} changed${failedIds.size > 0 ? `, ${failedIds.size} failed` : ""}.`,
    );
  }, announceEveryMs);
  follow();

  return {
    rows: () => rows,
    more: () => more,
    isFresh: (id) => (freshUntil.get(id) ?? 0) > Date.now(),
  };
}
