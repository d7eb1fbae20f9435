/** A person presses Slack's own stop button while an answer is being written. Slack ends the streams itself, and then tells the app. */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import { isCanceled, type Task } from "@sekisho/verification/task/task.ts";
import type { Kind, Point } from "./faults.ts";
import type { Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import { type SimSlack, tsOf } from "./sim-slack.ts";
import { later, worldMs } from "./virtual-time.ts";
import { meet, type World } from "./world.ts";

/** A person who sees no stream yet looks again, for as long as the agent may write. */
const lookEveryMs = 500;
const mostLooks = 60;
/** Slack waits 3 s, then delivers again: at once, after a minute, after five minutes. */
const answerMs = 3000;
const againAfterMs = [0, 60_000, 300_000];

export function stopStreams(around: {
  world: World;
  slack: SimSlack;
  process: Process;
  ingresses: Pool<Ingress>;
}) {
  const { world, slack, process, ingresses } = around;
  const { stopsStreamAfterMs: afterMs } = world.story;
  if (afterMs === undefined) return;
  within({ process, run: () => later({ delayMs: afterMs, run: () => look(0) }) });

  function look(looks: number): void {
    const open = slack.posts.filter(({ streams }) => streams);
    const [first] = open;
    if (first !== undefined) {
      for (const post of open) Object.assign(post, { streams: false, isStopped: true });
      // A stream that lands after the answer is a leftover, whose stop cancels nothing.
      const isAnswered = slack.posts.some(({ key }) => isOutcome(key));
      if (!isAnswered) world.streamsStopped += open.length;
      tell(
        open.map(({ ts }) => ts),
        first.threadTs ?? first.ts,
        0,
      );
    } else if (looks < mostLooks) later({ delayMs: lookEveryMs, run: () => look(looks + 1) });
  }

  function tell(streams: readonly string[], threadTs: string, attempt: number): void {
    const { team, app, channel, stranger } = workspace;
    const event = {
      type: "agent_session_stopped",
      user: stranger,
      channel,
      thread_ts: threadTs,
      streaming_message_ts: streams,
      event_ts: tsOf({ atMs: worldMs(), count: 300 + attempt }),
    };
    const payload = {
      type: "event_callback",
      api_app_id: app,
      team_id: team,
      event_id: `EvStop${attempt}`,
      event,
    };
    const { fate } = meet({
      world,
      process,
      point: "slack.event",
      about: () => `stop in ${threadTs}`,
    });
    let isHeard = false;
    const times = fate === "lost" ? 0 : fate === "repeated" ? 2 : 1;
    for (let time = 0; time < times; time++) void hand();
    later({
      delayMs: answerMs,
      run() {
        const delayMs = againAfterMs[attempt];
        if (!isHeard && delayMs !== undefined)
          later({ delayMs, run: () => tell(streams, threadTs, attempt + 1) });
      },
    });

    async function hand(): Promise<void> {
      const instance = ingresses.find({ mayShare: true });
      if (instance === undefined) return;
      const request = signed({ body: JSON.stringify(payload), type: "json" });
      const { status } = await within({
        process: instance.process,
        run: () => instance.work(request),
      });
      isHeard ||= status === 200 && fate !== "answer_lost";
    }
  }
}

/** Says what became of the task where it was not canceled. A fault outside of Slack may keep the event away until the agent has ended. */
export function oddStop({
  world,
  record,
}: {
  world: World;
  record: Task | undefined;
}): string | undefined {
  const { streamsStopped, steps, outages } = world;
  const isOfSlack = steps.every(
    ({ fate, point }) => fate === undefined || isFaultOfSlack({ kind: fate, point }),
  );
  if (record === undefined || streamsStopped === 0 || outages.length > 0 || !isOfSlack)
    return undefined;
  const isEnded = isCanceled(record) || record.cancelReason === "asked";
  return isEnded ? undefined : `it is ${record.outcome?.type ?? "answered"}`;
}

function isFaultOfSlack({ kind, point }: { kind: Kind; point: Point }): boolean {
  return (
    /^slack\.(stream|update|post|react|remove|replies)$/.test(point) && !kind.startsWith("dies")
  );
}
