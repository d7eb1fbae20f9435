/** People write in Slack, and Slack tells the ingress: signed, again where nobody answered, and sometimes twice. */
import { createHmac } from "node:crypto";
import type { Ingress, IngressRequest } from "../../lambdas/verification/ingress/ingress.ts";
import { requestIdOf } from "../../lambdas/verification/ingress/request-id.ts";
import type { Pool } from "./pool.ts";
import { createProcess, within } from "./processes.ts";
import { secrets, workspace } from "./settings.ts";
import { tsOf } from "./sim-slack.ts";
import { later, worldMs } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

/** A message for the bot, and whether Slack has heard that it was taken. */
export type Asked = {
  requestId: string;
  text: string;
  ts: string;
  threadTs: string;
  isUnaddressed: boolean;
  isTaken: boolean;
};

/** Slack waits 3 s, then delivers again: at once, after a minute, after five minutes. */
const answerMs = 3000;
const againAfterMs = [0, 60_000, 300_000];

export function writeMessages({ world, ingresses }: { world: World; ingresses: Pool<Ingress> }): Asked[] {
  const slack = createProcess({ name: "Slack", zone: "slack", skewMs: 0 });
  const asked: Asked[] = [];
  const startMs = worldMs();
  for (const [number, { afterMs, text, inThreadOf, isUnaddressed = false }] of world.story.messages.entries()) {
    const ts = tsOf({ atMs: startMs + afterMs, count: number });
    const threadTs = asked[inThreadOf ?? -1]?.ts ?? ts;
    const requestId = requestIdOf({ appId: workspace.app, channel: workspace.channel, ts });
    const message = { requestId, text, ts, threadTs, isUnaddressed, isTaken: false };
    asked.push(message);
    within({ process: slack, run: () => later({ delayMs: afterMs + 200, run: () => deliver(message, 0) }) });
  }
  return asked;

  function deliver(message: Asked, attempt: number): void {
    const { fate } = meet({
      world,
      process: slack,
      point: "slack.event",
      note: () => message.requestId.slice(0, 8),
    });
    let isHeard = false;
    const times = fate === "lost" ? 0 : fate === "repeated" ? 2 : 1;
    for (let time = 0; time < times; time++) void hand({ message, type: typeOf(message, attempt + time), attempt });
    later({
      delayMs: answerMs,
      run() {
        const delayMs = againAfterMs[attempt];
        if (!isHeard && delayMs !== undefined) later({ delayMs, run: () => deliver(message, attempt + 1) });
      },
    });

    async function hand(given: { message: Asked; type: "app_mention" | "message"; attempt: number }): Promise<void> {
      const instance = ingresses.find({ mayShare: true });
      if (instance === undefined) return;
      const request = requestOf(given);
      const { status } = await within({ process: instance.process, run: () => instance.work(request) });
      if (status !== 200) return;
      message.isTaken = true;
      isHeard ||= fate !== "answer_lost";
    }
  }
}

/** The same post comes as either, where it mentions the bot. */
function typeOf({ isUnaddressed }: Asked, attempt: number): "app_mention" | "message" {
  return !isUnaddressed && attempt % 2 === 0 ? "app_mention" : "message";
}

function requestOf(given: { message: Asked; type: "app_mention" | "message"; attempt: number }): IngressRequest {
  const { message, type, attempt } = given;
  const { ts, threadTs, isUnaddressed } = message;
  const { team, app, bot, channel, user } = workspace;
  const inThread = threadTs === ts ? {} : { thread_ts: threadTs };
  const text = isUnaddressed ? message.text : `<@${bot}> ${message.text}`;
  const event = { type, user, ts, ...inThread, channel, text, channel_type: "channel" };
  const payload = {
    type: "event_callback",
    api_app_id: app,
    team_id: team,
    event_id: `Ev${type}${attempt}`,
    authorizations: [{ user_id: bot, is_bot: true }],
    event,
  };
  const body = Buffer.from(JSON.stringify(payload));
  const timestamp = String(Math.floor(worldMs() / 1000));
  const base = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
  const signature = `v0=${createHmac("sha256", secrets.signingSecret).update(base).digest("hex")}`;
  return {
    body,
    headers: [
      ["Content-Type", "application/json"],
      ["X-Slack-Request-Timestamp", timestamp],
      ["X-Slack-Signature", signature],
    ],
  };
}
