/** The tasks that `doctor --send` sends. Each is a message that a person seems to have sent, followed in the stage's table to its end. */
import { setTimeout as wait } from "node:timers/promises";
import { sendEvent } from "@sekisho/local/signed-events.ts";
import { callWebApi, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { hasFailedDelivery, type Task } from "@sekisho/verification/task/task.ts";
import * as z from "zod";
import { AwsFailure } from "../aws/aws-failure.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { describeOutcome } from "../tasks/text.ts";

/**
 * The stories of a group run at once, and the groups follow each other. A stage of kind `lambda` runs two agents at once by
 * default, and `wakes` and `long` each hold one for minutes, longer than the other stories wait.
 */
export const storyGroups = [
  ["question", "file", "cancel"],
  ["wakes", "long"],
] as const;
export type StoryName = (typeof storyGroups)[number][number];

/** `what` is for a person. */
export type StoryResult = { ok: boolean; what: string; requestId: string };

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
  /** Called once per task that the entry may have taken, so that the caller can cancel it. */
  onBegun: (requestId: string) => void;
  note: (text: string) => void;
  signal: AbortSignal;
};

/** The steps of a story with its task. */
type Steps = {
  settings: StorySettings;
  /** Follows the task until it is as `isWanted` says. `what` names that for a person; `moreMs` is what its agent takes. */
  until(isWanted: (task: Task) => boolean, what: string, moreMs?: number): Promise<Task>;
  cancel(): Promise<void>;
  /** Posts the message and sends its event. */
  reply(text: string): Promise<void>;
  hasFile(): Promise<boolean>;
  polls(): number;
};

type Story = {
  title: string;
  /** The message to the agent `echo`. */
  text(settings: StorySettings): string;
  /** Resolves to what happened, for a person. */
  run(steps: Steps): Promise<string>;
};

const slow = (ms: number) => `slow ${Math.ceil(ms / 1000)}s`;
const isOver = ({ state }: Task) => state === "done";

const stories: Record<StoryName, Story> = {
  wakes: {
    title: "a task that wakes itself again and again",
    text: ({ wakeTaskMs }) => slow(wakeTaskMs),
    async run({ settings: { wakes, wakeTaskMs }, until, cancel, polls }) {
      const isDue = ({ wait }: Task) => (wait?.polls ?? 0) > wakes;
      await until(isDue, `more than ${wakes} wake-ups`, wakeTaskMs);
      await cancel();
      await until(isOver, "its end");
      return `It woke itself ${polls()} times, and was canceled then.`;
    },
  },
  long: {
    title: "a task that takes minutes",
    text: ({ longTaskMs }) => slow(longTaskMs),
    async run({ settings: { longTaskMs }, until, polls }) {
      requireAnswer(await until(isOver, "its answer", longTaskMs));
      return `It answered after ${Math.ceil(longTaskMs / 1000)} s, with ${polls()} polls.`;
    },
  },
  question: {
    title: "a question",
    text: () => "ask me",
    async run({ until, reply }) {
      const isAsked = ({ state, question }: Task) =>
        state === "asking" && question?.ts !== undefined;
      await until(isAsked, "its question");
      await reply("yes");
      const task = await until(isOver, "its answer");
      requireAnswer(task);
      if (task.answeredBy?.length !== 1) throw new StoryFailure("It ended without the reply.");
      return "It asked, was replied to, and answered.";
    },
  },
  file: {
    title: "a file",
    text: () => "file",
    async run({ until, hasFile }) {
      requireAnswer(await until(isOver, "its answer"));
      if (!(await hasFile())) throw new StoryFailure("It answered without the file.");
      return "It answered with a file, which is in the thread.";
    },
  },
  cancel: {
    title: "a task that is canceled",
    text: ({ wakeTaskMs }) => slow(wakeTaskMs),
    async run({ until, cancel }) {
      const isPolled = ({ state, wait }: Task) => state === "waiting" && (wait?.polls ?? 0) > 0;
      await until(isPolled, "its first poll");
      await cancel();
      requireOutcome(await until(isOver, "its end"), "canceled");
      return "It was canceled while its agent was working.";
    },
  },
};

export function storyTexts(settings: StorySettings): string[] {
  return Object.values(stories).map(({ text }) => text(settings));
}

