/** What Slack shows beside messages: whispers, the assistant's status, and prompts that it suggests. */

/** Seen by `user` alone, and in no history. */
export type EphemeralMessage = {
  channel: string;
  threadTs: string | undefined;
  ts: string;
  user: string;
  text: string;
};
export type Status = { channel: string; threadTs: string; status: string };
export type Prompts = { channel: string; threadTs: string; prompts: readonly { title: string; message: string }[] };

export type EphemeralChange =
  | ({ type: "ephemeral" } & EphemeralMessage)
  | ({ type: "status" } & Status)
  | ({ type: "prompts" } & Prompts);

export type EphemeralState = {
  postEphemeral(postEphemeral: EphemeralMessage): void;
  /** An empty status removes it. */
  setStatus(status: Status): void;
  setPrompts(prompts: Prompts): void;
  ephemeralMessages(): EphemeralMessage[];
  statuses(): Status[];
  prompts(): Prompts[];
  onChange(listener: (change: EphemeralChange) => void): () => void;
};

/** Keeps the latest few hundred whispers. */
const maxEphemeralMessages = 300;

export function createEphemeralState(): EphemeralState {
  let ephemeralMessages: EphemeralMessage[] = [];
  const statuses = new Map<string, Status>();
  const prompts = new Map<string, Prompts>();
  const listeners = new Set<(change: EphemeralChange) => void>();

  function tell(change: EphemeralChange): void {
    for (const listener of listeners) listener(change);
  }

  return {
    postEphemeral(message) {
      ephemeralMessages = [...ephemeralMessages, message].slice(-maxEphemeralMessages);
      tell({ type: "ephemeral", ...message });
    },
    setStatus(status) {
      const key = keyOf(status);
      if (status.status === "" && !statuses.has(key)) return;
      if (status.status === "") statuses.delete(key);
      else statuses.set(key, status);
      tell({ type: "status", ...status });
    },
    setPrompts(suggested) {
      prompts.set(keyOf(suggested), suggested);
      tell({ type: "prompts", ...suggested });
    },
    ephemeralMessages: () => ephemeralMessages,
    statuses: () => [...statuses.values()],
    prompts: () => [...prompts.values()],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function keyOf({ channel, threadTs }: { channel: string; threadTs: string }): string {
  return `${channel}/${threadTs}`;
}
