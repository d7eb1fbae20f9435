/** The live list of tasks, with its filter. */
import { h, redraw } from "../../web/dom.js";
import { named, nameOf, onNames } from "./names.js";
import { ageOf, count, read, repeat, shortId } from "./view.js";

const shows = {
  all: { label: "All", fits: () => true },
  open: { label: "Open", fits: ({ state }) => state !== "done" },
  failed: { label: "Failed", fits: ({ kind }) => kind === "bad" },
  mine: { label: "Mine", fits: ({ user }) => user === filters.me },
};
/** Outlives the view, so that the list comes back as it was left. */
const filters = {
  show: "all",
  text: "",
  me: localStorage.getItem("sekisho.me") ?? "",
  current: undefined,
};
/** Older tasks that somebody asked for, by state: the rows, the number of pages, and the cursor of the next page. */
const older = new Map();
const nonePaged = { rows: [], pages: 0, cursor: undefined };
/** The server does not push changes of older tasks, so they are read again. */
const olderEveryMs = 10_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function listView({ box, live, say, left }) {
  const filter = h("input.filter", {
    type: "search",
    value: filters.text,
    placeholder: "Filter by ID, person, channel or destination",
    "aria-label": "Filter",
    "aria-keyshortcuts": "/",
    oninput() {
      filters.text = filter.value;
      draw();
    },
    onkeydown(event) {
      const pressed = { ArrowDown: () => focusRow(0), Enter: openFirst, Escape: leaveFilter }[
        event.key
      ];
      if (pressed === undefined) return;
      pressed();
      event.preventDefault();
      event.stopPropagation();
    },
  });
  const me = h("input", {
    ...{ value: filters.me, placeholder: "U012AB3CD", size: 12, spellcheck: false },
    oninput() {
      filters.me = me.value.trim().toUpperCase();
      localStorage.setItem("sekisho.me", filters.me);
      draw();
    },
  });
  const whose = h("label.soft", "My Slack member ID ", me);
  const choices = h("div.choices.panel", { role: "group", "aria-label": "Which tasks" });
  const list = h("ul.tasks.panel", { "aria-label": "Tasks" });
  const foot = h("div.tools");
  const columns = [
    "State",
    "Request",
    "Destination",
    "Person, channel",
    "Next step or outcome",
    "Age",
  ];
  box.append(
    h("h2.hidden", "Tasks"),
    h("div.tools", choices, filter, whose),
    h("div.heads", { "aria-hidden": "true" }, ...columns.map((text) => h("span", text))),
    list,
    foot,
  );

  function listAll() {
    const rows = new Map(
      [...older.values()].flatMap((paged) => paged.rows.map((row) => [row.id, row])),
    );
    for (const [id, row] of live.rows()) rows.set(id, row);
    return [...rows.values()].sort(
      (a, b) => (a.state === "done") - (b.state === "done") || b.receivedAtMs - a.receivedAtMs,
    );
  }

  function draw() {
    const rows = listAll();
    const terms = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter((row) => {
      return shows[filters.show].fits(row) && terms.every((term) => searchText(row).includes(term));
    });
    whose.hidden = filters.show !== "mine";
    redraw(
      choices,
      Object.keys(shows).map((show) => drawChoice(show, rows)),
    );
    if (!shown.some(({ id }) => id === filters.current)) filters.current = shown[0]?.id;
    redraw(list, shown.map(drawRow));
    redraw(
      foot,
      shown.length > 0 ? [] : h("p.none", drawNone(rows)),
      live.more().flatMap(drawMore),
    );
  }

  function drawChoice(show, rows) {
    const { label, fits } = shows[show];
    const onclick = () => {
      filters.show = show;
      draw();
      if (show === "mine" && filters.me === "") me.focus();
    };
    const state = { "aria-pressed": String(filters.show === show), "data-key": `show/${show}` };
    return h("button", { ...state, onclick }, label, h("small", String(rows.filter(fits).length)));
  }

  function drawRow(row) {
    const link = h(
      `a.row.${row.kind}${live.isFresh(row.id) ? ".fresh" : ""}`,
      {
        href: `#/tasks/${row.id}`,
        "data-key": `row/${row.id}`,
        tabIndex: row.id === filters.current ? 0 : -1,
        onfocus() {
          filters.current = row.id;
          for (const other of links()) other.tabIndex = other === link ? 0 : -1;
        },
      },
      h("span.state", row.state),
      h("code.id", shortId(row.id)),
      h("span.destination", row.destination ?? "–"),
      h("span.who", named("users", row.user), " ", h("span.soft", named("channels", row.channel))),
      drawNext(row),
      ageOf(row.receivedAtMs),
    );
    return h("li", link);
  }

  function drawMore(state) {
    const known = older.get(state);
    if (known !== undefined && known.cursor === undefined) return [];
    const label =
      state === "done" ? "Show older finished tasks" : `Show more tasks that are ${state}`;
    return h(
      "button.quiet",
      { "data-key": `older/${state}`, onclick: () => showOlder(state) },
      label,
    );
  }

  function drawNone(rows) {
    const text = filters.text.trim();
    if (/^[0-9a-f-]{4,36}$/i.test(text)) {
      const href = `#/tasks/${text.toLowerCase()}`;
      return ["No matching tasks. ", h("a", { href }, `Search all tasks for ${text}`)];
    }
    if (filters.show === "mine" && filters.me === "")
      return ["Enter your Slack member ID. You can find it in your Slack profile."];
    return [
      rows.length === 0
        ? "No tasks yet. They appear here when someone asks in Slack."
        : "No matching tasks.",
    ];
  }

  async function showOlder(state) {
    const from = older.get(state) ?? nonePaged;
    const { size } = live.rows();
    try {
      // The first pages may contain only rows that are listed already.
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
      const cursor =
        known.cursor === undefined ? "" : `&cursor=${encodeURIComponent(known.cursor)}`;
      const page = await read(`tasks?state=${state}${cursor}`);
      known = { rows: [...known.rows, ...page.rows], pages: known.pages + 1, cursor: page.cursor };
    } while (known.cursor !== undefined && goesOn(known));
    return known;
  }

  /** Drops tasks that have left their state or were deleted. */
  async function readOlderAgain() {
    for (const [state, before] of older) {
      const known = await readPages(state, nonePaged, ({ pages }) => pages < before.pages).catch(
        () => undefined,
      );
      // Somebody may have asked for more meanwhile.
      if (known !== undefined && older.get(state) === before) older.set(state, known);
    }
    if (older.size > 0 && !left.aborted) draw();
  }

  const links = () => [...list.querySelectorAll(".row")];
  const focusRow = (at) => links().at(at)?.focus();

  function openFirst() {
    const [first] = links();
    if (first !== undefined) first.focus();
    else box.querySelector(".none a")?.click();
  }

  /** Escape first empties the filter, then leaves it. */
  function leaveFilter() {
    if (filter.value === "") return focusCurrent();
    filter.value = "";
    filters.text = "";
    draw();
  }

  /** Without a row the view itself gets the focus: the filter would swallow the keys. */
  function focusCurrent() {
    (links().find((link) => link.tabIndex === 0) ?? box).focus();
  }

  function move(by) {
    const all = links();
    const at = all.indexOf(document.activeElement);
    if (at === -1) return focusCurrent();
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
  }

  draw();
  onNames(draw, left);
  repeat(olderEveryMs, readOlderAgain, left);
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
  };
}

function searchText({
  id,
  taskId,
  state,
  destination,
  team,
  channel,
  user,
  thread,
  text,
  retryOf,
}) {
  const names = [nameOf("users", user), nameOf("channels", channel)];
  return [id, taskId, state, destination, team, channel, user, ...names, thread, text, retryOf]
    .join(" ")
    .toLowerCase();
}

function drawNext({ text, nextAtMs, percent, state, polls, attempts, votes }) {
  const isOpen = state !== "done";
  const notes = [
    percent !== undefined && `${Math.round(percent)}%`,
    isOpen && polls > 0 && count(polls, "poll"),
    isOpen && attempts > 0 && `attempt ${attempts + 1}`,
    votes?.up > 0 && `👍 ${votes.up}`,
    votes?.down > 0 && `👎 ${votes.down}`,
  ].filter(Boolean);
  return h(
    "span.next",
    text,
    notes.length > 0 && h("small", notes.join(", ")),
    isOpen && nextAtMs !== undefined && h("small", ageOf(nextAtMs, "coming")),
  );
}
