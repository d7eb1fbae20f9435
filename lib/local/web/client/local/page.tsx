/** The local page: a conversation as Slack shows it, and beside it the timeline of a task. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { DisplayNode } from "../../display-node.ts";
import type { Channel, LocalEvent, MessageView, Person } from "../../local-events.ts";
import { PageHead, Problem } from "../elements.tsx";
import { act, type ConnectionState, follow } from "../server.ts";
import { Composer } from "./composer.tsx";
import { AlertForm, ForwardForm, Modal, type Target } from "./dialog.tsx";
import { emptyState, type LocalState, reduce, threadKey } from "./state.ts";
import { type MessageActions, Threads } from "./thread.tsx";
import { TimelinePanel } from "./timeline-panel.tsx";

export function LocalPage() {
  const [state, dispatch] = useReducer(reduce, emptyState);
  const [connection, setConnection] = useState<ConnectionState>("connecting");
  const [personId, setPersonId] = useState("");
  useEffect(() => {
    const listener = { onEvent: dispatch, onState: setConnection };
    return follow<LocalEvent>("/local/events", listener);
  }, []);
  const person = state.people.find(({ id }) => id === personId) ?? state.people[0];
  return (
    <div class="local">
      <PageHead name="on this machine" state={connection}>
        <a class="other" href="/operate/">
          Operators' page
        </a>
      </PageHead>
      {connection === "refused" && <Problem text="Open the address that sekisho start printed." />}
      {person !== undefined && <Workspace {...{ state, dispatch, person, setPersonId }} />}
    </div>
  );
}

type WorkspaceProps = {
  state: LocalState;
  dispatch: (action: Parameters<typeof reduce>[1]) => void;
  person: Person;
  setPersonId: (id: string) => void;
};

function Workspace({ state, dispatch, person, setPersonId }: WorkspaceProps) {
  const [channelId, setChannelId] = useState("");
  const [threadTs, setThreadTs] = useState<string>();
  const [tab, setTab] = useState<"conversation" | "timeline">("conversation");
  const [form, setForm] = useState<{ forward?: MessageView }>();
  const [files, setFiles] = useState<readonly File[]>([]);
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const channels = state.channels.filter(({ people }) => people.includes(person.id));
  const channel = channels.find(({ id }) => id === channelId) ?? channels[0];
  useEffect(() => field.current?.focus(), []);
  if (channel === undefined) return null;
  const place = { channel: channel.id, threadTs, user: person.id };
  const requestId = state.chosen.get(channel.id);
  const modal = state.modals.get(person.id);
  const replyingTo =
    threadTs && state.messages.get(threadKey({ channel: channel.id, ts: threadTs }));

  async function attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      setProblem("");
      return true;
    } catch (error) {
      setProblem(`Not sent: ${error instanceof Error ? error.message : error}`);
      return false;
    }
  }

  function replyIn(ts: string | undefined): void {
    setThreadTs(ts);
    field.current?.focus();
  }

  /** Slack notifies the bot when somebody opens the direct messages with it, and the bot may suggest prompts. */
  function visit({ id, direct }: Channel): void {
    setChannelId(id);
    replyIn(undefined);
    if (direct) void attempt(() => act("/local/direct-messages", { user: person.id }));
  }

  function leaveForm(target?: Target): void {
    setForm(undefined);
    if (target === undefined || target.threadTs !== undefined) return;
    setChannelId(target.channel);
    replyIn(undefined);
  }

  const actions: MessageActions = {
    reply: replyIn,
    showTimeline(id) {
      dispatch({ type: "choose", channel: channel.id, requestId: id });
      setTab("timeline");
    },
    click: ({ ts }, { actionId, value }) =>
      void attempt(() =>
        act("/local/clicks", { ...place, ts, action_id: actionId, value, thread_ts: undefined }),
      ),
    askAbout: ({ ts }) => void attempt(() => act("/local/shortcuts", { ...place, ts })),
    forward: (message) => setForm({ forward: message }),
  };
  const openThread = threadTs === undefined ? [] : [{ label: "The open thread", ...place }];
  const conversations = channels.map((each) => ({ label: labelOf(each), channel: each.id }));
  return (
    <>
      <nav class="choices tabs" aria-label="Views">
        {(["conversation", "timeline"] as const).map((name) => (
          <button type="button" key={name} aria-pressed={tab === name} onClick={() => setTab(name)}>
            {name === "timeline" ? "Timeline" : "Conversation"}
          </button>
        ))}
      </nav>
      <main class={`shows-${tab}`}>
        <section class="panel conversation" aria-label="The fake Slack">
          <h2 class="hidden">Conversation</h2>
          <Places
            {...{ channels, channel, visit, person, people: state.people }}
            setPerson={(id) => {
              setPersonId(id);
              replyIn(undefined);
            }}
          />
          <Messages key={channel.id} onDrop={(dropped) => setFiles((own) => [...own, ...dropped])}>
            <Threads
              {...{ state, channel: channel.id, person, actions }}
              {...{ chosen: requestId, replyingTo: threadTs }}
            />
          </Messages>
          <Composer
            {...{ place, field, files, setFiles, attempt }}
            prompts={state.prompts.get(channel.id) ?? state.examples}
            replyingTo={replyingTo ? textOf(replyingTo) : undefined}
            leaveThread={() => replyIn(undefined)}
            postAlert={channel.direct ? undefined : () => setForm({})}
          />
          <Problem text={problem} />
        </section>
        <TimelinePanel
          key={requestId}
          requestId={requestId}
          steps={state.steps.get(requestId ?? "") ?? []}
          isRecorded={isRecorded(state, requestId)}
        />
      </main>
      {modal !== undefined && <Modal key={modal.id} {...modal} />}
      {form?.forward !== undefined && (
        <ForwardForm
          {...{ message: form.forward, user: person.id, leave: leaveForm }}
          targets={[...openThread, ...conversations]}
        />
      )}
      {form !== undefined && form.forward === undefined && (
        <AlertForm channel={channel.id} leave={leaveForm} />
      )}
    </>
  );
}

