/** The plan of a run: a pure function of the seed. The outcome depends on the machine's timing. */
import type { Fault } from "@sekisho/local/fake-slack/faults.ts";

/** The end of the task if nothing is killed. */
export type Kind =
  | "sync"
  | "accepted"
  | "parts"
  | "failed"
  | "refused"
  | "canceled"
  | "asked"
  | "filed";
export type Zone = "verification" | "execution";

export type PlannedAsk = {
  atMs: number;
  kind: Kind;
  text: string;
  /** True if it is posted into the thread of the message before. */
  isReply: boolean;
  /** When Slack delivers the post again, as another event. */
  againAtMs: number | undefined;
  /** When somebody asks in the thread to cancel it. */
  cancelAtMs: number | undefined;
  /** A fault of Slack that applies once from then on. */
  slackFault: Fault | undefined;
  /** Which button of the agent's question somebody clicks, and how long after it appeared. The other one follows. */
  buttonClick: { label: "Yes" | "No"; afterMs: number } | undefined;
};

/** Both lists are in order of time. */
export type Plan = { asks: PlannedAsk[]; kills: { atMs: number; zone: Zone }[] };

/** The last kills come while the last tasks are under way. */
const afterLastAskMs = 1500;

/** Tasks that need only the agent from the Execution zone. */
const plainKinds: readonly Kind[] = [
  "sync",
  "sync",
  "sync",
  "accepted",
  "accepted",
  "accepted",
  "parts",
  "failed",
  "refused",
  "canceled",
];
/** Adds questions of the agent and files, which only the zones on one machine have. */
export const allKinds: readonly Kind[] = [...plainKinds, "asked", "asked", "filed"];

export function planRun({
  seed,
  tasks,
  kills,
  killEveryMs = 1500,
  kinds = plainKinds,
}: {
  kinds?: readonly Kind[];
  seed: number;
  tasks: number;
  kills: number;
  /** The mean time between kills. A process is up again after a third of the default. */
  killEveryMs?: number;
}): Plan {
  const random = createRandom({ seed });
  const lengthMs = Math.max(1, kills) * killEveryMs;
  const moments = (count: number, untilMs: number) =>
    Array.from({ length: count }, () => random.upTo(untilMs)).sort((a, b) => a - b);
  return {
    asks: moments(tasks, lengthMs).map((atMs, number) => planAsk({ random, kinds, atMs, number })),
    kills: moments(kills, lengthMs + afterLastAskMs).map((atMs) => ({
      atMs,
      zone: random.oneOf(["verification", "execution"]),
    })),
  };
}

function planAsk({
  random,
  kinds,
  atMs,
  number,
}: {
  random: Random;
  kinds: readonly Kind[];
  atMs: number;
  number: number;
}): PlannedAsk {
  const kind = kinds[random.upTo(kinds.length)] ?? "sync";
  return {
    atMs,
    kind,
    text: `private ${number} ${wishOf({ random, kind })}`,
    // Files of an answer have no key, so their thread must be their own. A reply to a question would answer it.
    isReply: number > 0 && random.chance(0.2) && kind !== "filed" && kind !== "asked",
    againAtMs: random.chance(0.3) ? atMs + random.upTo(4000) : undefined,
    cancelAtMs: kind === "canceled" ? atMs + 100 + random.upTo(2500) : undefined,
    slackFault: random.chance(0.15) ? planSlackFault({ random }) : undefined,
    buttonClick:
      kind === "asked"
        ? { label: random.oneOf(["Yes", "No"]), afterMs: random.upTo(1500) }
        : undefined,
  };
}

/** Returns the message that makes the echo agent behave so. */
function wishOf({ random, kind }: { random: Random; kind: Kind }): string {
  switch (kind) {
    case "sync":
      return `slow ${random.upTo(300)}ms`;
    case "accepted":
      return `slow ${1000 + random.upTo(1500)}ms`;
    case "parts":
      return "and a word more ".repeat(600);
    case "failed":
      return `slow ${random.upTo(1500)}ms fail`;
    case "refused":
      return "let me in";
    case "canceled":
      return "slow 6s";
    case "asked":
      return "ask me";
    case "filed":
      return "read files, and an image";
  }
}

/** A `late` post appears after the worker has given up on it, looked for it and posted again, but before the sweep. */
function planSlackFault({ random }: { random: Random }): Fault {
  const method = random.oneOf([
    "chat.postMessage",
    "chat.postMessage",
    "chat.update",
    "conversations.replies",
  ]);
  return random.oneOf<Fault>([
    { method, type: "late", delayMs: 4000 },
    { method, type: "late", delayMs: 4000 },
    { method, type: "lost_answer" },
    { method, type: "reset" },
    { method, type: "status", status: 500 },
    { method, type: "rate_limited", retryAfterSeconds: 1 },
  ]);
}

type Random = {
  /** A number from [0, 1), as Math.random. */
  next(): number;
  /** A whole number from 0 up to, but not, `limit`. */
  upTo(limit: number): number;
  oneOf<T>(choices: readonly [T, ...T[]]): T;
  chance(probability: number): boolean;
};

export function createRandom({ seed }: { seed: number }): Random {
  let state = seed | 0;
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const upTo = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    upTo,
    oneOf: (choices) => choices[upTo(choices.length)] ?? choices[0],
    chance: (probability) => next() < probability,
  };
}
