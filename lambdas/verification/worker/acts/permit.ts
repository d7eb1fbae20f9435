/** Acts that decide whether a message is accepted: the permission, the quota, the help and the refusal. */
import { actorOf } from "../../gate/border.ts";
import type { MessageContent, SlackApi } from "../../slack/api/slack.ts";
import { helpText } from "../../slack/messages/help.ts";
import type { TaskText } from "../../slack/messages/task-text.ts";
import { installationOf, type Task, type TaskOutcome, threadRefOf } from "../../task/task.ts";
import { isSlackError } from "../own-posts.ts";
import type { Notify } from "../questions.ts";
import type { ActFamily, ActParts } from "./parts.ts";

export function createPermitActs({
  slack,
  gate,
  notify,
  text,
  readOverview,
  now,
}: ActParts): ActFamily<"permit" | "refuse" | "charge" | "write_help"> {
  return {
    async permit({ task, signal }) {
      const permission = await gate.permit({ message: task.message, requestId: task.id, signal });
      return { event: { type: "permitted", ...permission, nowMs: now() } };
    },
    async refuse({ task, signal }) {
      await postRefusalOnce({ slack, notify, task, text, signal });
      return { event: { type: "refusal_shown" } };
    },
    async charge({ act, task }) {
      return {
        event: { type: "charged", over: await gate.charge({ task, untilMs: act.untilMs }) },
      };
    },
    async write_help({ task, signal }) {
      const actor = actorOf(task.message);
      const person = { installation: installationOf(task), requestId: task.id, signal };
      const [overview, locale] = await Promise.all([
        readOverview({ ...person, actor }),
        gate.localeOf({ ...person, user: actor.user }),
      ]);
      return { event: { type: "help_written", text: helpText({ overview, locale }) } };
    },
  };
}

type RefuseRequest = {
  slack: SlackApi;
  notify: Notify;
  task: Task;
  text: TaskText;
  signal: AbortSignal;
};

/** Tells the writer of a refused message the reason. */
export async function postRefusalOnce({
  slack,
  notify,
  task,
  text,
  signal,
}: RefuseRequest): Promise<void> {
  const { threadTs } = task.message;
  const actor = actorOf(task.message);
  const [content] = text.parts(task);
  if (content === undefined || task.outcome === undefined) return;
  const post = (deadline: AbortSignal) => postRefusal(slack, task, content, deadline);
  await notify({ task, actor, kind: kindOf(task.outcome), threadTs, signal, post });
}

async function postRefusal(
  slack: SlackApi,
  task: Task,
  content: MessageContent,
  signal: AbortSignal,
): Promise<void> {
  const { user, channel, direct, threadTs, command, unaddressed } = task.message;
  const installation = installationOf(task);
  const call = { installation, requestId: task.id, signal };
  const key = { requestId: task.id, kind: "answer", index: 0 } as const;
  const post = (target: { channel: string; threadTs: string | undefined }) =>
    slack.post({ installation, content, key, signal, ...target });
  if (direct) {
    await post({ channel, threadTs: command ? undefined : threadRefOf(task).threadTs });
    return;
  }
  try {
    // Slack does not show an ephemeral message in a thread that has no reply yet.
    await slack.postEphemeral({ ...call, channel, threadTs, user, text: content.text });
  } catch (error) {
    // The bot or the person is not in the channel.
    if (unaddressed || !isSlackError(error, ["gone", "refused"])) throw error;
    await post({ ...(await slack.openDirect({ ...call, user })), threadTs: undefined });
  }
}

/** Each kind of refusal is shown once within the window of `gate/refusals.ts`. */
function kindOf(outcome: TaskOutcome): string {
  if (outcome.type === "failed") return outcome.reason;
  if (outcome.type !== "limited") return outcome.type;
  return `limited_by_${outcome.by}${outcome.retryAtMs === undefined ? "_at_once" : ""}`;
}
