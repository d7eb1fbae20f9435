/** The live list as the server tells it, while the tab is looked at. */
import { read } from "./api.js";
import { count } from "./words.js";

const freshMs = 6000;
/** A live region that speaks at every change would speak all the time. */
const announceEveryMs = 10_000;

export function startLive({ changed, connection, trouble, announce }) {
  let rows = new Map();
  let more = [];
  const freshUntil = new Map();
  let source;
  let pending = [];
  let announcedAtMs = 0;

  const hear = {
    all(news) {
      rows = new Map(news.rows.map((row) => [row.id, row]));
      more = news.more;
    },
    change(news) {
      for (const id of news.gone) rows.delete(id);
      for (const row of news.rows) {
        rows.set(row.id, row);
        freshUntil.set(row.id, Date.now() + freshMs);
      }
      more = news.more;
      setTimeout(changed, freshMs + 50);
      pending.push(...news.rows);
    },
  };

  function open() {
    source?.close();
    source = new EventSource("/operate/api/live");
    source.onopen = () => connection("live", true);
    source.onmessage = ({ data }) => {
      const news = JSON.parse(data);
      connection("live", true);
      trouble(news.type === "trouble" ? news.words : "");
      hear[news.type]?.(news);
      changed(news.type === "change" ? news.rows : undefined);
    };
    source.onerror = async () => {
      connection("not connected; trying again", false);
      if (source.readyState !== EventSource.CLOSED) return;
      // Refused, so that the browser does not ask again by itself; signed out, this leads to the form.
      await read("where").catch(() => {});
      setTimeout(open, 3000);
    };
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") open();
    else {
      source?.close();
      connection("paused", false);
    }
  });
  setInterval(() => {
    if (pending.length === 0 || Date.now() - announcedAtMs < announceEveryMs) return;
    announcedAtMs = Date.now();
    const changedIds = new Set(pending.map(({ id }) => id));
    const failed = new Set(pending.filter(({ kind }) => kind === "bad").map(({ id }) => id));
    pending = [];
    announce(`${count(changedIds.size, "task")} changed${failed.size > 0 ? `, ${failed.size} failed` : ""}.`);
  }, 1000);
  open();

  return {
    rows: () => rows,
    more: () => more,
    isFresh: (id) => (freshUntil.get(id) ?? 0) > Date.now(),
  };
}
