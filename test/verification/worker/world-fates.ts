/** What becomes of the operations of a worker: each may go wrong, or be the worker's last. */
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import { type MessageContent, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Thread } from "@sekisho/verification/task/thread.ts";
import type { Kind } from "../../faults/faults.ts";

/** Everything that may go wrong with an operation: the kinds of the simulation that need no other process. */
export const troubles = [
  "refused",
  "lost",
  "answer_lost",
  "slow",
  "dies_before",
  "dies_after",
] as const satisfies readonly Kind[];
export const deaths = ["dies_before", "dies_after"] as const;
export type Fate = "ok" | (typeof troubles)[number];
export type Operation = {
  party: "store" | "queue" | "slack" | "host" | "gate";
  name: string;
  /** The record of a store that is read, or that is to be written. */
  item?: Task | Thread | undefined;
  /** What Slack is to show. */
  content?: MessageContent | undefined;
};

/** The `nth` of the operations that fit has this fate, counted from 0; all others go well. */
export function nthFate(
  nth: number,
  fate: Fate,
  fits: (operation: Operation) => boolean = () => true,
) {
  let seen = 0;
  return (operation: Operation): Fate => (fits(operation) && seen++ === nth ? fate : "ok");
}

/** The operations that fit fail with an error; all others go well. */
export function failing(error: Error, fits: (operation: Operation) => boolean) {
  return (operation: Operation): Fate => {
    if (fits(operation)) throw error;
    return "ok";
  };
}

/** Slack does not take that content. */
export function refuseContent(fits: (content: MessageContent) => boolean) {
  const error = new SlackError("refused");
  return failing(error, ({ content }) => content !== undefined && fits(content));
}

/** The store cannot write those records of tasks. */
export function failWrites(fits: (task: Task) => boolean) {
  const error = new ItemError({ cause: new RangeError() });
  return failing(error, ({ name, item }) => name === "replace" && isTask(item) && fits(item));
}

/** The store cannot read those records of tasks. */
export function failReads(fits: (task: Task) => boolean) {
  return ({ name, item }: Operation): Fate => {
    if (name !== "get" || !isTask(item) || !fits(item)) return "ok";
    throw new ItemError({ cause: new TypeError(), json: { ...item, wait: "many", outcome: 7 } });
  };
}

function isTask(item: Task | Thread | undefined): item is Task {
  return item !== undefined && "message" in item;
}

/** The operations have the fates of a plan, by their number; all others go well. */
export function plannedFates(plan: readonly (readonly [nth: number, fate: Fate])[]) {
  const fates = new Map(plan);
  let seen = 0;
  return (): Fate => fates.get(seen++) ?? "ok";
}

/** A worker that died does nothing more. */
export type Alive = { yes: boolean };
/** How a party says that it did not do it, and how it looks when nobody knows. */
export type PartyErrors = { refused: () => Error; unknown: () => Error };

export type Operate = <T>(request: {
  alive: Alive;
  operation: Operation;
  errors: PartyErrors;
  effect: () => T;
}) => Promise<T>;

const lateMs = 45_000;

type CreateFatesOptions = {
  fate: (operation: Operation) => Fate | Promise<Fate>;
  now: () => number;
};

export function createFates({ fate, now }: CreateFatesOptions): {
  operate: Operate /** What was to come late comes: all of it, or what is due. */;
  land(all: boolean): void;
} {
  const landings: { atMs: number; land: () => void }[] = [];

  const operate: Operate = async ({ alive, operation, errors, effect }) => {
    const dead = () => new Error("this worker is dead");
    if (!alive.yes) throw dead();
    switch (await fate(operation)) {
      case "ok":
        return effect();
      case "refused":
        throw errors.refused();
      case "lost":
        throw errors.unknown();
      case "answer_lost":
        effect();
        throw errors.unknown();
      case "slow":
        landings.push({ atMs: now() + lateMs, land: () => attempt(effect) });
        throw errors.unknown();
      case "dies_before":
        alive.yes = false;
        throw dead();
      case "dies_after":
        effect();
        alive.yes = false;
        throw dead();
    }
  };

  return {
    operate,
    land(all) {
      for (const landing of landings.splice(0)) {
        if (all || landing.atMs <= now()) landing.land();
        else landings.push(landing);
      }
    },
  };
}

function attempt(effect: () => unknown): void {
  try {
    effect();
  } catch {
    // A late edit of a message that is gone: Slack refuses it, and nobody hears of it.
  }
}
