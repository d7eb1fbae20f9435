/** What the task machine asks for, done: each act talks to one party and comes back as one event. */
import { FileRefused, type Files } from "../files/files.ts";
import type { Gate } from "../gate/gate.ts";
import { type SlackApi, SlackError } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import type { TaskEffect, TaskEvent } from "../task/events.ts";
import { installationOf, placeOf, type Task } from "../task/task.ts";
import type { UsageHistory } from "../usage-history/usage-history.ts";
import { announce } from "./announce.ts";
import { askQuestion, showQuestion } from "./ask-question.ts";
import { readAskedText } from "./asked-again.ts";
import { type Call, createCalls, type WorkerDestination } from "./calls.ts";
import { deliver, sweep } from "./deliver.ts";
import { openThread } from "./open-thread.ts";
import { prepare } from "./prepare.ts";
import { causeKindOf, isDataFailure } from "./pure-step.ts";
import type { Questions } from "./questions.ts";
import type { Decor } from "./react.ts";
import { showProgress } from "./show-progress.ts";
import type { Threads } from "./threads.ts";

export type Act = Exclude<TaskEffect, { type: "wake" | "stop_session" }>;
type ActRequest = { act: Act; task: Task; signal: AbortSignal };

/** Rejects where store, queue or gate are away; then the message comes again. */
export type RunAct = {
  (request: ActRequest): Promise<TaskEvent>;
  /** Best effort: a session that is not stopped ends by itself. */
  stopSession(request: { task: Task; signal: AbortSignal }): Promise<void>;
};

export type ActOptions = {
  slack: SlackApi;
  gate: Gate;
  files: Files;
  text: TaskText;
  threads: Threads;
  usageHistory: UsageHistory;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  questions: Questions;
  decor: Decor;
  /** Show an answer as it is written in a native stream of Slack. */
  streaming: boolean;
  destinations: ReadonlyMap<string, WorkerDestination>;
  newId: () => string;
  now?: () => number;
};

export function createRunAct({ now = Date.now, ...options }: ActOptions): RunAct {
  const { slack, gate, files, text, threads, usageHistory, taskOf, questions, decor, streaming, destinations, newId } =
    options;
  const calls = createCalls({ destinations, newId, now });

  async function perform({ act, task, signal }: ActRequest): Promise<TaskEvent> {
    if (isCall(act)) return calls.run({ act, task, signal });
    const request = { slack, task, text, decor, signal };
    switch (act.type) {
      case "permit":
        return {
          type: "permitted",
          ...(await gate.permit({ message: task.message, requestId: task.id, signal })),
          nowMs: now(),
        };
      case "give_answer":
        return questions.giveFromThread({ task, heal: act.heal, signal });
      case "charge":
        return { type: "charged", over: await charge({ task, untilMs: act.untilMs, signal }) };
      case "open_thread":
        return {
          type: "thread_opened",
          place: await openThread({ ...request, privately: act.privately, heal: act.heal }),
        };
      case "line_up": {
        const place = await threads.lineUp({ task, turnMs: act.turnMs, parallel: act.parallel });
        return place === undefined ? { type: "thread_full" } : { type: "lined_up", nowMs: now(), ...place };
      }
      case "leave_thread":
        await gate.release({ task });
        await threads.leave({ task });
        await usageHistory.note({ task });
        return { type: "left_thread" };
      case "cancel_thread":
        return { type: "thread_canceled", count: await cancelThread({ task, signal }) };
      case "read_message":
        return { type: "message_read", nowMs: now(), text: await readAskedText(request) };
      case "announce":
        return { type: "announced", ts: await announce({ ...request, heal: act.heal }), nowMs: now() };
      case "prepare":
        return { type: "prepared", context: await prepare({ ...request, files }) };
      case "show_progress":
        return { type: "progress_shown", shown: await showProgress({ ...request, streaming, now }), nowMs: now() };
      case "hold_thread":
        await threads.hold({ task, untilMs: act.untilMs });
        return { type: "thread_held" };
      case "ask_question":
        return {
          type: "question_asked",
          ts: await askQuestion({ ...request, heal: act.heal, nowMs: now() }),
          nowMs: now(),
        };
      case "show_question":
        await showQuestion({ ...request, nowMs: now() });
        return { type: "question_shown", nowMs: now() };
      case "upload":
        return { type: "uploaded", index: act.index, ...(await files.upload({ task, index: act.index, signal })) };
      case "deliver":
        return { type: await deliver({ ...request, heal: act.heal, nowMs: now() }) };
      case "sweep":
        await sweep({ ...request, nowMs: now() });
        return { type: "swept" };
    }
  }

  async function charge({ task, untilMs, signal }: { task: Task; untilMs: number; signal: AbortSignal }) {
    const over = await gate.charge({ task, untilMs });
    if (over === undefined || !task.message.unaddressed) return over;
    const [{ text: words } = { text: "" }] = text.parts({ ...task, outcome: { type: "limited", ...over } });
    const { user } = task.message;
    const call = { installation: installationOf(task), ...placeOf(task), requestId: task.id, signal };
    await slack.whisper({ ...call, user, text: words }).catch(() => {});
    return over;
  }

  /** Whoever may ask may not therefore end what others have asked for. */
  function cancelThread({ task, signal }: { task: Task; signal: AbortSignal }): Promise<number> {
    const { user } = task.message;
    const mayCancel = async (id: string) => {
      const other = await taskOf(id);
      return other !== undefined && gate.mayCancel({ task: other, user, signal });
    };
    return threads.cancelAll({ task, mayCancel });
  }

  const runAct = async (request: ActRequest): Promise<TaskEvent> => {
    try {
      return await perform(request);
    } catch (thrown) {
      if (thrown instanceof SlackError) {
        return { type: "slack_failed", nowMs: now(), kind: thrown.kind, retryAfterMs: thrown.retryAfterMs };
      }
      if (isDataFailure(thrown)) return { type: "step_failed", nowMs: now(), causeKind: causeKindOf(thrown) };
      if (!(thrown instanceof FileRefused)) throw thrown;
      const { act } = request;
      if (act.type === "upload") return { type: "uploaded", index: act.index, fileId: undefined };
      return { type: "file_refused", outcome: thrown.outcome };
    }
  };
  return Object.assign(runAct, { stopSession: calls.stopSession });
}

function isCall(act: Act): act is Call {
  return act.type === "send" || act.type === "poll" || act.type === "answer" || act.type === "cancel";
}
