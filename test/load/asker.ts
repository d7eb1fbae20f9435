import { requestIdOf } from "../../lambdas/verification/task/routing.ts";
import type { FakeSlackMessages } from "../../lib/local/fake-slack/messages.ts";
import { createEventPayload } from "../../lib/local/fake-slack/payloads.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { sendEvent } from "../../lib/local/signed-events.ts";
import { type PlannedTask, type PlannedThread, textOf } from "./plan.ts";

/** One message as it was posted. `threadTs` is that of the first message of its thread. */
export type AskedTask = PlannedTask & { requestId: string; ts: string; threadTs: string };

const channel = workspace.channel.id;
const underWay = 16;
/** Slack's own pauses between redeliveries are too long to be waited for. */
const retryDelaysMs = [0, 200, 1000, 5000];

/**
 * Asks for all tasks, each thread when `mayAsk` resolves. The next message of a thread is posted when the event of the one
 * before it was taken. Resolves to how many events were delivered twice. Rejects where `mayAsk` does, and where an event
 * was not taken in the end.
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
  /** The share of events that Slack delivers once more, under another event id. */
  repeating: number;
  random: () => number;
  mayAsk: () => Promise<void>;
  onAsked: (asked: AskedTask) => void;
}): Promise<number> {
  let repeated = 0;

  async function ask(task: PlannedTask, threadTs: string | undefined): Promise<AskedTask> {
    const text = `<@${workspace.botUser}> ${textOf(task)}`;
    const message = messages.add({ channel, threadTs, user: workspace.person, text, metadata: undefined });
    const { ts } = message;
    const asked = {
      ...task,
      ts,
      threadTs: threadTs ?? ts,
      requestId: requestIdOf({ appId: workspace.app, channel, ts }),
    };
    onAsked(asked);
    const deliver = async (payload: unknown) => {
      const { status } = await sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs });
      if (status !== 200) throw new Error(`An event was answered with ${status ?? "nothing"}.`);
    };
    await deliver(createEventPayload({ event: "app_mention", message }));
    if (random() < repeating) {
      repeated += 1;
      await deliver(createEventPayload({ event: "message", message }));
    }
    return asked;
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
