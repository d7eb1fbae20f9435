/** The people of a load run: which messages they post in which threads, and how the events are delivered. */

import { createEventPayload } from "@sekisho/local/fake-slack/payloads.ts";
import { type Delivery, sendEvent } from "@sekisho/local/signed-events.ts";
import { type LoadSlack, retryDelaysMs } from "./slack.ts";

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

const underWay = 16;

/**
 * Posts all tasks, each thread when `mayAsk` resolves. The next message of a thread is posted when the event before it was accepted.
 * Resolves to the number of events that were delivered twice. Rejects if `mayAsk` does, or if an event was never accepted.
 */
export async function askAll({
  threads,
  slack,
  eventsUrl,
  repeating,
  random,
  mayAsk,
  onAsked,
}: {
  threads: readonly PlannedThread[];
  slack: LoadSlack;
  eventsUrl: string;
  /** The share of events that Slack delivers again, under another event id. */
  repeating: number;
  random: () => number;
  mayAsk: () => Promise<void>;
  onAsked: (task: AskedTask) => void;
}): Promise<number> {
  let repeated = 0;

  async function ask(task: PlannedTask, threadTs: string | undefined): Promise<AskedTask> {
    const post = slack.ask({ eventsUrl, text: textOf(task), threadTs });
    const { message, requestId } = post;
    const askedTask = { ...task, ts: message.ts, threadTs: threadTs ?? message.ts, requestId };
    onAsked(askedTask);
    await acknowledged(post.delivered);
    if (random() < repeating) {
      repeated += 1;
      const payload = createEventPayload({ event: "message", message });
      const { signingSecret } = slack.secrets;
      await acknowledged(sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs }));
    }
    return askedTask;
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

async function acknowledged(delivery: Promise<Delivery>): Promise<void> {
  const { status } = await delivery;
  if (status !== 200) throw new Error(`An event was answered with ${status ?? "nothing"}.`);
}