type PlacesProps = {
  channels: readonly Channel[];
  channel: Channel;
  visit: (channel: Channel) => void;
  people: readonly Person[];
  person: Person;
  setPerson: (id: string) => void;
};

/** The conversations of a person, and who that is. */
function Places({ channels, channel, visit, people, person, setPerson }: PlacesProps) {
  return (
    <div class="places">
      <nav class="choices" aria-label="Conversations">
        {channels.map((each) => (
          <button
            type="button"
            key={each.id}
            aria-pressed={each === channel}
            onClick={() => visit(each)}
          >
            {labelOf(each)}
          </button>
        ))}
      </nav>
      <label class="person">
        <span class="hidden">Write</span> as{" "}
        <select value={person.id} onChange={({ currentTarget }) => setPerson(currentTarget.value)}>
          {people.map(({ id, name, locale }) => (
            <option key={id} value={id}>
              {`${name} · ${locale.slice(0, 2)}`}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

type MessagesProps = { children: ComponentChildren; onDrop: (files: readonly File[]) => void };

/** Keeps the end in view for somebody who is looking at it. */
function Messages({ children, onDrop }: MessagesProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const keepEnd = () => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  };
  useLayoutEffect(keepEnd);
  return (
    <div
      ref={box}
      class="messages"
      role="log"
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 80;
      }}
      // An image has no height until it has loaded.
      onLoadCapture={keepEnd}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        onDrop([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {children}
    </div>
  );
}

/** True if the task's first message is older than the steps that the server has. */
function isRecorded({ messages, stepsSince }: LocalState, requestId: string | undefined): boolean {
  const first = [...messages.values()].find((message) => message.requestId === requestId);
  return requestId !== undefined && first !== undefined && Number(first.ts) <= Number(stepsSince);
}

function labelOf({ name, direct }: Channel): string {
  return direct ? "Direct" : `# ${name}`;
}

const maxQuoteLength = 60;

/** The beginning of a message, on one line. */
function textOf({ author, parts }: MessageView): string {
  const read = (nodes: readonly DisplayNode[]): string =>
    nodes.map((node) => (typeof node === "string" ? node : read(node.children))).join(" ");
  const text = parts.map((part) => ("shown" in part ? read(part.shown) : "")).join(" ");
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > maxQuoteLength ? `${line.slice(0, maxQuoteLength)}…` : line || author.name;
}
