/** The live list of tasks, with its filter. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { TaskPage, TaskRow } from "../../operators-api.ts";
import { Button } from "../elements.tsx";
import { Age } from "../time.tsx";
import type { LiveTasks } from "./live-tasks.ts";
import { type NameOf, useNames } from "./names.ts";
import { count, read, shortId, useKeys, usePage, useRepeat } from "./page.tsx";

const shows = {
  all: { label: "All", isShown: () => true },
  open: { label: "Open", isShown: ({ state }) => state !== "done" },
  failed: { label: "Failed", isShown: ({ kind }) => kind === "bad" },
  mine: { label: "Mine", isShown: ({ user }, me) => user === me },
} satisfies Record<string, { label: string; isShown(row: TaskRow, me: string): boolean }>;
type Show = keyof typeof shows;

/** Older tasks that somebody asked for. `cursor` continues them. */
type OlderTasks = { rows: readonly TaskRow[]; pages: number; cursor?: string | undefined };

/** Outlives the view, so that the list comes back as it was left. */
type ListState = {
  show: Show;
  text: string;
  /** The member ID of the person who looks. */
  me: string;
  /** The row that the keyboard is at. */
  currentId?: string | undefined;
  /** By state. */
  older: ReadonlyMap<string, OlderTasks>;
};

export const emptyList = (): ListState => ({
  show: "all",
  text: "",
  me: localStorage.getItem("sekisho.me") ?? "",
  older: new Map(),
});

const columns = [
  "State",
  "Request",
  "Destination",
  "Person, channel",
  "Next step or outcome",
  "Age",
];

export type ListProps = {
  live: LiveTasks;
  list: ListState;
  setList(change: (list: ListState) => ListState): void;
};

export function TaskList({ live, list, setList }: ListProps) {
  const nameOf = useNames();
  const change = (changes: Partial<ListState>) => setList((state) => ({ ...state, ...changes }));
  const rows = mergeRows(live, list);
  const shownRows = filterRows(rows, list, nameOf);
  const currentId = (shownRows.find(({ id }) => id === list.currentId) ?? shownRows[0])?.id;
  const rowBox = useRef<HTMLUListElement>(null);
  const filter = useRef<HTMLInputElement>(null);

  const links = () => [...(rowBox.current?.querySelectorAll<HTMLElement>("a") ?? [])];
  /** Without a row the view itself gets the focus: the filter would swallow the keys. */
  function focusCurrent(): void {
    const link = links().find(({ tabIndex }) => tabIndex === 0);
    (link ?? rowBox.current?.closest("main"))?.focus();
  }
  function move(by: number): void {
    const all = links();
    const index = all.findIndex((link) => link.matches(":focus"));
    if (index === -1) focusCurrent();
    else all[Math.min(Math.max(index + by, 0), all.length - 1)]?.focus();
  }
  useLayoutEffect(focusCurrent, []);
  useKeys({
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    Home: () => links()[0]?.focus(),
    End: () => links().at(-1)?.focus(),
    "/": () => filter.current?.select(),
  });
  const filterKeys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => links()[0]?.focus(),
    Enter: () => {
      const [first] = links();
      if (first !== undefined) first.focus();
      else document.querySelector<HTMLElement>(".none a")?.click();
    },
    /** First empties the filter, then leaves it. */
    Escape: () => (list.text === "" ? focusCurrent() : change({ text: "" })),
  };

  return (
    <>
      <h2 class="hidden">Tasks</h2>
      <div class="tools">
        <Choices list={list} rows={rows} onChoose={(show) => change({ show })} />
        <input
          ref={filter}
          class="filter"
          type="search"
          value={list.text}
          placeholder="Filter by ID, person, channel or destination"
          aria-label="Filter"
          aria-keyshortcuts="/"
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          onKeyDown={(event) => {
            const run = filterKeys[event.key];
            if (run === undefined) return;
            event.preventDefault();
            run();
          }}
        />
        {list.show === "mine" && <MemberId me={list.me} onChange={(me) => change({ me })} />}
      </div>
      {shownRows.length > 0 && (
        <div class="heads" aria-hidden="true">
          {columns.map((text) => (
            <span key={text}>{text}</span>
          ))}
        </div>
      )}
      <ul ref={rowBox} class="tasks panel" aria-label="Tasks">
        {shownRows.map((row) => (
          <Row
            key={row.id}
            row={row}
            nameOf={nameOf}
            isFresh={(live.freshUntilMs.get(row.id) ?? 0) > Date.now()}
            isCurrent={row.id === currentId}
            onFocus={() => change({ currentId: row.id })}
          />
        ))}
      </ul>
      {live.isRead && shownRows.length === 0 && <None list={list} isEmpty={rows.length === 0} />}
      <Older live={live} list={list} setList={setList} />
    </>
  );
}

