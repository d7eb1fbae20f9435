/** What happens in a run, and when: a pure function of the seed. What comes of it depends on the machine's own timing. */
import type { Fault } from "../../../lib/local/fake-slack/faults.ts";
import { createRandom, type Random } from "./random.ts";

/** How the task would end if nothing was killed. */
export type Kind = "sync" | "accepted" | "parts" | "failed" | "refused" | "canceled" | "asked" | "filed";
export type Zone = "verification" | "execution";

export type PlannedAsk = {
  atMs: number;
  kind: Kind;
  text: string;
  /** Into the thread of the message before, instead of one of its own. */
  isReply: boolean;
  /** When Slack tells of the same post again, as another event. */
  againAtMs: number | undefined;
  /** When somebody says in the thread that it is to be canceled. */
  cancelAtMs: number | undefined;
  /** What goes wrong at Slack from then on, once. */
  slackFault: Fault | undefined;
  /** Which button of the agent's question somebody presses, so long after it is there; and then the other one. */
  buttonClick: { label: "Yes" | "No"; afterMs: number } | undefined;
};

/** In order of their moments. */
export type Plan = { asks: PlannedAsk[]; kills: { atMs: number; zone: Zone }[] };

/** The last kills come when the last tasks are under way. */
const afterLastAskMs = 1500;

/** What needs nothing of the Execution zone but the agent. */
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
/** With questions of the agent, and with files, which are on this machine alone. */
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
  /** Mean time from kill to kill; a process is up again after a third of the default. */
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
    // Files of an answer have no key and are known by their thread; and where an agent asks, what is said there answers it.
    isReply: number > 0 && random.chance(0.2) && kind !== "filed" && kind !== "asked",
    againAtMs: random.chance(0.3) ? atMs + random.upTo(4000) : undefined,
    cancelAtMs: kind === "canceled" ? atMs + 100 + random.upTo(2500) : undefined,
    slackFault: random.chance(0.15) ? planSlackFault({ random }) : undefined,
    buttonClick: kind === "asked" ? { label: random.oneOf(["Yes", "No"]), afterMs: random.upTo(1500) } : undefined,
  };
}

/** In the echo agent's words. */
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

/** A `late` post lands when its act has given up, has looked for it and has posted anew; but before the sweep. */
function planSlackFault({ random }: { random: Random }): Fault {
  const method = random.oneOf(["chat.postMessage", "chat.postMessage", "chat.update", "conversations.replies"]);
  return random.oneOf<Fault>([
    { method, type: "late", delayMs: 4000 },
    { method, type: "late", delayMs: 4000 },
    { method, type: "lost_answer" },
    { method, type: "reset" },
    { method, type: "status", status: 500 },
    { method, type: "rate_limited", retryAfterSeconds: 1 },
  ]);
}
