/** People write in Slack, and Slack tells the ingress: signed, again where nobody answered, and sometimes twice. */
import type { Ingress, IngressRequest } from "../../lambdas/verification/ingress/ingress.ts";
import { requestIdOf } from "../../lambdas/verification/task/routing.ts";
import { clickButtons } from "./button-clicks.ts";
import type { Pool } from "./pool.ts";
import { createProcess, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import { type SimSlack, tsOf } from "./sim-slack.ts";
import { later, worldMs } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

/** A message for the bot, and whether Slack has heard that it was taken. */
export type Asked = {
  requestId: string;
  text: string;
  ts: string;
  writtenAtMs: number;
  threadTs: string;
  isUnaddressed: boolean;
  isCommand: boolean;
  hasFile: boolean;
  isTaken: boolean;
};

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
  const asked: Asked[] = [];
  const startMs = worldMs();
  for (const [number, written] of world.story.messages.entries()) {
    const { afterMs, text, inThreadOf, isUnaddressed = false, isCommand = false, hasFile = false } = written;
    const { app: appId, channel, user } = workspace;
    const ts = tsOf({ atMs: startMs + afterMs, count: number });
    const parent = asked[inThreadOf ?? -1]?.ts;
    const requestId = requestIdOf({ appId, channel, ts: isCommand ? triggerOf(ts) : ts });
    const kind = { isUnaddressed, isCommand, hasFile };
    const writtenAtMs = startMs + afterMs;
    const message = { requestId, text, ts, writtenAtMs, threadTs: parent ?? ts, ...kind, isTaken: false };
    asked.push(message);
    for (const id of [requestId, ts]) world.names.add(id, `#${number + 1}`);
    const write = () => {
      const said = { ts, text, key: undefined, from: "person" as const, user, fileIds: [] };
      if (!isCommand) world.said.push({ ...said, channel, threadTs: parent });
      later({ delayMs: 200, run: () => deliver(message, 0) });
    };
    within({ process: slack, run: () => later({ delayMs: afterMs, run: write }) });
  }
  clickButtons({ world, slack: simulated, process: slack, ingresses });
  return asked;

  function deliver(message: Asked, attempt: number): void {
    const { fate } = meet({
      world,
      process: slack,
      point: "slack.event",
      about: () => world.names.of(message.requestId),
    });
    let isHeard = false;
    const times = fate === "lost" ? 0 : fate === "repeated" ? 2 : 1;
    const { isShared = false } = world.story;
    for (let time = 0; time < times; time++)
      void hand({ message, type: isShared ? "app_mention" : typeOf(message, attempt + time), attempt });
    // Slack tells of it in both events, each for itself. There the other one does not say that it is for the bot.
    if (isShared && attempt === 0) void hand({ message, type: "message", attempt, isBeside: true });
    later({
      delayMs: answerMs,
      run() {
        // Of a command that was not taken the person is told by Slack.
        const delayMs = message.isCommand ? undefined : againAfterMs[attempt];
        if (!isHeard && delayMs !== undefined) later({ delayMs, run: () => deliver(message, attempt + 1) });
      },
    });

    async function hand(given: {
      message: Asked;
      type: "app_mention" | "message";
      attempt: number;
      isBeside?: boolean;
    }): Promise<void> {
      const instance = ingresses.find({ mayShare: true });
      if (instance === undefined) return;
      const request = requestOf({ ...given, isShared: world.story.isShared === true });
      const { status } = await within({ process: instance.process, run: () => instance.work(request) });
      if (status !== 200 || given.isBeside) return;
      message.isTaken = true;
      isHeard ||= fate !== "answer_lost";
    }
  }
}

/** The same post comes as either, where it mentions the bot. */
function typeOf({ isUnaddressed }: Asked, attempt: number): "app_mention" | "message" {
  return !isUnaddressed && attempt % 2 === 0 ? "app_mention" : "message";
}

function requestOf(given: {
  message: Asked;
  type: "app_mention" | "message";
  attempt: number;
  isShared: boolean;
}): IngressRequest {
  const { message, type, attempt, isShared } = given;
  if (message.isCommand) return signed({ body: commandOf(message), type: "form" });
  const { ts, threadTs, isUnaddressed, hasFile } = message;
  const { team, app, bot, otherBot, channel, user } = workspace;
  const inThread = threadTs === ts ? {} : { thread_ts: threadTs };
  const text = isUnaddressed ? message.text : `<@${isShared ? otherBot : bot}> ${message.text}`;
  const file = {
    id: "FIN",
    name: "in.txt",
    mimetype: "text/plain",
    size: 5,
    url_private: "https://files.slack.com/in",
  };
  const files = hasFile ? { files: [file], ...(type === "message" ? { subtype: "file_share" } : {}) } : {};
  const event = { type, user, ts, ...inThread, ...files, channel, text, channel_type: "channel" };
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

function commandOf({ ts, text }: Asked): string {
  const { team, app, channel, user } = workspace;
  const fields = { api_app_id: app, team_id: team, channel_id: channel, user_id: user, command: "/sekisho", text };
  return new URLSearchParams({ ...fields, trigger_id: triggerOf(ts) }).toString();
}

function triggerOf(ts: string): string {
  return `${ts}.0a1b2c`;
}