/** The story did not end as it should. The message says why. */
class StoryFailure extends Error {
  override name = "StoryFailure";
}

function requireOutcome(task: Task, wantedOutcome: string): void {
  const outcome = describeOutcome(task) ?? "unknown";
  if (outcome !== wantedOutcome) throw new StoryFailure(`It ended otherwise: ${outcome}.`);
}

function requireAnswer(task: Task): void {
  requireOutcome(task, "answered");
  if (hasFailedDelivery(task)) throw new StoryFailure("Slack did not take its answer.");
}

/** Rejects where it is interrupted, or where AWS or Slack refuses. */
export async function runStory(
  name: StoryName,
  dependencies: StoryDependencies,
): Promise<StoryResult> {
  const { zone, slack, settings, onBegun, signal } = dependencies;
  const { title, text, run } = stories[name];
  const { ts, bot } = await slack.post({ text: `Sekisho test: ${title}` });
  const requestId = requestIdOf({ appId: bot.appId, channel: dependencies.channel, ts });
  const taskFollower = followTask({ name, requestId, ...dependencies });
  const steps: Steps = {
    settings,
    polls: () => taskFollower.latest()?.wait?.polls ?? 0,
    until: taskFollower.until,
    async cancel() {
      const task = taskFollower.latest();
      if (task !== undefined) await sendCancel({ zone, task });
    },
    async reply(text) {
      const post = await slack.post({
        text: `Sekisho test: the reply is ${text}.`,
        threadTs: ts,
      });
      const message = { type: "message" as const, ts: post.ts, threadTs: ts, text, bot };
      requireAccepted(await deliver(message, dependencies), signal);
    },
    hasFile: () => slack.hasFile({ threadTs: ts }),
  };
  const result = (ok: boolean, what: string) => ({ ok, what, requestId });
  try {
    const question = `<@${bot.botUser}> ${text(settings)}`;
    const delivery = await deliver({ type: "app_mention", ts, text: question, bot }, dependencies);
    const { status, isAmbiguous } = delivery;
    if (status === 200 || isAmbiguous) onBegun(requestId);
    requireAccepted(delivery, signal);
    return result(true, await run(steps));
  } catch (error) {
    if (error instanceof StoryFailure) return result(false, error.message);
    throw error;
  }
}

type Followed = Pick<StoryDependencies, "zone" | "settings" | "note" | "signal"> & {
  name: StoryName;
  requestId: string;
};

function followTask({ name, requestId, zone, settings, note, signal }: Followed) {
  const { patienceMs, pollMs } = settings;
  let latest: Task | undefined;
  let shownLine = "";

  /** Once a read has succeeded, a failed one is repeated until the time is over. */
  async function readTask(endMs: number): Promise<Task | undefined> {
    try {
      return (await zone.store.get({ id: requestId }))?.task;
    } catch (error) {
      if (latest === undefined || signal.aborted || performance.now() > endMs) throw error;
      return latest;
    }
  }

  function show(task: Task): void {
    const polls = task.wait?.polls ?? 0;
    const line = `${name}: ${task.state}${polls < 5 ? "" : `, ${polls - (polls % 5)} polls`}`;
    if (line !== shownLine) note(line);
    shownLine = line;
  }

  const until: Steps["until"] = async (isWanted, what, moreMs = 0) => {
    const endMs = performance.now() + patienceMs + moreMs;
    for (;;) {
      signal.throwIfAborted();
      latest = await readTask(endMs);
      if (latest !== undefined) {
        show(latest);
        if (isWanted(latest)) return latest;
        const outcome = describeOutcome(latest) ?? "unknown";
        if (isOver(latest)) throw new StoryFailure(`It was over before ${what}: ${outcome}.`);
      }
      if (performance.now() > endMs) {
        const state = latest === undefined ? "the worker has not begun it" : latest.state;
        throw new StoryFailure(`There was not ${what} in time (${state}).`);
      }
      await wait(pollMs, undefined, { signal });
    }
  };
  return { until, latest: () => latest };
}

type Message = {
  type: "app_mention" | "message";
  ts: string;
  threadTs?: string;
  text: string;
  bot: BotOfStage;
};

