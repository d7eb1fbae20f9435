/** The operators' page: which view is shown, the keys that work everywhere, and the dialogs. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Where } from "../../operators-api.ts";
import { Button, PageHead, Problem } from "../elements.tsx";
import * as server from "../server.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { Destinations } from "./destinations.tsx";
import { useLiveTasks } from "./live-tasks.ts";
import {
  Dialog,
  type DialogContent,
  goTo,
  PageContext,
  type Question,
  read,
  shortId,
  useKeys,
  useListener,
} from "./page.tsx";
import { TaskView } from "./task.tsx";
import { emptyList, type ListProps, TaskList } from "./task-list.tsx";

const links = [
  { href: "#/tasks", text: "Tasks" },
  { href: "#/destinations", text: "Destinations" },
  { href: "#/dead-letters", text: "Dead letters" },
];

export function Operators() {
  const hash = useHash();
  const [announcement, announce] = useState("");
  const { live, connection } = useLiveTasks(announce);
  const [list, setList] = useState(emptyList);
  const { dialog, showKeys, confirm } = useDialog();
  const main = useRef<HTMLElement>(null);
  const { title, href, view, keys } = chooseView(hash, { live, list, setList });

  useActivityReports();
  useKeys({
    "?": showKeys,
    ...Object.fromEntries(links.map((link, index) => [index + 1, () => goTo(link.href)])),
    ...keys,
  });
  useEffect(() => {
    document.title = `${title} · Sekisho operators`;
  }, [title]);
  useLayoutEffect(() => {
    // The view may have chosen the place of the focus.
    if (main.current?.contains(document.activeElement) === false) main.current.focus();
    scrollTo(0, 0);
  }, [hash]);

  return (
    <PageContext.Provider value={{ announce, confirm }}>
      <Button class="quiet skip" onClick={() => main.current?.focus()}>
        Skip to content
      </Button>
      <Head href={href} connection={connection} showKeys={showKeys} />
      <main ref={main} tabIndex={-1}>
        <Problem text={live.trouble} />
        {view}
      </main>
      <p class="hidden" role="status">
        {announcement}
      </p>
      {dialog !== undefined && <Dialog {...dialog} />}
    </PageContext.Provider>
  );
}

type HeadProps = { href: string; connection: server.ConnectionState; showKeys(): void };

function Head({ href, connection, showKeys }: HeadProps) {
  const [where, setWhere] = useState<Where>();
  useEffect(() => {
    read<Where>("where").then(setWhere, () => {});
  }, []);
  return (
    <PageHead name={`operators${where === undefined ? "" : `, ${where.name}`}`} state={connection}>
      <nav aria-label="Views">
        {links.map((link) => (
          <a
            key={link.href}
            href={link.href}
            aria-current={link.href === href ? "page" : undefined}
          >
            {link.text}
          </a>
        ))}
      </nav>
      {where?.localPage !== undefined && (
        <a class="other" href={where.localPage}>
          Local page
        </a>
      )}
      <Button aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={showKeys}>
        ?
      </Button>
      {where?.signsIn && <Button onClick={signOut}>Sign out</Button>}
    </PageHead>
  );
}

async function signOut(): Promise<void> {
  await server.act("/operate/sign-out").catch(() => {});
  location.replace("/operate/sign-in");
}

/** Each task has a view of its own, so that none shows what belongs to another. */
function chooseView(hash: string, props: ListProps) {
  const [, id] = /^#\/tasks\/([^/%]+)$/.exec(hash) ?? [];
  const keys = { "/": () => goTo("#/tasks") };
  if (id !== undefined) {
    const view = <TaskView key={id} id={id} rows={props.live.rows} />;
    return { title: `Task ${shortId(id)}`, href: "#/tasks", view, keys };
  }
  if (hash === "#/destinations")
    return { title: "Destinations", href: hash, view: <Destinations />, keys };
  if (hash === "#/dead-letters")
    return { title: "Dead letters", href: hash, view: <DeadLetters />, keys };
  return { title: "Tasks", href: "#/tasks", view: <TaskList {...props} />, keys: {} };
}

function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useListener(["hashchange"], () => setHash(location.hash));
  return hash;
}

const keyNames = [
  ["j  k  ↓  ↑", "next and previous task"],
  ["Enter", "open the task"],
  ["Esc", "go back to the list, or leave the filter"],
  ["/", "filter"],
  ["c", "cancel the open task"],
  ["r", "retry the open task"],
  ["1  2  3", "tasks, destinations, dead letters"],
  ["?", "show this list"],
] as const;

const keyList = (
  <dl class="keys">
    {keyNames.map(([names, effect]) => (
      <div key={names}>
        <dt>
          {names.split("  ").map((name) => (
            <kbd key={name}>{name}</kbd>
          ))}
        </dt>
        <dd>{effect}</dd>
      </div>
    ))}
  </dl>
);

function useDialog() {
  const [dialog, setDialog] = useState<DialogContent>();
  async function open(content: Omit<DialogContent, "onClose">): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    setDialog({ ...content, onClose: resolve });
    const value = await promise;
    setDialog(undefined);
    return value;
  }
  return {
    dialog,
    showKeys() {
      const close = { label: "Close", look: "primary", value: "" } as const;
      void open({ title: "Keyboard shortcuts", body: keyList, answers: [close] });
    },
    async confirm({ title, text, yes }: Question): Promise<boolean> {
      const no = { label: "Go back", look: "quiet", value: "no" } as const;
      const answers = [no, { label: yes, look: "primary", value: "yes" } as const];
      return (await open({ title, body: <p>{text}</p>, answers })) === "yes";
    },
  };
}

const reportEveryMs = 60_000;

/** Reports activity to the server. Automatic updates of the page do not count, so the session of an idle person ends. */
function useActivityReports(): void {
  const reportedAtMs = useRef(0);
  useListener(["keydown", "pointerdown", "wheel"], () => {
    if (Date.now() - reportedAtMs.current < reportEveryMs) return;
    reportedAtMs.current = Date.now();
    read("where", { "x-operator-active": "1" }).catch(() => {});
  });
}
