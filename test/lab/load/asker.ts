/** The people of a load run: which messages they post in which threads, and how the events are delivered. */

import type { FakeSlackMessages } from "@sekisho/local/fake-slack/messages.ts";
import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { sendEvent } from "@sekisho/local/signed-events.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";

/** `number` counts from 0. The agent answers a quick task at once and holds any other (children/hold.ts). */
export type PlannedTask = { number: number; quick: boolean };

/** The messages of one thread, in the order in which they are posted. */
export type PlannedThread = PlannedTask[];

const messagesOfLongThread = 3;

/** Nine of twelve tasks have their own threads. Three share one, each posted before the task before it has ended. */
export function planThreads({
  tasks,
  longThreads,
  quickShare,
  random,
}: {
  tasks: number;
  longThreads: boolean;
  /** The share of tasks that are quick. */
  quickShare: number;
  random: () => number;
}): PlannedThread[] {
  const threads: PlannedThread[] = [];
  let number = 0;
  const take = (count: number): PlannedThread =>
    Array.from({ length: Math.min(count, tasks - number) }, () => ({
      number: number++,
      quick: random() < quickShare,
    }));
  while (number < tasks) {
    const isLong = longThreads && threads.length % 10 === 9;
    threads.push(take(isLong ? messagesOfLongThread : 1));
  }
  return threads;
}

export function textOf({ number, quick }: PlannedTask): string {
  return `task ${number} ${quick ? "quick" : "held"}`;
}

export function answerTo(text: string): string {
  return `Done: ${text}`;
}

/** A posted message. `threadTs` is the timestamp of the first message of its thread. */
export type AskedTask = PlannedTask & { requestId: string; ts: string; threadTs: string };

const channel = workspace.channel.id;
const underWay = 16;
/** Slack's own delays are too long for a run. */
const retryDelaysMs = [0, 200, 1000, 5000];

/**
 * Posts all tasks, each thread when `mayAsk` resolves. The next message of a thread is posted when the event before it was accepted.
 * Resolves to the number of events that were delivered twice. Rejects if `mayAsk` does, or if an event was never accepted.
 */
export async function askAll({
  threads,
  messages,
  eventsUrl,
  signingSecret,
  repeating,
  random,
  mayAsk,
  onAsked,
}: {
  threads: readonly PlannedThread[];
  messages: FakeSlackMessages;
  eventsUrl: string;
  signingSecret: string;
  /** The share of events that Slack delivers again, under another event id. */
  repeating: number;
  random: () => number;
  mayAsk: () => Promise<void>;
  onAsked: (askedTasks: AskedTask) => void;
}): Promise<number> {
  let repeated = 0;

  async function ask(task: PlannedTask, threadTs: string | undefined): Promise<AskedTask> {
    const text = `<@${workspace.botUser}> ${textOf(task)}`;
    const message = messages.add({
      channel,
      threadTs,
      user: workspace.person,
      text,
      metadata: undefined,
    });
    const { ts } = message;
    const askedTasks = {
      ...task,
      ts,
      threadTs: threadTs ?? ts,
      requestId: requestIdOf({ appId: workspace.app, channel, ts }),
    };
    onAsked(askedTasks);
    const deliver = async (payload: unknown) => {
      const { status } = await sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs });
      if (status !== 200) throw new Error(`An event was answered with ${status ?? "nothing"}.`);
    };
    await deliver(createEventPayload({ event: "app_mention", message }));
    if (random() < repeating) {
      repeated += 1;
      await deliver(createEventPayload({ event: "message", message }));
    }
    return askedTasks;
  }

  const waiting = threads.values();
  async function person(): Promise<void> {
    for (const thread of waiting) {
      await mayAsk();
      let threadTs: string | undefined;
      for (const task of thread) threadTs = (await ask(task, threadTs)).threadTs;
    }
  }
  await Promise.all(Array.from({ length: underWay }, person));
  return repeated;
}
