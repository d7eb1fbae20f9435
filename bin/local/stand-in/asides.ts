/** What Slack shows beside messages: whispers, the assistant's status, and prompts that it suggests. */

/** Seen by `user` alone, and in no history. */
export type Whisper = { channel: string; threadTs: string | undefined; ts: string; user: string; text: string };
export type Status = { channel: string; threadTs: string; status: string };
export type Prompts = { channel: string; threadTs: string; prompts: readonly { title: string; message: string }[] };

export type AsideChange =
  | ({ type: "whisper" } & Whisper)
  | ({ type: "status" } & Status)
  | ({ type: "prompts" } & Prompts);

export type Asides = {
  whisper(whisper: Whisper): void;
  /** An empty status removes it. */
  setStatus(status: Status): void;
  setPrompts(prompts: Prompts): void;
  whispers(): Whisper[];
  statuses(): Status[];
  prompts(): Prompts[];
  onChange(listener: (change: AsideChange) => void): () => void;
};

/** Keeps the latest few hundred whispers. */
const maxWhispers = 300;

export function createAsides(): Asides {
  let whispers: Whisper[] = [];
  const statuses = new Map<string, Status>();
  const prompts = new Map<string, Prompts>();
  const listeners = new Set<(change: AsideChange) => void>();

  function tell(change: AsideChange): void {
    for (const listener of listeners) listener(change);
  }

  return {
    whisper(whisper) {
      whispers = [...whispers, whisper].slice(-maxWhispers);
      tell({ type: "whisper", ...whisper });
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
    whispers: () => whispers,
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
