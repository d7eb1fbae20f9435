/** Faults of the operations of a worker: each can fail, or be the last one of its process. */
import { ItemError } from "@sekisho/runtime/engine/records.ts";
import { type MessageContent, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Thread } from "@sekisho/verification/task/thread.ts";
import type { Kind } from "../faults/faults.ts";

/** The faults that a world of one worker can have: the kinds of the simulation that need no other process. */
export const faultKinds = [
  "refused",
  "lost",
  "answer_lost",
  "slow",
  "dies_before",
  "dies_after",
] as const satisfies readonly Kind[];
export const deaths = ["dies_before", "dies_after"] as const;
export type Fault = (typeof faultKinds)[number];
export type MaybeFault = Fault | false | undefined;
/** The fault of an operation, if it has one; or throws the error that its party reports. */
export type FaultOf = (operation: Operation) => MaybeFault | Promise<MaybeFault>;
export type Operation = {
  party: "store" | "queue" | "slack" | "host" | "gate";
  name: string;
  /** The record of a store that is read, or that is to be written. */
  item?: Task | Thread | undefined;
  /** What Slack is to show. */
  content?: MessageContent | undefined;
};

/** Operations: by their name, or those that the function accepts. */
type Fits = string | ((operation: Operation) => boolean);

function doesFit(fits: Fits, operation: Operation): boolean {
  return typeof fits === "string" ? operation.name === fits : fits(operation);
}

/** The `nth` of the operations that fit has this fault, counted from 0; all others go well. */
export function nthFault(nth: number, fault: Fault, fits: Fits = () => true) {
  let count = 0;
  return (operation: Operation): MaybeFault => doesFit(fits, operation) && count++ === nth && fault;
}

/** The operations that fit fail with an error; all others go well. */
export function failing(error: Error, fits: Fits) {
  return (operation: Operation): MaybeFault => {
    if (doesFit(fits, operation)) throw error;
    return undefined;
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
  return ({ name, item }: Operation): MaybeFault => {
    if (name !== "get" || !isTask(item) || !fits(item)) return undefined;
    throw new ItemError({ cause: new TypeError(), json: { ...item, wait: "many", outcome: 7 } });
  };
}

function isTask(item: Task | Thread | undefined): item is Task {
  return item !== undefined && "message" in item;
}

/** The operations have the faults of a plan, by their number; all others go well. */
export function plannedFaults(plan: readonly (readonly [nth: number, fault: Fault])[]) {
  const faultsByNumber = new Map(plan);
  let count = 0;
  return (): MaybeFault => faultsByNumber.get(count++);
}

/** A worker that died does nothing more. */
export type WorkerProcess = { isAlive: boolean };
/** How a party says that it did not do it, and how it looks when nobody knows. */
export type PartyErrors = { refused: () => Error; unknown: () => Error };

export type Operate = <T>(request: {
  process: WorkerProcess;
  operation: Operation;
  errors: PartyErrors;
  effect: () => T | Promise<T>;
}) => Promise<T>;

const lateMs = 45_000;

/** `operate` applies the fault of each operation. `applyLate` does what was to come late: all of it, or what is due. */
export function createFaults({ fault, now }: { fault: FaultOf; now: () => number }): {
  operate: Operate;
  applyLate(all: boolean): void;
} {
  const lateEffects: { atMs: number; apply: () => void }[] = [];

  const operate: Operate = async ({ process, operation, errors, effect }) => {
    const die = () => {
      process.isAlive = false;
      return new Error("this worker is dead");
    };
    if (!process.isAlive) throw die();
    switch (await fault(operation)) {
      case "refused":
        throw errors.refused();
      case "lost":
        throw errors.unknown();
      case "answer_lost":
        await effect();
        throw errors.unknown();
      case "slow":
        lateEffects.push({ atMs: now() + lateMs, apply: () => void attempt(effect) });
        throw errors.unknown();
      case "dies_before":
        throw die();
      case "dies_after":
        await effect();
        throw die();
      default:
        return effect();
    }
  };

  return {
    operate,
    applyLate(all) {
      for (const late of lateEffects.splice(0)) {
        if (all || late.atMs <= now()) late.apply();
        else lateEffects.push(late);
      }
    },
  };
}

async function attempt(effect: () => unknown): Promise<void> {
  try {
    await effect();
  } catch {
    // A late edit of a message that is gone: Slack refuses it, and nobody hears of it.
  }
}