async function deliver(message: Message, dependencies: StoryDependencies) {
  const { eventsUrl, signingSecret, signal } = dependencies;
  // An interrupted fetch looks like a lost answer, although nothing was sent.
  signal.throwIfAborted();
  const payload = createPayload(message, dependencies);
  return sendEvent({ eventsUrl, signingSecret, payload, retryDelaysMs: [0, 2000], signal });
}

function requireAccepted({ status }: { status: number | undefined }, signal: AbortSignal): void {
  if (status === 200) return;
  signal.throwIfAborted();
  const answer = status === undefined ? "does not answer" : `answers HTTP ${status}`;
  throw new StoryFailure(`The entry ${answer}.`);
}

/** The payload of an event as Slack posts it (https://docs.slack.dev/apis/events-api). */
function createPayload(
  { type, ts, threadTs, text, bot: { team, appId, botUser } }: Message,
  { channel, user }: Pick<StoryDependencies, "channel" | "user">,
) {
  const thread = threadTs !== undefined && { thread_ts: threadTs };
  const isDirect = channel.startsWith("D");
  const channelType = type === "message" && { channel_type: isDirect ? "im" : "channel" };
  const authorization = { enterprise_id: null, team_id: team, user_id: botUser };
  return {
    type: "event_callback",
    api_app_id: appId,
    team_id: team,
    context_team_id: team,
    event_id: `EvTEST${ts.replace(".", "")}`,
    event_time: Math.floor(Number(ts)),
    authorizations: [{ ...authorization, is_bot: true, is_enterprise_install: false }],
    event: { type, user, channel, ts, event_ts: ts, text, team, ...thread, ...channelType },
  };
}

/** The sender of a post, as Slack names it. */
type BotOfStage = { appId: string; botUser: string; team: string };

export type SlackThread = {
  /** Resolves to the post's `ts`. */
  post(request: { text: string; threadTs?: string }): Promise<{ ts: string; bot: BotOfStage }>;
  /** True if a reply in the thread has a file. */
  hasFile(request: { threadTs: string }): Promise<boolean>;
};

const postedSchema = z.object({
  ts: z.string(),
  message: z.object({ app_id: z.string(), user: z.string() }),
});
const threadSchema = z.object({
  messages: z.array(z.object({ ts: z.string(), files: z.array(z.unknown()).default([]) })),
});

type ThreadOptions = {
  apiUrl: string;
  token: string;
  team: string;
  channel: string;
  signal: AbortSignal;
};

/** Slack as the stage's bot. Rejects with an AwsFailure that says what to do and does not hold the token. */
export function openSlackThread(options: ThreadOptions): SlackThread {
  const { apiUrl, token, team, channel, signal } = options;
  async function call<T>(method: string, args: object, schema: z.ZodType<T>): Promise<T> {
    const request = { token: async () => token, apiUrl, method, timeoutMs: 10_000, signal };
    const answer = await callWebApi({ ...request, args: { channel, ...args } }).catch(
      (error: unknown) => {
        const { slackError, kind } = toSlackError(error);
        const why = slackError ?? kind;
        const other = `https://docs.slack.dev/reference/methods says what ${why} means.`;
        const remedy = remedies[why] ?? other;
        throw new AwsFailure(`Slack refuses ${method} in ${channel} (${why}). ${remedy}`);
      },
    );
    const { data } = schema.safeParse(answer);
    if (data === undefined) throw new AwsFailure(`Slack's answer to ${method} cannot be read.`);
    return data;
  }
  return {
    async post({ text, threadTs }) {
      const args = { text, ...(threadTs !== undefined && { thread_ts: threadTs }) };
      const { ts, message } = await call("chat.postMessage", args, postedSchema);
      return { ts, bot: { team, appId: message.app_id, botUser: message.user } };
    },
    async hasFile({ threadTs }) {
      const args = { ts: threadTs, limit: 50 };
      const { messages } = await call("conversations.replies", args, threadSchema);
      return messages.some(({ ts, files }) => ts !== threadTs && files.length > 0);
    },
  };
}

const invite = "Is the bot in that channel? Invite it.";

/** The other checks of doctor explain what is wrong with the token. */
const remedies: Record<string, string> = {
  not_in_channel: invite,
  channel_not_found: invite,
  is_archived: "Name another channel.",
};
