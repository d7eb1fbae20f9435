/** One person who does much at once, while Slack is slow: the process stays free for others, and no click is lost. */
import { describe, expect, it } from "@jest/globals";
import type { ButtonClick, HomeOpened, ShortcutUsed } from "@sekisho/verification/task/messages.ts";
import type { Operation } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const times = 12;
const idOf = (n: number) => numberedAsk(n).requestId;

function homeOpened(n: number, user = "U1"): HomeOpened {
  return { type: "home_opened", requestId: idOf(n), team: "T1", user };
}
function shortcutUsed(n: number, user = "U1"): ShortcutUsed {
  const { ts } = ask.message;
  const where = { team: "T1", channel: "C1", ts, actionTs: ts };
  return { type: "shortcut_used", requestId: idOf(n), ...where, user, triggerId: `1.${n}.a` };
}
function voteClick(n: number, user = "U1"): ButtonClick {
  return sampleClick({ type: "feedback", vote: "up" }, { user, atMs: askedAtMs + 60_000 + n });
}

/** The operation hangs until it is released. `seen` counts how often it began. */
async function hangingWorld(name: string) {
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  let startCount = 0;
  let isArmed = false;
  const fault = async (operation: Operation): Promise<undefined> => {
    if (!isArmed || operation.name !== name) return;
    startCount += 1;
    await gate;
  };
  const world = createWorld({ fault });
  await world.deliver(ask).run();
  isArmed = true;
  const worker = world.worker();
  const handle = (message: object) => worker.handle({ body: JSON.stringify(message) });
  return { world, handle, seen: () => startCount, release };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("one person who does much at once while Slack hangs", () => {
  it.each([
    ["opens the App Home", "publishHome", homeOpened],
    ["uses the shortcut", "channelInfo", shortcutUsed],
  ] as const)(
    "limits a person who %s to four slots and drops the rest",
    async (_what, name, message) => {
      const { world, handle, seen, release } = await hangingWorld(name);
      const handlings = Array.from({ length: times }, (_, n) => handle(message(n)));
      await settle();
      expect(seen()).toBe(4);
      const ofAnother = handle(message(times, "U2"));
      await settle();
      expect(seen()).toBe(5);
      // Those beyond the limit are over already.
      await Promise.all(handlings.slice(4));
      release();
      await Promise.all([...handlings, ofAnother]);
      await handle(message(times + 1));
      expect([seen(), world.records.size]).toEqual([6, 1]);
    },
  );

  it("limits a person who clicks to four slots, and every click counts later", async () => {
    const { world, handle, seen, release } = await hangingWorld("mayAskThere");
    const handlings = Array.from({ length: times }, (_, n) => handle(voteClick(n)));
    await settle();
    expect(seen()).toBe(4);
    await Promise.all(handlings.slice(4));
    release();
    await Promise.all(handlings);
    await world.run();
    expect(seen()).toBeGreaterThanOrEqual(times);
    expect(world.taskOf(ask)?.votes).toMatchObject([
      { vote: "up", atMs: voteClick(times - 1).atMs },
    ]);
  });
});
