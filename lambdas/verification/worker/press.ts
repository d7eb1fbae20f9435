/** A button was pressed: the wish to cancel, or the answer to a question. Whoever may not, or comes too late, is told. */
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { traceIdOf } from "../../shared/trace.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { PressRefusal, TaskText } from "../slack/task-text.ts";
import type { Press } from "../task/messages.ts";
import { installationOf, placeOf, queueGroupOf, type Task } from "../task/task.ts";
import { heldDelayMs, type Questions } from "./questions.ts";

export type HandlePress = (request: { press: Press; signal: AbortSignal }) => Promise<void>;

/** Rejects where store, queue or gate are away, and may then be repeated. */
export function createHandlePress({
  store,
  queue,
  gate,
  questions,
  slack,
  text,
  log,
  now,
}: {
  store: TaskStore<Task>;
  queue: TaskQueue;
  gate: Gate;
  questions: Questions;
  slack: SlackApi;
  text: TaskText;
  log: Log;
  now: () => number;
}): HandlePress {
  async function cancel({ press, task, signal }: Pressed): Promise<PressRefusal | undefined> {
    if (!(await gate.mayCancel({ task, user: press.user, signal }))) return { type: "not_yours" };
    if (task.outcome !== undefined || task.state === "done") return { type: "over" };
    const body = JSON.stringify({ type: "cancel", requestId: task.id });
    await queue.send({ body, group: queueGroupOf(task) });
    return undefined;
  }

  async function answer({ press, task, signal }: Pressed): Promise<PressRefusal | undefined> {
    if (press.button.type !== "answer") return undefined;
    const { question: index, option } = press.button;
    // Of a question that is over the options are forgotten, but not who answered it.
    const { question: asked } = task;
    const isOffered = asked?.index !== index || asked.answer !== undefined || option < asked.options.length;
    if (!isOffered) return { type: "over" };
    const given = { user: press.user, atMs: press.atMs, option };
    const verdict = await questions.give({ requestId: task.id, index, answer: given, signal });
    switch (verdict.type) {
      case "taken":
        return undefined;
      case "held":
        await queue.send({
          body: JSON.stringify(press),
          delayMs: heldDelayMs(now() - press.atMs),
          group: queueGroupOf(task),
        });
        return undefined;
      case "says_nothing":
        return { type: "over" };
      case "not_yours":
        return { type: "not_yours" };
      default:
        return verdict;
    }
  }

  /** Best effort, and seen by that person alone. */
  async function tell({ press, task, signal }: Pressed, refusal: PressRefusal): Promise<void> {
    const { user, channel } = press;
    const installation = installationOf(task);
    const locale = await gate.localeOf({ installation, user, requestId: task.id, signal }).catch(() => undefined);
    const words = text.pressRefused({ refusal, locale });
    const { threadTs } = placeOf(task);
    const whispered = slack.whisper({ installation, channel, threadTs, user, text: words, requestId: task.id, signal });
    await whispered.catch(() => {});
  }

  return async ({ press, signal }) => {
    const fields = { request_id: press.requestId, operation: press.button.type, user: press.user };
    const task = await store.get({ id: press.requestId });
    // What was pressed stands where the task's posts do: anything else is no button of ours.
    if (task === undefined || placeOf(task).channel !== press.channel) return log.warn("press_without_task", fields);
    const pressed = { press, task, signal };
    const refusal = press.button.type === "cancel" ? await cancel(pressed) : await answer(pressed);
    log.info("button_pressed", { ...fields, trace_id: traceIdOf(task.trace), reason: refusal?.type });
    if (refusal !== undefined) await tell(pressed, refusal);
  };
}

type Pressed = { press: Press; task: Task; signal: AbortSignal };
