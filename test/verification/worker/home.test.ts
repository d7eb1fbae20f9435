/** The App Home: whom it shows which tasks, and what its button to cancel does. */
import { describe, expect, it } from "@jest/globals";
import type { ButtonClick, HomeOpened } from "@sekisho/verification/task/messages.ts";
import type { Operation } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

const own = numberedAsk(1);
const homeOpened: HomeOpened = {
  type: "home_opened",
  requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c99",
  team: "T1",
  user: "U1",
};
const press = (change: Partial<ButtonClick> = {}): ButtonClick => ({
  type: "button_click",
  requestId: own.requestId,
  team: "T1",
  user: "U1",
  atMs: askedAtMs,
  button: { type: "cancel" },
  ...change,
});

/** Slack takes no view. */
const refuseHome = ({ name }: Operation) => name === "publishHome" && "refused";

/** The agent never ends by itself. */
async function atWork(options: Parameters<typeof createWorld>[0] = {}) {
  const world = createWorld({ pollsUntilDone: 1000, cancelable: true, ...options });
  await world.deliver(own).run({ until: () => world.taskOf(own)?.state === "waiting" });
  return world;
}

type World = Awaited<ReturnType<typeof atWork>>;

/** The request ids on the buttons of a view. */
function cancelable({ homes }: World, index = -1): unknown[] {
  return (homes.at(index)?.blocks ?? []).flatMap(({ accessory }) =>
    accessory === undefined ? [] : [JSON.parse((accessory as { value: string }).value).r],
  );
}

/** Handles what is due at once, and leaves the polls to come. */
async function handle(world: World, message: ButtonClick | HomeOpened): Promise<void> {
  world.interact(message);
  await world.handleDue();
}

describe("the App Home", () => {
  it("the App Home shows the tasks of a person in their workspace with a button each", async () => {
    const world = await atWork();
    const others = [
      numberedAsk(2, { user: "U2", ts: `${askedAtMs / 1000}.000200` }),
      numberedAsk(3, { team: "T2", ts: `${askedAtMs / 1000}.000300` }),
    ];
    for (const ask of others) world.deliver(ask);
    await world.run({
      until: () =>
        others.every(({ requestId }) => world.records.get(requestId)?.state === "waiting"),
    });
    await handle(world, homeOpened);
    await handle(world, { ...homeOpened, user: "U2" });
    await handle(world, { ...homeOpened, user: "U3" });
    expect(world.homes.map(({ user }) => user)).toEqual(["U1", "U2", "U3"]);
    expect([0, 1, 2].map((index) => cancelable(world, index))).toEqual([
      [own.requestId],
      [others[0]?.requestId],
      [],
    ]);
  });

  it("the App Home hides tasks that are over", async () => {
    const world = createWorld();
    await world.deliver(own).run();
    await handle(world, homeOpened);
    expect(cancelable(world)).toEqual([]);
    expect(JSON.stringify(world.homes)).toContain("You have no tasks in progress.");
    expect(JSON.stringify(world.homes)).not.toContain(own.message.text);
  });

  it("the App Home shows ten tasks at most and says that there are more", async () => {
    const world = createWorld({ pollsUntilDone: 1000 });
    const asks = Array.from({ length: 12 }, (_, n) =>
      numberedAsk(n, { ts: `${askedAtMs / 1000}.00${100 + n}` }),
    );
    for (const ask of asks) world.deliver(ask);
    await world.run({
      until: () => asks.every(({ requestId }) => world.records.get(requestId)?.state === "waiting"),
    });
    await handle(world, homeOpened);
    expect(cancelable(world)).toHaveLength(10);
    expect(JSON.stringify(world.homes)).toContain("There are more.");
  });

  it("a failed update of the App Home has no effect on tasks", async () => {
    const world = await atWork({ fault: refuseHome });
    world.interact(homeOpened);
    await world.run({ maxSteps: 20 });
    expect(world.homes).toEqual([]);
    expect(world.taskOf(own)?.state).toBe("waiting");
    expect(world.archive).toEqual([]);
  });
});

describe("the button to cancel of the App Home", () => {
  it("cancels the task and updates the view at once", async () => {
    const world = await atWork();
    await handle(world, homeOpened);
    await handle(world, press());
    expect(cancelable(world)).toEqual([]);
    expect(JSON.stringify(world.homes.at(-1))).toContain("Canceling");
    await world.run();
    expect(world.taskOf(own)?.outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("only updates the App Home for a click on a task that is over", async () => {
    const world = createWorld();
    await world.deliver(own).run();
    await handle(world, press());
    expect(world.homes.map(({ user }) => user)).toEqual(["U1"]);
    expect(cancelable(world)).toEqual([]);
    expect(world.cancels).toEqual([]);
  });

  it.each([
    ["another person", { user: "U2" }],
    ["the same person of another workspace", { team: "T2" }],
    ["nobody's task", { requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c98" }],
  ])(
    "ignores a cancel click for a task that the App Home does not show: %s",
    async (_who, change) => {
      const world = await atWork({ gate: { mayCancel: async () => true } });
      await handle(world, press(change));
      expect(world.homes).toEqual([]);
      expect(world.taskOf(own)?.cancelReason).toBeUndefined();
      await world.run({ maxSteps: 20 });
      expect(world.cancels).toEqual([]);
    },
  );

  it("accepts a cancel click from another workspace of the organization of the installation", async () => {
    const ask = numberedAsk(1, { enterprise: "E1" });
    const world = createWorld({ pollsUntilDone: 1000, cancelable: true });
    await world.deliver(ask).run({ until: () => world.taskOf(ask)?.state === "waiting" });
    await handle(world, press({ team: "T2", enterprise: "E2" }));
    expect(world.homes).toEqual([]);
    await handle(world, press({ team: "T2", enterprise: "E1" }));
    expect(JSON.stringify(world.homes.at(-1))).toContain("Canceling");
    await world.run();
    expect(world.taskOf(ask)?.outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
  });

  it("checks the same permission as the button in the thread", async () => {
    const world = await atWork({ gate: { mayCancel: async () => false } });
    await handle(world, press());
    await world.run({ maxSteps: 20 });
    expect(world.cancels).toEqual([]);
    expect(cancelable(world)).toEqual([own.requestId]);
  });

  it("cancels even if the App Home cannot be updated", async () => {
    const world = await atWork({ fault: refuseHome });
    await handle(world, press());
    await world.run();
    expect(world.taskOf(own)?.outcome).toMatchObject({
      type: "failed",
      reason: "canceled",
    });
  });
});
