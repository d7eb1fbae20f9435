/** How an answer of a person gets into the record of the task that asked: by compare-and-set, so that the first one counts. */
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import { isSaidAfter, type NotTaken, takeAnswer } from "../task/asking.ts";
import type { TaskEvent } from "../task/events.ts";
import { type GivenAnswer, installationOf, placeOf, queueGroupOf, type Task } from "../task/task.ts";
import { type Decor, markTaken } from "./react.ts";
import type { Threads } from "./threads.ts";

type Given = Omit<GivenAnswer, "callId">;
export type Verdict =
  | { type: "taken" }
  | { type: "not_yours" }
  | { type: "says_nothing" }
  /** A worker acts on the task. */
  | { type: "held" }
  | NotTaken;

/** What meets a worker that acts comes again soon, and later each time, in case that worker has died. */
export function heldDelayMs(sinceMs: number): number {
  return Math.min(15_000, Math.max(500, sinceMs));
}

export type Questions = {
  /**
   * `index`: of the question that is meant, by whoever pressed its button; `saidTs`: of the message that may be the answer.
   * `held`: a worker acts on the task; to be tried again soon.
   */
  give(request: {
    requestId: string;
    index?: number;
    saidTs?: string;
    answer: Given;
    signal: AbortSignal;
  }): Promise<Verdict>;
  /** Whether the message is the answer that its thread waits for. `heal`: an earlier try may have given it. */
  giveFromThread(request: { task: Task; heal: boolean; signal: AbortSignal }): Promise<TaskEvent>;
};

/** So many workers at once never meet over one question. */
const maxAttempts = 20;

export function createQuestions({
  store,
  taskOf,
  queue,
  threads,
  gate,
  slack,
  text,
  decor,
  newId,
  now,
}: {
  store: Pick<TaskStore<Task>, "replace">;
  /** By request id; undefined also where the record cannot be read. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  queue: TaskQueue;
  threads: Threads;
  gate: Gate;
  slack: SlackApi;
  text: TaskText;
  decor: Decor;
  newId: () => string;
  now: () => number;
}): Questions {
  async function give(request: Parameters<Questions["give"]>[0]): Promise<Verdict> {
    const { requestId, index, saidTs, answer, signal } = request;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const task = await taskOf(requestId);
      if (task === undefined) return { type: "over" };
      if (isRepeated({ task, index, answer })) return { type: "taken" };
      // Until it is known when the question came into the thread, nobody knows what was said to it.
      const isComing = saidTs !== undefined && isOpen(task) && task.question?.ts === undefined;
      if (isComing) return { type: "held" };
      // Whoever wrote it had not seen the question.
      if (saidTs !== undefined && task.question && !isSaidAfter(task.question, saidTs)) return { type: "past" };
      const nowMs = now();
      const taken = takeAnswer({
        task,
        ...(index === undefined ? {} : { index }),
        answer: { ...answer, callId: newId() },
        nowMs,
      });
      if ("notTaken" in taken) return taken.notTaken;
      if (answer.option === undefined && !answer.text) return { type: "says_nothing" };
      if (!(await gate.mayAnswer({ task, user: answer.user, signal }))) return { type: "not_yours" };
      if (task.lease !== undefined && task.lease.untilMs > nowMs) return { type: "held" };
      // As in a step of the task itself: the wake-up first, so that no answer is in a record that nobody looks at.
      const seq = task.wakeSeq + 1;
      await queue.send({ body: JSON.stringify({ type: "wake", requestId, seq }), group: queueGroupOf(task) });
      const { lease: _lapsed, ...rest } = taken.task;
      if ((await store.replace({ item: { ...rest, wakeSeq: seq } })) !== undefined) return { type: "taken" };
    }
    return { type: "held" };
  }

  async function giveFromThread({
    task,
    heal,
    signal,
  }: Parameters<Questions["giveFromThread"]>[0]): Promise<TaskEvent> {
    const { message, id: from } = task;
    const answer: Given = { user: message.user, atMs: now(), text: message.text, from };
    const told = (verdict: Extract<TaskEvent, { type: "answer_given" }>["verdict"]): TaskEvent => ({
      type: "answer_given",
      nowMs: now(),
      verdict,
    });
    let isOthers = false;
    const asking = await threads.asking({ task });
    for (const requestId of heal ? [...asking.before, ...asking.now] : asking.now) {
      const given = await give({ requestId, saidTs: message.ts, answer, signal });
      if (given.type === "held") return { type: "busy", delayMs: heldDelayMs(now() - task.receivedAtMs) };
      const isMeant = given.type === "taken" || given.type === "says_nothing";
      if (isMeant && message.files !== undefined) await tellOfFiles({ task, signal });
      if (given.type === "says_nothing") return told("says_nothing");
      isOthers ||= given.type === "not_yours";
      if (given.type !== "taken") continue;
      await markTaken({ slack, task, decor, signal });
      return told("taken");
    }
    return told(isOthers ? "not_yours" : "none");
  }

  /** Best effort, and seen by that person alone. */
  async function tellOfFiles({ task, signal }: { task: Task; signal: AbortSignal }): Promise<void> {
    const words = text.pressRefused({ refusal: { type: "files_left" }, locale: task.locale });
    const call = { installation: installationOf(task), ...placeOf(task), requestId: task.id, signal };
    await slack.whisper({ ...call, user: task.message.user, text: words }).catch(() => {});
  }

  return { give, giveFromThread };
}

function isOpen({ state, question, ending }: Task): boolean {
  return state === "asking" && question !== undefined && question.answer === undefined && ending === undefined;
}

/** The same message or press once more: the queue delivers at least once, and a message is no answer to the next question. */
function isRepeated({ task, index, answer }: { task: Task; index: number | undefined; answer: Given }): boolean {
  if (answer.from !== undefined) return task.answeredBy?.includes(answer.from) === true;
  const given = task.question?.answer;
  if (given === undefined || index !== task.question?.index) return false;
  return given.user === answer.user && given.atMs === answer.atMs && given.option === answer.option;
}
