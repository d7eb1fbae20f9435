/** The tasks of the smoke test. Each is a message that a person seems to have sent, followed in the stage's table to its end. */
import { setTimeout as wait } from "node:timers/promises";
import { requestIdOf } from "../../../lambdas/verification/task/routing.ts";
import { hasFailedDelivery, type Task } from "../../../lambdas/verification/task/task.ts";
import { type Delivery, sendEvent } from "../../local/signed-events.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskPlace } from "../tasks/stored-task.ts";
import { describeOutcome } from "../tasks/text.ts";
import type { BotOfStage, SlackThread } from "./slack-thread.ts";

/**
 * The stories of a group run at once, and the groups follow each other. A stage of kind `lambda` runs two agents at once by
 * default, and `wakes` and `long` each hold one for minutes, longer than the other stories wait.
 */
export const storyGroups = [
  ["question", "file", "cancel"],
  ["wakes", "long"],
] as const;
export const stories = storyGroups.flat();
export type Story = (typeof stories)[number];

/** `what` is for a person. */
export type StoryResult = { story: Story; ok: boolean; what: string; requestId: string | undefined; polls: number };

export type StorySettings = {
  /** The task must poll more often, with one wake-up each. Lambda stops a loop after about 16 invocations, unless allowed. */
  wakes: number;
  /** How long the agent of that task takes, unless it is canceled before. */
  wakeTaskMs: number;
  longTaskMs: number;
  /** The time for each story, besides what its agent takes. */
  patienceMs: number;
  pollMs: number;
};

export type StoryDependencies = {
  place: Pick<TaskPlace, "store" | "queue">;
  slack: SlackThread;
  eventsUrl: string;
  signingSecret: string;
  channel: string;
  user: string;
  settings: StorySettings;
  /**
   * Called once per task that the entry took, so that the caller can cancel it. `isAmbiguous`: the delivery was interrupted or
   * had no clear answer, so the entry may have taken the task or not.
   */
  onBegun: (begun: { requestId: string; isAmbiguous: boolean }) => void;
  note: (text: string) => void;
  signal: AbortSignal;
};

/** The messages to the agent `echo`. */
export function storyTexts({
  wakeTaskMs,
  longTaskMs,
}: Pick<StorySettings, "wakeTaskMs" | "longTaskMs">): Record<Story, string> {
  const slow = (ms: number) => `slow ${Math.ceil(ms / 1000)}s`;
  return {
    wakes: slow(wakeTaskMs),
    long: slow(longTaskMs),
    question: "ask me",
    file: "file",
    cancel: slow(wakeTaskMs),
  };
}

/** Why a story did not end as it should. */
class StoryFailure extends Error {
  override name = "StoryFailure";
}

/** Rejects where it is interrupted, or where AWS or Slack refuses. */
export async function runStory({ story, ...dependencies }: StoryDependencies & { story: Story }): Promise<StoryResult> {
  const { settings, slack } = dependencies;
  const texts = storyTexts(settings);
  let latest: Task | undefined;
  let requestId: string | undefined;
  const polls = () => latest?.wait?.polls ?? 0;
  const result = (ok: boolean, what: string): StoryResult => ({ story, ok, what, requestId, polls: polls() });
  try {
    const { ts, bot } = await slack.post({ text: `Sekisho smoke test: ${titles[story]}` });
    requestId = requestIdOf({ appId: bot.appId, channel: dependencies.channel, ts });
    const id = requestId;
    const text = `<@${bot.botUser}> ${texts[story]}`;
    const delivery = await deliverEvent({ ...dependencies, bot, ts, text, type: "app_mention" });
    if (isAccepted(delivery) || delivery.isAmbiguous) {
      dependencies.onBegun({ requestId: id, isAmbiguous: delivery.isAmbiguous });
    }
    requireAccepted({ ...dependencies, delivery });
    const until = async (wanted: (task: Task) => boolean, what: string, moreMs = 0) => {
      latest = await followStory({ ...dependencies, story, requestId: id, wanted, what, moreMs });
      return latest;
    };
    switch (story) {
      case "wakes": {
        const { wakes, wakeTaskMs } = settings;
        const task = await until(({ wait }) => (wait?.polls ?? 0) > wakes, `more than ${wakes} wake-ups`, wakeTaskMs);
        await sendCancel({ place: dependencies.place, task });
        await until(isOver, "its end");
        return result(true, `woke itself ${polls()} times, and was canceled then`);
      }
      case "long": {
        requireAnswer(await until(isOver, "its answer", settings.longTaskMs));
        return result(true, `answered after ${settings.longTaskMs / 1000} s, with ${polls()} polls`);
      }
      case "question": {
        await until(({ state, question }) => state === "asking" && question?.ts !== undefined, "its question");
        const reply = await slack.post({ text: "Sekisho smoke test: the reply is yes.", threadTs: ts });
        const replied = { ts: reply.ts, threadTs: ts, text: "yes", type: "message" } as const;
        requireAccepted({ ...dependencies, delivery: await deliverEvent({ ...dependencies, bot, ...replied }) });
        const task = await until(isOver, "its answer");
        requireAnswer(task);
        if (task.answeredBy?.length !== 1) throw new StoryFailure("it ended without the reply");
        return result(true, "asked, was replied to, and answered");
      }
      case "file": {
        requireAnswer(await until(isOver, "its answer"));
        if (!(await slack.hasFile({ threadTs: ts }))) throw new StoryFailure("it answered without the file");
        return result(true, "answered with a file, which is in the thread");
      }
      case "cancel": {
        const task = await until(({ state, wait }) => state === "waiting" && (wait?.polls ?? 0) > 0, "its first poll");
        await sendCancel({ place: dependencies.place, task });
        const ended = await until(isOver, "its end");
        const outcome = describeOutcome(ended);
        if (outcome !== "canceled") throw new StoryFailure(`it ended otherwise: ${outcome ?? "unknown"}`);
        return result(true, "was canceled while its agent was working");
      }
    }
  } catch (thrown) {
    if (thrown instanceof StoryFailure) return result(false, thrown.message);
    throw thrown;
  }
}

