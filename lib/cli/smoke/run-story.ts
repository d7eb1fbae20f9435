/** The tasks of the smoke test. Each is a message that a person seems to have sent, followed in the stage's table to its end. */
import { setTimeout as wait } from "node:timers/promises";
import { requestIdOf } from "../../../lambdas/verification/task/routing.ts";
import { hasFailedDelivery, type Task } from "../../../lambdas/verification/task/task.ts";
import { type Delivery, sendEvent } from "../../local/signed-events.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
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
export type StoryResult = {
  story: Story;
  ok: boolean;
  what: string;
  requestId: string;
  polls: number;
};

export type StorySettings = {
  /** The task must poll more often, with one wake-up each. Lambda stops a loop after about 16 invocations, unless allowed. */
  wakes: number;
  /** The time that the agent of that task takes, unless it is canceled. */
  wakeTaskMs: number;
  /** The time of the long task, many times the idle time of an AgentCore session. Shorter where the stage would end it. */
  longTaskMs: number;
  /** The time for each story, besides what its agent takes. */
  patienceMs: number;
  pollMs: number;
};

export type StoryDependencies = {
  zone: Pick<TaskZone, "store" | "queue">;
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

/** The steps of a story with its task. */
type Steps = {
  settings: StorySettings;
  /** Follows the task until it is as `wanted`. `what` names that for a person; `moreMs` is what its agent takes. */
  until(wanted: (task: Task) => boolean, what: string, moreMs?: number): Promise<Task>;
  cancel(): Promise<void>;
  /** Posts the message and sends its event. */
  reply(text: string): Promise<void>;
  hasFile(): Promise<boolean>;
  polls(): number;
};

/** `text` is the message to the agent `echo`. `run` resolves to what happened, for a person. */
type StoryRow = {
  title: string;
  text(settings: StorySettings): string;
  run(steps: Steps): Promise<string>;
};

const slow = (ms: number) => `slow ${Math.ceil(ms / 1000)}s`;

const storyTable: Record<Story, StoryRow> = {
  wakes: {
    title: "a task that wakes itself again and again",
    text: ({ wakeTaskMs }) => slow(wakeTaskMs),
    async run({ settings: { wakes, wakeTaskMs }, until, cancel, polls }) {
      await until(
        ({ wait }) => (wait?.polls ?? 0) > wakes,
        `more than ${wakes} wake-ups`,
        wakeTaskMs,
      );
      await cancel();
      await until(isOver, "its end");
      return `woke itself ${polls()} times, and was canceled then`;
    },
  },
  long: {
    title: "a task that takes minutes",
    text: ({ longTaskMs }) => slow(longTaskMs),
    async run({ settings: { longTaskMs }, until, polls }) {
      requireAnswer(await until(isOver, "its answer", longTaskMs));
      return `answered after ${Math.ceil(longTaskMs / 1000)} s, with ${polls()} polls`;
    },
  },
  question: {
    title: "a question",
    text: () => "ask me",
    async run({ until, reply }) {
      await until(
        ({ state, question }) => state === "asking" && question?.ts !== undefined,
        "its question",
      );
      await reply("yes");
      const task = await until(isOver, "its answer");
      requireAnswer(task);
      if (task.answeredBy?.length !== 1) throw new StoryFailure("it ended without the reply");
      return "asked, was replied to, and answered";
    },
  },
  file: {
    title: "a file",
    text: () => "file",
    async run({ until, hasFile }) {
      requireAnswer(await until(isOver, "its answer"));
      if (!(await hasFile())) throw new StoryFailure("it answered without the file");
      return "answered with a file, which is in the thread";
    },
  },
  cancel: {
    title: "a task that is canceled",
    text: ({ wakeTaskMs }) => slow(wakeTaskMs),
    async run({ until, cancel }) {
      await until(
        ({ state, wait }) => state === "waiting" && (wait?.polls ?? 0) > 0,
        "its first poll",
      );
      await cancel();
      const outcome = describeOutcome(await until(isOver, "its end"));
      if (outcome !== "canceled")
        throw new StoryFailure(`it ended otherwise: ${outcome ?? "unknown"}`);
      return "was canceled while its agent was working";
    },
  },
};

export function storyTexts(settings: StorySettings): string[] {
  return Object.values(storyTable).map(({ text }) => text(settings));
}

/** The story did not end as it should. The message says why. */
class StoryFailure extends Error {
  override name = "StoryFailure";
}

/** Rejects where it is interrupted, or where AWS or Slack refuses. */
export async function runStory(
  story: Story,
  dependencies: StoryDependencies,
): Promise<StoryResult> {
  const { zone, slack, eventsUrl, signingSecret, channel, user, settings, onBegun, note, signal } =
    dependencies;
  const { title, text, run } = storyTable[story];
  let latest: Task | undefined;
  const { ts, bot } = await slack.post({ text: `Sekisho smoke test: ${title}` });
  const requestId = requestIdOf({ appId: bot.appId, channel, ts });
  const polls = () => latest?.wait?.polls ?? 0;

  async function deliver(message: Message): Promise<Delivery> {
    // An interrupted fetch looks like a lost answer, although nothing was sent.
    signal.throwIfAborted();
    const payload = createPayload({ ...message, bot, channel, user });
    return sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs: [0, 2000], signal });
  }

  function requireAccepted({ status }: Delivery): void {
    if (status === 200) return;
    signal.throwIfAborted();
    throw new StoryFailure(
      status === undefined ? "the entry does not answer" : `the entry answers HTTP ${status}`,
    );
  }

  const { patienceMs, pollMs } = settings;
  let shown = "";
  const steps: Steps = {
    settings,
    polls,
    async until(wanted, what, moreMs = 0) {
      const endMs = performance.now() + patienceMs + moreMs;
      for (;;) {
        signal.throwIfAborted();
        const known = latest;
        const stored = await zone.store.get({ id: requestId }).catch((thrown: unknown) => {
          // Once a look has succeeded, a failed one is made again until the time is over.
          if (known === undefined || signal.aborted || performance.now() > endMs) throw thrown;
          return { task: known };
        });
        latest = stored?.task;
        if (latest !== undefined) {
          const line = `${story}: ${latest.state}${polls() < 5 ? "" : `, ${polls() - (polls() % 5)} polls`}`;
          if (line !== shown) note(line);
          shown = line;
          if (wanted(latest)) return latest;
          const outcome = describeOutcome(latest) ?? "unknown";
          if (isOver(latest)) throw new StoryFailure(`it was over before ${what}: ${outcome}`);
        }
        if (performance.now() > endMs) {
          const state =
            latest === undefined ? "the worker has not begun it" : `it is ${latest.state}`;
          throw new StoryFailure(`there was not ${what} in time (${state})`);
        }
        await wait(pollMs, undefined, { signal });
      }
    },
    async cancel() {
      if (latest !== undefined) await sendCancel({ zone, task: latest });
    },
    async reply(text) {
      const reply = await slack.post({
        text: `Sekisho smoke test: the reply is ${text}.`,
        threadTs: ts,
      });
      requireAccepted(await deliver({ type: "message", ts: reply.ts, threadTs: ts, text }));
    },
    hasFile: () => slack.hasFile({ threadTs: ts }),
  };

  const result = (ok: boolean, what: string): StoryResult => ({
    story,
    ok,
    what,
    requestId,
    polls: polls(),
  });
  try {
    const delivery = await deliver({
      type: "app_mention",
      ts,
      text: `<@${bot.botUser}> ${text(settings)}`,
    });
    const { isAmbiguous } = delivery;
    if (delivery.status === 200 || isAmbiguous) onBegun({ requestId, isAmbiguous });
    requireAccepted(delivery);
    return result(true, await run(steps));
  } catch (thrown) {
    if (thrown instanceof StoryFailure) return result(false, thrown.message);
    throw thrown;
  }
}

