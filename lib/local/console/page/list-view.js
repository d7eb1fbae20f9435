/** The live list of tasks, with its filter. */
import { button, element, redraw } from "../../web/dom.js";
import { read } from "./api.js";
import { filtered, shows } from "./filter.js";
import { ageOf, count, shortId } from "./words.js";

/** Kept over the views, so that the way back leads to the list as it was left. */
const kept = { show: "all", text: "", me: localStorage.getItem("sekisho.me") ?? "", current: undefined };
const labels = { all: "All", open: "Open", failed: "Failed", mine: "Mine" };
/** Beyond the live list, as far as they were asked for: by state, the tasks, how many pages of them, and where to go on. */
const older = new Map();
/** Nobody tells of changes there. */
const olderEveryMs = 10_000;

export function listView({ box, live, say }) {
  const filter = element("input", "filter");
  Object.assign(filter, {
    type: "search",
    value: kept.text,
    placeholder: "Filter by id, person, channel, destination",
  });
  filter.setAttribute("aria-label", "Filter");
  filter.setAttribute("aria-keyshortcuts", "/");
  filter.oninput = () => {
    kept.text = filter.value;
    draw();
  };
  filter.onkeydown = (event) => {
    if (event.key === "ArrowDown") focusRow(0);
    else if (event.key === "Enter") openFirst();
    else if (event.key === "Escape") leaveFilter();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const me = element("input", "me");
  Object.assign(me, { value: kept.me, placeholder: "U012AB3CD", size: 12, spellcheck: false });
  me.oninput = () => {
    kept.me = me.value.trim().toUpperCase();
    localStorage.setItem("sekisho.me", kept.me);
    draw();
  };
  const whose = element("label", "whose", "My member id in Slack ", me);
  const choices = element("div", "choices");
  choices.setAttribute("role", "group");
  choices.setAttribute("aria-label", "Which tasks");
  const list = element("ul", "tasks");
  list.setAttribute("aria-label", "Tasks");
  const foot = element("div", "foot");
  box.replaceChildren(
    element("h2", "hidden", "Tasks"),
    element("div", "tools", choices, filter, whose),
    element(
      "div",
      "heads",
      ...["State", "Request", "Destination", "Person, channel", "Next or outcome", "Age"].map(head),
    ),
    list,
    foot,
  );
  box.querySelector(".heads").setAttribute("aria-hidden", "true");

  function all() {
    const rows = new Map([...older.values()].flatMap(({ rows: of }) => of.map((row) => [row.id, row])));
    for (const [id, row] of live.rows()) rows.set(id, row);
    return [...rows.values()].sort(
      (a, b) => (a.state === "done") - (b.state === "done") || b.receivedAtMs - a.receivedAtMs,
    );
  }

  function draw() {
    const rows = all();
    const shown = filtered(rows, kept);
    whose.hidden = kept.show !== "mine";
    redraw(
      choices,
      Object.keys(shows).map((show) => choice(show, rows)),
    );
    if (!shown.some(({ id }) => id === kept.current)) kept.current = shown[0]?.id;
    redraw(list, shown.map(drawRow));
    redraw(foot, footOf(shown, rows));
  }

  function choice(show, rows) {
    const found = rows.filter((row) => shows[show](row, kept.me)).length;
    const onClick = () => {
      kept.show = show;
      draw();
      if (show === "mine" && kept.me === "") me.focus();
    };
    const made = button({ className: "choice", label: labels[show], key: `show/${show}`, onClick });
    made.append(element("span", "number", String(found)));
    made.setAttribute("aria-pressed", String(kept.show === show));
    return made;
  }

  function drawRow(row) {
    const link = element(
      "a",
      `row ${row.kind}${live.isFresh(row.id) ? " fresh" : ""}`,
      element("span", "state", row.state),
      element("code", "id", shortId(row.id)),
      element("span", "destination", row.destination ?? "–"),
      element("span", "who", `${row.user} `, element("span", "channel", row.channel)),
      nextOf(row),
      ageOf(row.receivedAtMs),
    );
    link.href = `#/tasks/${row.id}`;
    link.dataset.key = `row/${row.id}`;
    link.tabIndex = row.id === kept.current ? 0 : -1;
    link.onfocus = () => {
      kept.current = row.id;
      for (const other of list.querySelectorAll(".row")) other.tabIndex = other === link ? 0 : -1;
    };
    return element("li", "", link);
  }

  function footOf(shown, rows) {
    const said = [];
    if (shown.length === 0) said.push(element("p", "none", ...noneOf(rows)));
    for (const state of live.more()) {
      const known = older.get(state);
      if (known !== undefined && known.cursor === undefined) continue;
      const label = state === "done" ? "Show older ones that are over" : `Show more that are ${state}`;
      said.push(button({ className: "quiet", label, key: `older/${state}`, onClick: () => showOlder(state) }));
    }
    return said;
  }

  function noneOf(rows) {
    const text = kept.text.trim();
    if (/^[0-9a-f-]{4,36}$/i.test(text)) {
      const link = element("a", "", `Look for ${text} among all tasks`);
      link.href = `#/tasks/${text.toLowerCase()}`;
      return ["None of these. ", link];
    }
    if (kept.show === "mine" && kept.me === "") return ["Whose tasks? Your member id is in your profile in Slack."];
    return [rows.length === 0 ? "No task yet. It appears here as soon as somebody asks in Slack." : "None of these."];
  }

  async function showOlder(state) {
    const from = older.get(state) ?? { rows: [], pages: 0, cursor: undefined };
    const { size } = live.rows();
    try {
      // The first pages may hold nothing that is not listed already.
      const known = await readPages(state, from, ({ rows, pages }) => {
        const isNew = rows.slice(-100).some(({ id }) => !live.rows().has(id));
        return pages < from.pages + 8 && !isNew && rows.length <= size + 100;
      });
      older.set(state, known);
      draw();
    } catch (error) {
      say(error.message);
    }
  }

  async function readPages(state, from, goesOn) {
    let known = from;
    do {
      const cursor = known.cursor === undefined ? "" : `&cursor=${encodeURIComponent(known.cursor)}`;
      const page = await read(`tasks?state=${state}${cursor}`);
      known = { rows: [...known.rows, ...page.rows], pages: known.pages + 1, cursor: page.cursor };
    } while (known.cursor !== undefined && goesOn(known));
    return known;
  }

  /** What is not there any more has moved on, or is gone. */
  async function readOlderAnew() {
    if (document.visibilityState !== "visible") return;
    for (const [state, before] of older) {
      const none = { rows: [], pages: 0, cursor: undefined };
      const known = await readPages(state, none, ({ pages }) => pages < before.pages).catch(() => undefined);
      // Meanwhile more may have been asked for.
      if (known !== undefined && older.get(state) === before) older.set(state, known);
    }
    if (older.size > 0 && !hasLeft) draw();
  }

  const links = () => [...list.querySelectorAll(".row")];
  const focusRow = (at) => links().at(at)?.focus();

  function openFirst() {
    const [first] = links();
    if (first !== undefined) first.focus();
    else box.querySelector(".none a")?.click();
  }

  /** First what it says goes, then the focus. */
  function leaveFilter() {
    if (filter.value === "") return focusCurrent();
    filter.value = "";
    kept.text = "";
    draw();
  }

  function focusCurrent() {
    const found = links().find((link) => link.tabIndex === 0);
    // Not the filter, into which the keys would go.
    (found ?? box).focus();
  }

  function move(by) {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (at === -1) return focusCurrent();
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
  }

  draw();
  let hasLeft = false;
  const anew = setInterval(readOlderAnew, olderEveryMs);
  void readOlderAnew();
  return {
    title: "Tasks",
    draw,
    arrive: focusCurrent,
    keys: {
      j: () => move(1),
      ArrowDown: () => move(1),
      k: () => move(-1),
      ArrowUp: () => move(-1),
      Home: () => focusRow(0),
      End: () => focusRow(-1),
      "/": () => filter.select(),
    },
    leave() {
      hasLeft = true;
      clearInterval(anew);
    },
    summary: () => count(links().length, "task"),
  };
}

function head(text) {
  return element("span", "", text);
}

function nextOf({ words, nextAtMs, percent, state, polls, attempts }) {
  const made = element("span", "next", words);
  const notes = [
    ...(percent === undefined ? [] : [`${Math.round(percent)} %`]),
    ...(state !== "done" && polls > 0 ? [count(polls, "poll")] : []),
    ...(attempts > 0 && state !== "done" ? [`attempt ${attempts + 1}`] : []),
  ];
  if (notes.length > 0) made.append(element("small", "", notes.join(", ")));
  if (nextAtMs !== undefined && state !== "done") made.append(element("small", "", ageOf(nextAtMs, { coming: true })));
  return made;
}
