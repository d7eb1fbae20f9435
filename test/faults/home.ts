/** A person opens the App Home, sees what is under way, and cancels it there. */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import type { SlackBlock } from "@sekisho/verification/slack/api/slack.ts";
import { decodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import { isCanceled, type Task } from "@sekisho/verification/task/task.ts";
import type { Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { workspace } from "./settings.ts";
import { signed } from "./signed.ts";
import { later } from "./virtual-time.ts";
import { laterInStory, meet, type World } from "./world.ts";

type Button = { action_id: string; value: string };

/** A person who sees nothing to cancel opens the tab again, for a quarter of an hour. */
const lookEveryMs = 20_000;
const mostLooks = 45;

export function cancelAtHome({
  world,
  process,
  ingresses,
}: {
  world: World;
  process: Process;
  ingresses: Pool<Ingress>;
}): void {
  const { cancelsAtHomeAfterMs: afterMs } = world.story;
  const { team, app, user } = workspace;
  if (afterMs === undefined) return;
  within({ process, run: () => laterInStory({ world, afterMs, run: () => open(0) }) });

  function open(looks: number): void {
    const event = {
      type: "app_home_opened",
      tab: "home",
      user,
      channel: "D0DIRECT01",
      event_ts: `${1_700_000_000 + looks}.000100`,
    };
    const payload = {
      type: "event_callback",
      api_app_id: app,
      team_id: team,
      event_id: `EvHome${looks}`,
      event,
    };
    const { fate } = meet({ world, process, point: "slack.event", about: () => `home of ${user}` });
    if (fate !== "lost") void hand(JSON.stringify(payload), "json");
    later({ delayMs: lookEveryMs, run: () => look(looks) });
  }

  function look(looks: number): void {
    const [button] = buttonsOfHome(world.homes.get(user) ?? []);
    if (button !== undefined) void press(button, looks);
    else if (looks < mostLooks) open(looks + 1);
  }

  async function press(button: Button, looks: number): Promise<void> {
    const { fate } = meet({
      world,
      process,
      point: "slack.button_click",
      about: () => `${user} at home`,
    });
    const payload = {
      type: "block_actions",
      team: { id: team },
      user: { id: user, team_id: team },
      container: { type: "view", view_id: "V1" },
      view: { id: "V1", type: "home" },
      actions: [{ type: "button", ...button }],
    };
    const isTaken =
      fate !== "lost" &&
      (await hand(new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), "form")) ===
        200;
    if (isTaken) world.canceledAtHome.push(decodeButton(button)?.requestId ?? "");
    else if (looks < mostLooks) later({ delayMs: lookEveryMs, run: () => look(looks + 1) });
  }

  async function hand(body: string, type: "json" | "form"): Promise<number | undefined> {
    const instance = ingresses.find({ mayShare: true });
    if (instance === undefined) return undefined;
    return (
      await within({ process: instance.process, run: () => instance.work(signed({ body, type })) })
    ).status;
  }
}

/**
 * The request id of a task that a person canceled on the App Home and that ended otherwise. More than one fault can keep the press away
 * until the task is over, or until the queue gives it up. The page is as old as its last opening, so the task may have ended before the
 * press; or before a worker of the newer version could read the press that an older one left to it.
 */
export function uncanceledAtHome({
  world,
  record,
}: {
  world: World;
  record: Task | undefined;
}): string | undefined {
  const { canceledAtHome, steps, outages, endedAtMs, messagesLeft } = world;
  const isHit = outages.length > 0 || steps.filter(({ fate }) => fate !== undefined).length > 1;
  if (record === undefined || isHit || !canceledAtHome.includes(record.id)) return undefined;
  const pressedAtMs = steps.findLast(({ point }) => point === "slack.button_click")?.atMs ?? 0;
  const leftUntilMs = [...messagesLeft].map(([body, { dueMs }]) =>
    /^\{"type":"button_click"/.test(body) ? dueMs : 0,
  );
  const wasOver =
    (endedAtMs.get(record.id) ?? Number.POSITIVE_INFINITY) < Math.max(pressedAtMs, ...leftUntilMs);
  return wasOver || isCanceled(record) ? undefined : record.id;
}

function buttonsOfHome(blocks: readonly SlackBlock[]): Button[] {
  return blocks.flatMap(({ accessory }) => (accessory === undefined ? [] : [accessory as Button]));
}