function isOver({ state }: Task): boolean {
  return state === "done";
}

function requireAnswer(task: Task): void {
  const outcome = describeOutcome(task);
  if (outcome !== "answered") throw new StoryFailure(`it ended otherwise: ${outcome ?? "unknown"}`);
  if (hasFailedDelivery(task)) throw new StoryFailure("Slack did not take its answer");
}

type Message = { type: "app_mention" | "message"; ts: string; threadTs?: string; text: string };

type SentMessage = Message & { bot: BotOfStage; channel: string; user: string };

/** The payload of an event as Slack posts it (https://docs.slack.dev/apis/events-api). */
function createPayload({ type, ts, threadTs, text, bot, channel, user }: SentMessage) {
  const { team, appId, botUser } = bot;
  const thread = threadTs !== undefined && { thread_ts: threadTs };
  const channelType = type === "message" && {
    channel_type: channel.startsWith("D") ? "im" : "channel",
  };
  return {
    type: "event_callback",
    api_app_id: appId,
    team_id: team,
    context_team_id: team,
    event_id: `EvSMOKE${ts.replace(".", "")}`,
    event_time: Math.floor(Number(ts)),
    authorizations: [
      {
        enterprise_id: null,
        team_id: team,
        user_id: botUser,
        is_bot: true,
        is_enterprise_install: false,
      },
    ],
    event: { type, user, channel, ts, event_ts: ts, text, team, ...thread, ...channelType },
  };
}
