/** The messages of one conversation, thread by thread. */
import type {
  ButtonView,
  EphemeralView,
  MessagePart,
  MessageView,
  Person,
} from "../../local-events.ts";
import { Mark, Tree } from "../elements.tsx";
import { type LocalState, threadKey } from "./state.ts";

/** What a person can do with a message. */
export type MessageActions = {
  reply(ts: string): void;
  showTimeline(requestId: string): void;
  click(message: MessageView, button: ButtonView): void;
  askAbout(message: MessageView): void;
  forward(message: MessageView): void;
};

type View = {
  person: Person;
  chosen: string | undefined;
  /** The thread that the person replies in. */
  replyingTo: string | undefined;
  actions: MessageActions;
};

const byTime = (a: { ts: string }, b: { ts: string }) => Number(a.ts) - Number(b.ts);

export function Threads({
  state,
  channel,
  ...view
}: View & { state: LocalState; channel: string }) {
  const isHere = (message: { channel: string }) => message.channel === channel;
  const posts = [...state.messages.values(), ...state.ephemeralMessages.values()]
    .filter(isHere)
    .sort(byTime);
  const repliesOf = Map.groupBy(posts, ({ threadTs }) => threadTs);
  const roots = repliesOf.get(undefined) ?? [];
  if (roots.length === 0) return <p class="none">No messages yet. Write the first one below.</p>;
  return roots.map((root) =>
    "shown" in root ? (
      <Ephemeral key={root.ts} message={root} person={view.person} />
    ) : (
      <Thread
        {...{ root, ...view, key: root.ts }}
        replies={repliesOf.get(root.ts) ?? []}
        status={state.statuses.get(threadKey(root))}
      />
    ),
  );
}

type ThreadProps = View & {
  root: MessageView;
  replies: readonly (MessageView | EphemeralView)[];
  status: string | undefined;
};

function Thread({ root, replies, status, ...view }: ThreadProps) {
  const messages = [root, ...replies.filter((reply) => "parts" in reply)];
  const isChosen = messages.some(
    ({ requestId }) => requestId !== undefined && requestId === view.chosen,
  );
  const isReplying = view.replyingTo === root.ts;
  return (
    <article class={`thread${isChosen ? " chosen" : ""}${isReplying ? " replying" : ""}`}>
      <Message message={root} {...view} />
      {replies.length > 0 && (
        <div class="replies">
          {replies.map((reply) =>
            "shown" in reply ? (
              <Ephemeral key={reply.ts} message={reply} person={view.person} />
            ) : (
              <Message key={reply.ts} message={reply} {...view} />
            ),
          )}
        </div>
      )}
      {status !== undefined && <p class="status">Sekisho {status}</p>}
      <div class="under">
        {isReplying ? (
          <span class="chip">You are replying here</span>
        ) : (
          <button type="button" class="link" onClick={() => view.actions.reply(root.ts)}>
            Reply in thread
          </button>
        )}
      </div>
    </article>
  );
}

function Message({ message, person, chosen, actions }: View & { message: MessageView }) {
  const { author, ts, agent, parts, files, edited, streaming, reactions, requestId } = message;
  const isElsewhere = author.kind === "person" && requestId !== undefined && requestId !== chosen;
  const time = new Date(Number(ts) * 1000);
  return (
    <div class="message">
      <div class={`avatar ${author.kind}`} aria-hidden="true">
        {author.kind === "bot" ? <Mark /> : author.name.slice(0, 1)}
      </div>
      <div class="who">
        {author.name}
        {author.kind !== "person" && <span class="chip">APP</span>}
        <small>
          <time dateTime={time.toISOString()}>
            {time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}
          </time>
          {edited && " (edited)"}
          {agent !== undefined && ` · agent: ${agent}`}
        </small>
      </div>
      <div class="body">
        {parts.map((part, index) => (
          <Part
            key={index}
            {...{ part, person }}
            onClick={(button) => actions.click(message, button)}
          />
        ))}
        {streaming && <span class="status">writing…</span>}
        {files.length > 0 && <div class="files">{files.map(File)}</div>}
      </div>
      <div class="under">
        {reactions.map(({ name, shown }) => (
          <span key={name} class="reaction" title={`:${name}:`}>
            {shown}
          </span>
        ))}
        {isElsewhere && (
          <button type="button" class="link" onClick={() => actions.showTimeline(requestId)}>
            Show timeline
          </button>
        )}
        {parts.every(({ type }) => type !== "buttons") && (
          <button type="button" class="link" onClick={() => actions.askAbout(message)}>
            Ask about this
          </button>
        )}
        <button type="button" class="link" onClick={() => actions.forward(message)}>
          Forward
        </button>
      </div>
    </div>
  );
}

type PartProps = { part: MessagePart; person: Person; onClick: (button: ButtonView) => void };

function Part({ part, person, onClick }: PartProps) {
  if (!("buttons" in part)) {
    return (
      <div class={part.type === "context" ? "context" : `text ${part.type}`}>
        <Tree nodes={part.shown} />
      </div>
    );
  }
  return (
    <div class="actions">
      {part.buttons.map((button) => {
        const { actionId, label, style = "quiet", value, voters } = button;
        return (
          <button
            type="button"
            key={`${actionId}/${value}`}
            class={voters === undefined ? style : "quiet vote"}
            aria-pressed={voters?.includes(person.id)}
            onClick={() => onClick(button)}
          >
            {label}
          </button>
        );
      })}
    </div>
  );
}

function File({ id, name, size, isImage }: MessageView["files"][number]) {
  const href = `/local/files/${id}`;
  const link = (
    <a key={id} class="file" href={href} download={name}>
      <span>{name}</span>
      <small>{formatSize(size)}</small>
    </a>
  );
  if (!isImage) return link;
  return (
    <figure key={id}>
      <img src={href} alt={name} />
      <figcaption>{link}</figcaption>
    </figure>
  );
}

function Ephemeral({ message, person }: { message: EphemeralView; person: Person }) {
  return (
    <div class="ephemeral">
      <small>Only visible to {message.user === person.id ? "you" : message.name}</small>
      <div class="text">
        <Tree nodes={message.shown} />
      </div>
    </div>
  );
}

export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
