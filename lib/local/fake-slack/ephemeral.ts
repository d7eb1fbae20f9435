/** Parts of the conversation beside its messages: ephemeral messages, the bot's status, suggested prompts, sessions of agents, and the App Home. */

import type { FakeSlackBlock } from "./blocks.ts";

/** Only `user` sees it, and it is in no history. */
export type EphemeralMessage = {
  channel: string;
  threadTs: string | undefined;
  ts: string;
  user: string;
  text: string;
};
type Status = { channel: string; threadTs: string; status: string };
type Prompts = {
  channel: string;
  threadTs: string | undefined;
  prompts: readonly { title: string; message: string }[];
};

export type FakeSlackSession = {
  channel: string;
  threadTs: string;
  status: "active" | "processing" | "suspended" | "closed";
  title: string;
};

type Home = { user: string; blocks: readonly FakeSlackBlock[] };

export type EphemeralChange =
  | ({ type: "home" } & Home)
  | ({ type: "ephemeral" } & EphemeralMessage)
  | ({ type: "status" } & Status)
  | ({ type: "prompts" } & Prompts)
  | ({ type: "session" } & FakeSlackSession);

/** Older ephemeral messages are forgotten. */
const maxEphemeralMessages = 300;

/** `notify` is called with each change. */
export function createEphemeralState(notify: (change: EphemeralChange) => void) {
  const homes = new Map<string, readonly FakeSlackBlock[]>();
  let ephemeralMessages: readonly EphemeralMessage[] = [];
  const statuses = new Map<string, Status>();
  const prompts = new Map<string, Prompts>();
  const sessions = new Map<string, FakeSlackSession>();
  const keyOf = ({ channel, threadTs = "" }: { channel: string; threadTs: string | undefined }) =>
    `${channel}/${threadTs}`;

  return {
    postEphemeral(message: EphemeralMessage): void {
      ephemeralMessages = [...ephemeralMessages, message].slice(-maxEphemeralMessages);
      notify({ type: "ephemeral", ...message });
    },
    /** An empty status removes the thread's status. */
    setStatus(status: Status): void {
      const key = keyOf(status);
      if (status.status === "" && !statuses.has(key)) return;
      if (status.status === "") statuses.delete(key);
      else statuses.set(key, status);
      notify({ type: "status", ...status });
    },
    setPrompts(suggestedPrompts: Prompts): void {
      prompts.set(keyOf(suggestedPrompts), suggestedPrompts);
      notify({ type: "prompts", ...suggestedPrompts });
    },
    setSession(session: FakeSlackSession): void {
      sessions.set(keyOf(session), session);
      notify({ type: "session", ...session });
    },
    publishHome({ user, blocks }: Home): void {
      homes.set(user, blocks);
      notify({ type: "home", user, blocks });
    },
    /** What a person sees on the App Home. */
    home: (user: string) => homes.get(user),
    session: (thread: { channel: string; threadTs: string }) => sessions.get(keyOf(thread)),
    ephemeralMessages: () => ephemeralMessages,
    statuses: () => [...statuses.values()],
    prompts: () => [...prompts.values()],
    sessions: () => [...sessions.values()],
  };
}