function mergeRows({ rows }: LiveTasks, { older }: ListState): TaskRow[] {
  const olderRows = [...older.values()].flatMap((tasks) => tasks.rows);
  const merged = new Map([...olderRows, ...rows.values()].map((row) => [row.id, row]));
  return [...merged.values()].sort(
    (a, b) =>
      Number(a.state === "done") - Number(b.state === "done") || b.receivedAtMs - a.receivedAtMs,
  );
}

/** Shows the rows in which each word of the filter occurs. */
function filterRows(rows: readonly TaskRow[], { show, text, me }: ListState, nameOf: NameOf) {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const { id, taskId, state, destination, team, channel, user, thread, retryOf } = row;
    const values = [id, taskId, state, destination, team, channel, user, thread, row.text, retryOf];
    const names = [nameOf("users", user), nameOf("channels", channel)];
    const searchText = [...values, ...names].join(" ").toLowerCase();
    return shows[show].isShown(row, me) && terms.every((term) => searchText.includes(term));
  });
}

type ChoicesProps = { list: ListState; rows: readonly TaskRow[]; onChoose(show: Show): void };

function Choices({ list, rows, onChoose }: ChoicesProps) {
  return (
    <fieldset class="choices panel" aria-label="Which tasks">
      {(Object.keys(shows) as Show[]).map((show) => (
        <button
          key={show}
          type="button"
          aria-pressed={list.show === show}
          onClick={() => onChoose(show)}
        >
          {shows[show].label}
          <small>{rows.filter((row) => shows[show].isShown(row, list.me)).length}</small>
        </button>
      ))}
    </fieldset>
  );
}

function MemberId({ me, onChange }: { me: string; onChange(me: string): void }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (me === "") field.current?.focus();
  }, []);
  return (
    <label class="soft">
      My Slack member ID
      <input
        ref={field}
        value={me}
        placeholder="U012AB3CD"
        size={12}
        spellcheck={false}
        onInput={({ currentTarget }) => {
          const id = currentTarget.value.trim().toUpperCase();
          localStorage.setItem("sekisho.me", id);
          onChange(id);
        }}
      />
    </label>
  );
}

type RowProps = {
  row: TaskRow;
  nameOf: NameOf;
  isFresh: boolean;
  isCurrent: boolean;
  onFocus(): void;
};

function Row({ row, nameOf, isFresh, isCurrent, onFocus }: RowProps) {
  const { id, kind, state, destination, user, channel, receivedAtMs } = row;
  return (
    <li>
      <a
        class={`row ${kind}${isFresh ? " fresh" : ""}`}
        href={`#/tasks/${id}`}
        tabIndex={isCurrent ? 0 : -1}
        onFocus={onFocus}
      >
        <span class="state">{state}</span>
        <code class="id">{shortId(id)}</code>
        <span class="destination">{destination ?? "–"}</span>
        <span class="who">
          <span title={user}>{nameOf("users", user) ?? user}</span>{" "}
          <span class="soft" title={channel}>
            {nameOf("channels", channel) ?? channel}
          </span>
        </span>
        <NextStep row={row} />
        <Age atMs={receivedAtMs} />
      </a>
    </li>
  );
}

