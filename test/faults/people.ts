/** People write in Slack, and Slack tells the ingress: signed, again where nobody answered, and sometimes twice. */
import type { Ingress, IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import { buttonRetryIdOf } from "@sekisho/verification/task/retry.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { clickButtons } from "./button-clicks.ts";
import { chooseShortcuts, fillForms } from "./forms.ts";
import { cancelAtHome } from "./home.ts";
import { stopStreams } from "./native-stop.ts";
import type { Pool } from "./pool.ts";
import { createProcess, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import { type SimSlack, tsOf } from "./sim-slack.ts";
import { later } from "./virtual-time.ts";
import { laterInStory, meet, type World } from "./world.ts";

/** A message for the bot, and whether Slack has heard that it was taken. */
export type Asked = {
  requestId: string;
  text: string;
  user: string;
  ts: string;
  writtenAtMs: number;
  threadTs: string;
  isUnaddressed: boolean;
  isCommand: boolean;
  hasFile: boolean;
  /** The file is told of by itself: whether Slack has heard that it was taken. */
  lateFile: { isTaken: boolean } | undefined;
  isTaken: boolean;
  change: { text?: string } | undefined;
};

/** Something that Slack tells of a message: that it is there, that it has a file, or that it was edited or deleted. */
type Told = { message: Asked; changedTs?: string; isLateFile?: boolean };

/** Slack waits 3 s, then delivers again: at once, after a minute, after five minutes. */
const answerMs = 3000;
const againAfterMs = [0, 60_000, 300_000];

export function writeMessages({
  world,
  slack: simulated,
  ingresses,
}: {
  world: World;
  slack: SimSlack;
  ingresses: Pool<Ingress>;
}): Asked[] {
  const slack = createProcess({ name: "Slack", zone: "slack", skewMs: 0 });
  const messages: Asked[] = [];
  const { startMs } = world;
  for (const [number, writtenText] of world.story.messages.entries()) {
    const {
      afterMs,
      text,
      inThreadOf,
      isUnaddressed = false,
      isCommand = false,
      change,
    } = writtenText;
    const { hasFile = false, fileAfterMs } = writtenText;
    const { app: appId, channel } = workspace;
    const user = writtenText.by === "stranger" ? workspace.stranger : workspace.user;
    const ts = tsOf({ atMs: startMs + afterMs, count: number });
    const parent = messages[inThreadOf ?? -1]?.ts;
    const requestId = requestIdOf({ appId, channel, ts: isCommand ? triggerOf(ts) : ts });
    const lateFile = fileAfterMs === undefined ? undefined : { isTaken: false };
    const kind = { isUnaddressed, isCommand, hasFile, lateFile };
    const writtenAtMs = startMs + afterMs;
    const isTaken = world.from?.taken.includes(requestId) ?? false;
    const message = {
      requestId,
      text,
      user,
      ts,
      writtenAtMs,
      threadTs: parent ?? ts,
      ...kind,
      isTaken,
      change,
    };
    messages.push(message);
    for (const id of [requestId, ts]) world.names.add(id, `#${number + 1}`);
    const write = () => {
      const said = { ts, text, key: undefined, from: "person" as const, user, fileIds: [] };
      if (!isCommand) world.said.push({ ...said, channel, threadTs: parent });
      later({ delayMs: 200, run: () => deliver({ message }, 0) });
      if (fileAfterMs === undefined) return;
      later({ delayMs: 200 + fileAfterMs, run: () => deliver({ message, isLateFile: true }, 0) });
    };
    within({ process: slack, run: () => laterInStory({ world, afterMs, run: write }) });
    if (change === undefined) continue;
    const changedTs = tsOf({ atMs: startMs + change.afterMs, count: 100 + number });
    const makeChange = () => {
      const said = world.said.filter((one) => one.ts === ts);
      for (const one of said) {
        if (change.text === undefined) world.said.splice(world.said.indexOf(one), 1);
        else Object.assign(one, { text: change.text });
      }
      later({ delayMs: 200, run: () => deliver({ message, changedTs }, 0) });
    };
    within({
      process: slack,
      run: () => laterInStory({ world, afterMs: change.afterMs, run: makeChange }),
    });
  }
  const [first] = messages;
  const retryId = first && buttonRetryIdOf({ id: first.requestId });
  if (retryId !== undefined) world.names.add(retryId, "#1 again");
  clickButtons({
    ...{ world, slack: simulated, process: slack, ingresses },
    onClick({ clicked, user, requestId, taken }) {
      const isCounted = "vote" in clicked && clicked.by !== "outsider";
      const options = isCounted ? { user, vote: clicked.vote, isTaken: false } : undefined;
      if (options !== undefined) world.votes.push(options);
      const isRetry =
        "retries" in clicked && user === workspace.user && requestId === first?.requestId;
      // It is owed an answer from when it stands in the queue.
      if (isRetry && retryId !== undefined && messages.every((one) => one.requestId !== retryId)) {
        messages.push({ ...first, requestId: retryId, isTaken: false });
      }
      void taken.then(() => {
        if (options !== undefined) options.isTaken = true;
        world.isRetryTaken ||= isRetry;
      });
    },
  });
  cancelAtHome({ world, process: slack, ingresses });
  stopStreams({ world, slack: simulated, process: slack, ingresses });
  fillForms({ world, slack: simulated, process: slack, ingresses });
  chooseShortcuts({ world, slack: simulated, process: slack, ingresses }, messages);
  return messages;

  function deliver(texts: Told, attempt: number): void {
    const { message, changedTs, isLateFile = false } = texts;
    const { fate } = meet({
      world,
      process: slack,
      point: "slack.event",
      about: () =>
        `${changedTs === undefined ? "" : "change of "}${isLateFile ? "file of " : ""}${world.names.of(message.requestId)}`,
    });
    let isHeard = false;
    const times = fate === "lost" ? 0 : fate === "repeated" ? 2 : 1;
    const { isShared = false } = world.story;
    for (let time = 0; time < times; time++)
      void hand({
        ...texts,
        type: isShared ? "app_mention" : typeOf(texts, attempt + time),
        attempt,
      });
    // Slack tells of it in both events, each for itself. There the other one does not say that it is for the bot.
    if (isShared && attempt === 0)
      void hand({ ...texts, type: "message", attempt, isBeside: true });
    later({
      delayMs: answerMs,
      run() {
        // Of a command that was not taken the person is told by Slack.
        const delayMs = message.isCommand ? undefined : againAfterMs[attempt];
        if (!isHeard && delayMs !== undefined)
          later({ delayMs, run: () => deliver(texts, attempt + 1) });
      },
    });

    async function hand(
      args: Told & { type: "app_mention" | "message"; attempt: number; isBeside?: boolean },
    ): Promise<void> {
      const instance = ingresses.find({ mayShare: true });
      if (instance === undefined) return;
      const request = requestOf({ ...args, isShared: world.story.isShared === true });
      const { status } = await within({
        process: instance.process,
        run: () => instance.work(request),
      });
      if (status !== 200 || args.isBeside) return;
      message.isTaken = true;
      if (isLateFile && message.lateFile !== undefined) message.lateFile.isTaken = true;
      isHeard ||= fate !== "answer_lost";
    }
  }
}

/** The same post comes as either, where it mentions the bot. Where the file comes later, only one of them has it. */
function typeOf({ message, isLateFile }: Told, attempt: number): "app_mention" | "message" {
  const { isUnaddressed, lateFile } = message;
  if (lateFile !== undefined) return isLateFile ? "message" : "app_mention";
  return !isUnaddressed && attempt % 2 === 0 ? "app_mention" : "message";
}

function requestOf(
  options: Told & { type: "app_mention" | "message"; attempt: number; isShared: boolean },
): IngressRequest {
  const { message, changedTs, type, attempt, isShared } = options;
  if (message.isCommand) return signed({ body: commandOf(message), type: "form" });
  const { user, ts, threadTs, isUnaddressed, hasFile } = message;
  const { team, app, bot, otherBot, channel } = workspace;
  const inThread = threadTs === ts ? {} : { thread_ts: threadTs };
  const withMention = (text: string) =>
    isUnaddressed ? text : `<@${isShared ? otherBot : bot}> ${text}`;
  const file = {
    id: "FIN",
    name: "in.txt",
    mimetype: "text/plain",
    size: 5,
    url_private: "https://files.slack.com/in",
  };
  const hasFileHere = hasFile && (message.lateFile === undefined || type === "message");
  const files = hasFileHere
    ? { files: [file], ...(type === "message" ? { subtype: "file_share" } : {}) }
    : {};
  const said = { user, team, ts, ...inThread, ...files, text: withMention(message.text) };
  const event =
    changedTs === undefined
      ? { ...said, type, channel, channel_type: "channel" }
      : {
          ...changeEvent({ said, text: message.change?.text, withMention, changedTs }),
          channel,
          channel_type: "channel",
        };
  const payload = {
    type: "event_callback",
    api_app_id: app,
    team_id: team,
    event_id: `Ev${type}${attempt}`,
    authorizations: [{ user_id: bot, is_bot: true }],
    ...(isShared && { is_ext_shared_channel: true }),
    event,
  };
  return signed({ body: JSON.stringify(payload), type: "json" });
}

/** As Slack tells that a message was edited or deleted. */
function changeEvent(about: {
  said: { user: string; text: string };
  text: string | undefined;
  withMention: (text: string) => string;
  changedTs: string;
}) {
  const { said, text, withMention, changedTs } = about;
  const previous = { ...said, type: "message" };
  const change = {
    type: "message",
    hidden: true,
    ts: changedTs,
    event_ts: changedTs,
    previous_message: previous,
  };
  if (text === undefined) return { ...change, subtype: "message_deleted" };
  const edited = { user: said.user, ts: `${Math.floor(Number(changedTs))}.000000` };
  return {
    ...change,
    subtype: "message_changed",
    message: { ...previous, text: withMention(text), edited },
  };
}

function commandOf({ user, ts, text }: Asked): string {
  const { team, app, channel } = workspace;
  const fields = {
    api_app_id: app,
    team_id: team,
    channel_id: channel,
    user_id: user,
    command: "/sekisho",
    text,
  };
  return new URLSearchParams({ ...fields, trigger_id: triggerOf(ts) }).toString();
}

function triggerOf(ts: string): string {
  return `${ts}.0a1b2c`;
}
