/** What follows when our own code fails on a task's data. Every try would fail again, so the task ends in words. */
import * as z from "zod";
import { conclude, failed, forget, giveUpDelivery, type Step } from "./step.ts";
import { receivedTask, type Task, taskSchema } from "./task.ts";

const internal = failed({ reason: "internal", lost: false });

/**
 * An outcome that cannot be shown is replaced by words of ours, which depend on no data. Where even those fail, the delivery is
 * given up. Like a dead letter, a task that may be at work is canceled at its host.
 */
export function stepFailed(task: Task): Step {
  const { state, outcome, message, ahead } = task;
  // Whether a message that does not mention the bot is for it is not known before it has its place in the thread.
  if (state === "received" && message.unaddressed && ahead === undefined) return giveUpDelivery(task);
  if (state === "done") return { task: forget(task), effects: [] };
  if (state === "delivering") {
    if (outcome?.type === "failed" && outcome.insteadOfAnswer) return giveUpDelivery(task);
    const { task: concluded, effects } = conclude(task, { ...internal, insteadOfAnswer: true });
    // Parts of the outcome may be there.
    return { task: { ...concluded, attempts: 1 }, effects };
  }
  const mayRun = state === "sent" || state === "waiting" || state === "asking";
  const { task: concluded, effects } = conclude(task, internal);
  // What was posted before is looked for.
  return { task: { ...concluded, attempts: 1 }, effects: mayRun ? [{ type: "cancel" }] : effects };
}

const { shape } = taskSchema;

/** Without these nobody knows where the words would go, or whether they are there. */
const coreSchema = taskSchema.pick({
  id: true,
  revision: true,
  expiresAtMs: true,
  wakeSeq: true,
  receivedAtMs: true,
  trace: true,
  message: true,
});

/** What helps to end it, as far as it can be read. */
const restSchema = z.object({
  state: shape.state.catch("received"),
  lease: shape.lease.catch(undefined),
  retryOf: shape.retryOf.catch(undefined),
  destination: shape.destination.catch(undefined),
  sessionId: shape.sessionId.catch(undefined),
  taskId: shape.taskId.catch(undefined),
  locale: shape.locale.catch(undefined),
  place: shape.place.catch(undefined),
  placeholderTs: shape.placeholderTs.catch(undefined),
  announcedAtMs: shape.announcedAtMs.catch(undefined),
  stream: shape.stream.catch(undefined),
  swept: shape.swept.catch(false),
});

/** As much of a record as can still be read, to end its task with. Undefined where nobody could be told. */
export function salvageTask(json: unknown): Task | undefined {
  const core = coreSchema.safeParse(json).data;
  const rest = restSchema.safeParse(json).data;
  if (core === undefined || rest === undefined) return undefined;
  const { id: requestId, receivedAtMs, trace, message } = core;
  const known = Object.fromEntries(Object.entries(rest).filter(([, member]) => member !== undefined));
  return { ...receivedTask({ type: "ask", requestId, receivedAtMs, trace, message }), ...known, ...core };
}