function NextStep({
  row: { text, nextAtMs, percent, state, polls, attempts, votes },
}: Pick<RowProps, "row">) {
  const isOpen = state !== "done";
  const notes = [
    percent !== undefined && `${Math.round(percent)}%`,
    isOpen && polls > 0 && count(polls, "poll"),
    isOpen && attempts > 0 && `attempt ${attempts + 1}`,
    votes !== undefined && votes.up > 0 && `👍 ${votes.up}`,
    votes !== undefined && votes.down > 0 && `👎 ${votes.down}`,
  ].filter(Boolean);
  return (
    <span class="next">
      {text}
      {notes.length > 0 && <small>{notes.join(", ")}</small>}
      {isOpen && nextAtMs !== undefined && (
        <small>
          <Age atMs={nextAtMs} form="coming" />
        </small>
      )}
    </span>
  );
}

function None({ list: { show, text, me }, isEmpty }: { list: ListState; isEmpty: boolean }) {
  const id = text.trim().toLowerCase();
  const isId = /^[0-9a-f-]{4,36}$/.test(id);
  const isNobody = show === "mine" && me === "";
  return (
    <p class="none">
      {isId && "No matching tasks. "}
      {isId && <a href={`#/tasks/${id}`}>Search all tasks for {id}</a>}
      {!isId && (isNobody ? nobodyText : isEmpty ? emptyText : "No matching tasks.")}
    </p>
  );
}

const nobodyText = "Enter your Slack member ID. You can find it in your Slack profile.";
const emptyText = "No tasks yet. They appear here when someone asks in Slack.";

/** The server does not push changes of older tasks, so they are read again. */
const olderEveryMs = 10_000;

function Older({ live, list: { older }, setList }: ListProps) {
  const { announce } = usePage();

  async function load(state: string, goesOn: (tasks: OlderTasks) => boolean): Promise<void> {
    const previousTasks = older.get(state);
    const tasks = await readPages(state, goesOn);
    setList((list) => {
      // Somebody may have asked for more meanwhile.
      if (list.older.get(state) !== previousTasks) return list;
      return { ...list, older: new Map(list.older).set(state, tasks) };
    });
  }

  /** Tasks that have left their state, or were deleted, are dropped. */
  useRepeat(olderEveryMs, async () => {
    for (const [state, { pages }] of older)
      await load(state, (tasks) => tasks.pages < pages).catch(() => {});
  });

  function showOlder(state: string): void {
    const knownPages = older.get(state)?.pages ?? 0;
    const { rows: liveRows } = live;
    // The first pages may contain only rows that are listed already.
    load(state, ({ rows, pages }) => {
      const isNew = rows.slice(-100).some(({ id }) => !liveRows.has(id));
      const isEnough = pages >= knownPages + 8 || isNew || rows.length > liveRows.size + 100;
      return pages <= knownPages || !isEnough;
    }).catch((error: Error) => announce(error.message));
  }

  return (
    <div class="tools">
      {live.more
        .filter((state) => !older.has(state) || older.get(state)?.cursor !== undefined)
        .map((state) => (
          <Button key={state} onClick={() => showOlder(state)}>
            {state === "done" ? "Show older finished tasks" : `Show more tasks that are ${state}`}
          </Button>
        ))}
    </div>
  );
}

/** Reads pages from the newest task on, while `goesOn`. */
async function readPages(state: string, goesOn: (tasks: OlderTasks) => boolean) {
  let tasks: OlderTasks = { rows: [], pages: 0 };
  do {
    const cursor = tasks.cursor === undefined ? "" : `&cursor=${encodeURIComponent(tasks.cursor)}`;
    const page = await read<TaskPage>(`tasks?state=${state}${cursor}`);
    tasks = { ...page, rows: [...tasks.rows, ...page.rows], pages: tasks.pages + 1 };
  } while (tasks.cursor !== undefined && goesOn(tasks));
  return tasks;
}
