/** The step of a task as a value: what each phase takes and returns. No phase changes it; each returns the next one. */

import type { ItemWrite, ItemWriter, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Act, TaskEffect, TaskEvent } from "../../task/events.ts";
import type { Policy } from "../../task/routing.ts";
import type { Task } from "../../task/task.ts";
import type { Transition } from "../../task/transition.ts";
import type { ClaimedTask } from "./lease.ts";
import type { QueueSystem } from "./spans.ts";

/** One event of a step and its result, for the local page. */
export type Observation = {
  requestId: string;
  event: TaskEvent;
  task: Task;
  effects: TaskEffect[];
};

export type ActRequest<A extends Act = Act> = {
  act: A;
  task: Task;
  signal: AbortSignal;
  /** The step stores the writes that the act returns. Otherwise the act does them itself, and returns none. */
  storesWrites?: boolean;
};

/** `writes` are stored with the task's record, so that one call does them all. If a condition of theirs fails, the act is repeated. */
export type ActResult = { event: TaskEvent; writes?: readonly ItemWrite[] };

/** Rejects if the store, the queue or the gate is unavailable. The message is then delivered again. */
export type RunAct = (request: ActRequest) => Promise<ActResult>;

/** Best effort, because a session that is not stopped ends by itself. */
export type StopSession = (request: { task: Task; signal: AbortSignal }) => Promise<void>;

export type StepOptions = {
  store: TaskStore<Task> & ItemWriter;
  queue: TaskQueue;
  policy: Policy;
  /** Without it the step runs no acts, but leaves them to the next wake-up. */
  runAct?: RunAct;
  stopSession?: StopSession;
  /** Always shorter than the queue's visibility timeout. An act's signal aborts after nine tenths of it. */
  leaseMs: number;
  log: Log;
  telemetry?: Telemetry;
  /** For spans. */
  queueSystem?: QueueSystem | undefined;
  newId: () => string;
  now?: () => number;
  random?: () => number;
  observe?: (observation: Observation) => void;
};

export type StepRequest = {
  /** The task as it was read, or as it was created. */
  task: Task;
  /** The record that this worker has created. The step needs no claim then. */
  record?: ClaimedTask | undefined;
  event: TaskEvent;
  seq: number;
  /** True if the step may begin with an act that only reads, before it claims the lease. */
  mayLook?: boolean;
  nowMs: number;
  signal: AbortSignal | undefined;
};

/** The task machine's transition, the event that caused it, and the task before that. */
export type Move = Transition & { event: TaskEvent; previousTask: Task };

export type Step = Move & {
  request: StepRequest;
  /** The record as this worker wrote it last. Undefined until the lease is claimed. */
  record: ClaimedTask | undefined;
  /** The act whose writes are still to be stored. */
  unstoredAct?: Unstored | undefined;
  /**
   * Reports of moves without a lease. Another worker may have made the same moves, so they are published once a write under the revision
   * that was read has succeeded.
   */
  pendingReports: readonly Report[];
  /** The number of wake-ups without a delay that this step has handled, besides its own queue message. */
  followCount: number;
};

type Unstored = { request: ActRequest; writes: readonly ItemWrite[] };

/** `operation` is the step's last act, for the log line of an answer that cannot be delivered. */
export type Report = Move & { operation: string };

/**
 * `saved`: the record is stored. `sent_again`: the record has not changed, and the wake-up was sent again with the number of polls.
 * `lost`: the lease had ended, and another worker goes on. `unclaimed`: another worker was first, and this one has done nothing.
 */
export type StepResult = "saved" | "sent_again" | "lost" | "unclaimed";