const titles: Record<Story, string> = {
  wakes: "a task that wakes itself again and again",
  long: "a task that takes minutes",
  question: "a question",
  file: "a file",
  cancel: "a task that is canceled",
};

function isOver({ state }: Task): boolean {
  return state === "done";
}

function requireAnswer(task: Task): void {
  const outcome = describeOutcome(task);
  if (outcome !== "answered") throw new StoryFailure(`it ended otherwise: ${outcome ?? "unknown"}`);
  if (hasFailedDelivery(task)) throw new StoryFailure("Slack did not take its answer");
}

function isAccepted({ status }: Delivery): boolean {
  return status === 200;
}

function requireAccepted({ delivery, signal }: Pick<StoryDependencies, "signal"> & { delivery: Delivery }): void {
  if (isAccepted(delivery)) return;
  signal.throwIfAborted();
  const { status } = delivery;
  throw new StoryFailure(status === undefined ? "the entry does not answer" : `the entry answers HTTP ${status}`);
}

/** Fails the story where the task ends before it is as wanted, or is not as wanted in time. */
async function followStory({
  place,
  story,
  requestId,
  wanted,
  what,
  moreMs,
  settings: { patienceMs, pollMs },
  note,
  signal,
}: Pick<StoryDependencies, "place" | "settings" | "note" | "signal"> & {
  story: Story;
  requestId: string;
  wanted: (task: Task) => boolean;
  what: string;
  moreMs: number;
}): Promise<Task> {
  const endMs = performance.now() + patienceMs + moreMs;
  let shown = "";
  for (;;) {
    signal.throwIfAborted();
    const task = (await place.store.get({ id: requestId }))?.task;
    if (task !== undefined) {
      const { polls } = task.wait ?? { polls: 0 };
      const line = `${story}: ${task.state}${polls < 5 ? "" : `, ${polls - (polls % 5)} polls`}`;
      if (line !== shown) note(line);
      shown = line;
      if (wanted(task)) return task;
      if (isOver(task)) throw new StoryFailure(`it was over before ${what}: ${describeOutcome(task) ?? "unknown"}`);
    }
    if (performance.now() > endMs) {
      const state = task === undefined ? "the worker has not begun it" : `it is ${task.state}`;
      throw new StoryFailure(`there was not ${what} in time (${state})`);
    }
    await wait(pollMs, undefined, { signal });
  }
}

async function deliverEvent({
  eventsUrl,
  signingSecret,
  channel,
  user,
  bot,
  ts,
  threadTs,
  text,
  type,
  signal,
}: StoryDependencies & {
  bot: BotOfStage;
  ts: string;
  threadTs?: string;
  text: string;
  type: "app_mention" | "message";
}): Promise<Delivery> {
  // An interrupted fetch looks like a lost answer, although nothing was sent.
  signal.throwIfAborted();
  const event = {
    type,
    user,
    channel,
    ts,
    event_ts: ts,
    text,
    team: bot.team,
    ...(threadTs !== undefined && { thread_ts: threadTs }),
    ...(type === "message" && { channel_type: channel.startsWith("D") ? "im" : "channel" }),
  };
  const payload = {
    type: "event_callback",
    api_app_id: bot.appId,
    team_id: bot.team,
    context_team_id: bot.team,
    event_id: `EvSMOKE${ts.replace(".", "")}`,
    event_time: Math.floor(Number(ts)),
    authorizations: [
      { enterprise_id: null, team_id: bot.team, user_id: bot.botUser, is_bot: true, is_enterprise_install: false },
    ],
    event,
  };
  return sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs: [0, 2000], signal });
}
