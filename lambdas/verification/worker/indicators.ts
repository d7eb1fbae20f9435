/**
 * What shows that a task is under way, beside the messages: reactions, a status in the thread, and the thread's session. They are best
 * effort: a failure is ignored, and no call takes long, because the answer must not wait for them.
 */
import type { SessionStatus, SlackApi } from "../slack/api/slack.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { installationOf, isCanceled, type Task, threadRefOf } from "../task/task.ts";

export type Indicators = {
  /** The names of the emoji. */
  reactions: { received: string; done: string; failed: string } | undefined;
  /** True if a thread shows what the bot does, such as "is working on it". */
  status: boolean;
  /** True if the app is declared as an agent, whose threads have sessions. */
  sessions: boolean;
};

type Request = {
  slack: SlackApi;
  task: Task;
  text: TaskText;
  indicators: Indicators;
  signal: AbortSignal;
};
type Call = {
  installation: ReturnType<typeof installationOf>;
  requestId: string;
  signal: AbortSignal;
};

/** Far more than Slack usually takes. */
const timeoutMs = 3000;

export async function markReceived(request: Request): Promise<void> {
  const { task, indicators } = request;
  const { reactions } = indicators;
  await Promise.all([
    reactions && react(request, reactions.received, true),
    // The failure of the first try.
    reactions && task.retryOf !== undefined && react(request, reactions.failed, false),
    beginSession(request),
  ]);
}

/** Slack drops a status after two minutes without a message of the bot. */
const renewAfterMs = 90_000;

/**
 * Called at each poll. The first one sets the status: a task that is answered at once has a placeholder, which says as much. Later ones
 * renew it, so that a long task keeps it.
 */
export async function renewStatus(request: Request & { nowMs: number }): Promise<void> {
  const { task, text, nowMs } = request;
  const { placeholder, cancelReason, wait } = task;
  if (placeholder === undefined || cancelReason !== undefined) return;
  const isFirst = (wait?.polls ?? 0) <= 1;
  if (isFirst || nowMs - placeholder.postedAtMs >= renewAfterMs)
    await setStatus(request, text.status(task));
}

/** False until the first poll. A worker that dies after it has set the status is followed by one that polls too. */
function hasStatus({ wait }: Task): boolean {
  return (wait?.polls ?? 0) > 0;
}

/** A person has to do something before the task goes on. */
export async function markAsking(request: Request): Promise<void> {
  const { task } = request;
  await Promise.all([
    hasStatus(task) && setStatus(request, ""),
    setSession(request, { status: "suspended" }),
  ]);
}

export async function markWorking(request: Request): Promise<void> {
  await setSession(request, { status: "processing" });
}

export async function markOver(request: Request): Promise<void> {
  await Promise.all([hasStatus(request.task) && setStatus(request, ""), markOutcome(request)]);
}

async function markOutcome(request: Request): Promise<void> {
  const { indicators, task } = request;
  if (indicators.reactions === undefined) return;
  const { received, done, failed } = indicators.reactions;
  await react(request, received, false);
  const { outcome } = task;
  if (outcome?.type === "answer") await react(request, done, true);
  else if (outcome?.type !== "canceling" && !isCanceled(task)) await react(request, failed, true);
}

/** No task of the thread is under way any more. A worker may have died after it began the session and before it recorded anything. */
export async function settleSession(request: Request): Promise<void> {
  const { outcome } = request.task;
  const isNeverBegun =
    outcome !== undefined && ["refused", "limited", "help"].includes(outcome.type);
  if (!isNeverBegun) await setSession(request, { status: "active" });
}

/** Adds a reaction to a message that was accepted as the reply to a question. */
export async function markReplyTaken(request: Omit<Request, "text">): Promise<void> {
  if (request.indicators.reactions !== undefined)
    await react(request, request.indicators.reactions.done, true);
}

async function react(
  { slack, task, signal }: Omit<Request, "text">,
  name: string,
  present: boolean,
): Promise<void> {
  const { channel, about, command } = task.message;
  // A slash command leaves no message to react to.
  if (command) return;
  const { ts } = about ?? task.message;
  await attempt({ task, signal }, (call) => slack.react({ ...call, channel, ts, name, present }));
}

async function setStatus(
  { slack, task, indicators, signal }: Request,
  status: string,
): Promise<void> {
  if (!indicators.status) return;
  await attempt({ task, signal }, (call) =>
    slack.setStatus({ ...call, ...threadRefOf(task), status }),
  );
}

/** The thread's first message names the session. A session that Slack has begun by itself is renamed. */
async function beginSession(request: Request): Promise<void> {
  const { slack, task, text, signal } = request;
  const { threadTs, command } = task.message;
  const title = threadTs === undefined || command ? text.sessionTitle(task) : undefined;
  const session = await setSession(request, { status: "processing", title });
  if (
    session === undefined ||
    title === undefined ||
    session.title === undefined ||
    session.title === title
  )
    return;
  await attempt({ task, signal }, (call) =>
    slack.renameSession({ ...call, ...threadRefOf(task), title }),
  );
}

async function setSession(
  { slack, task, indicators, signal }: Request,
  session: { status: SessionStatus; title?: string | undefined },
): Promise<{ title: string | undefined } | undefined> {
  if (!indicators.sessions) return undefined;
  const { user } = task.message;
  return attempt({ task, signal }, (call) =>
    slack.setSession({ ...call, ...threadRefOf(task), ...session, user }),
  );
}

/** Resolves to undefined if the call fails. */
async function attempt<T>(
  { task, signal }: Pick<Request, "task" | "signal">,
  change: (call: Call) => Promise<T>,
): Promise<T | undefined> {
  const limitedSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const call = { installation: installationOf(task), requestId: task.id, signal: limitedSignal };
  return change(call).catch(() => undefined);
}
