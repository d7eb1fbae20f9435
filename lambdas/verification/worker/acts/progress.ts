/** Acts that show that the task is at work: the placeholder and its progress. */
import type { SlackApi } from "../../slack/api/slack.ts";
import type { TaskText } from "../../slack/messages/task-text.ts";
import { installationOf, type Task, threadRefOf } from "../../task/task.ts";
import { type Indicators, markReceived } from "../indicators.ts";
import { readOwnPostsOrRecorded } from "../own-posts.ts";
import { showProgress } from "../show-progress.ts";
import { createSlackPace } from "../slack-pace.ts";
import type { ActFamily, ActParts } from "./parts.ts";

export function createProgressActs(parts: ActParts): ActFamily<"announce" | "show_progress"> {
  const { slack, text, indicators, streaming, now } = parts;
  const pace = createSlackPace({ now });
  return {
    async announce({ act: { reconcile }, task, signal }) {
      const ts = await announceTask({ slack, task, text, indicators, signal, reconcile });
      return { event: { type: "announced", ts, nowMs: now() } };
    },
    async show_progress({ task, signal }) {
      const request = { slack, task, text, indicators, signal };
      const progress = await showProgress({ ...request, streaming, now, pace });
      return { event: { type: "progress_shown", shown: progress, nowMs: now() } };
    },
  };
}

/**
 * Posts the placeholder in the thread and adds a reaction to the message. Resolves to the placeholder's `ts`. With `reconcile` it first
 * looks for a placeholder that an earlier try posted.
 */
export async function announceTask(request: {
  slack: SlackApi;
  task: Task;
  reconcile: boolean;
  text: TaskText;
  indicators: Indicators;
  signal: AbortSignal;
}): Promise<string> {
  const { slack, task, reconcile, text, signal } = request;
  if (reconcile) {
    const [earlierPost] = (await readOwnPostsOrRecorded(request)).filter(
      ({ kind }) => kind === "placeholder",
    );
    if (earlierPost !== undefined) return earlierPost.ts;
  }
  const key = { requestId: task.id, kind: "placeholder", index: 0 } as const;
  const target = { installation: installationOf(task), ...threadRefOf(task) };
  const message = await slack.post({ ...target, content: text.placeholder(task), key, signal });
  await markReceived(request);
  return message.ts;
}
