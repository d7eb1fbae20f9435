/** A question that several people must answer alike: each click counts once, whatever happens meanwhile. */
import { describe, expect, it } from "@jest/globals";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { ButtonClick } from "@sekisho/verification/task/messages.ts";
import { faultKinds, type MaybeFault, nthFault } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const options = [
  { id: "go", label: "Deploy" },
  { id: "no", label: "Leave it", style: "danger" },
];
const question = { prompt: "Deploy?", options, answerers: "not-asker" as const, approvals: 2 };
type World = ReturnType<typeof createWorld>;

function click(user: string, option = 0, changes: Partial<ButtonClick> = {}): ButtonClick {
  return sampleClick({ type: "answer", question: 0, option }, { user, ...changes });
}

const isOpen = (world: World) => {
  const task = world.taskOf(ask);
  return task?.question?.ts !== undefined && task.lease === undefined;
};

async function askingWorld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({
    ...{ questions: [question], text: createTaskText({ locale: "en" }), cancelable: true },
    gate: { mayAnswer: async ({ person, task }) => person.user !== task.message.user },
    ...options,
  });
  world.deliver(ask);
  await world.run({ until: () => isOpen(world) });
  return world;
}

const untilShown = (world: World, count: number) =>
  world.run({ until: () => isOpen(world) && world.questions().join().includes(`${count} of 2`) });

describe("a question for two people", () => {
  it("says who may answer, and how many must agree", async () => {
    const world = await askingWorld();
    expect(world.questions()[0]).toMatch(
      /Anyone who can ask here can answer, except <@U1>\. 2 people must agree\. One alone can choose \*Leave it\*\.\n.*Press a button\. Replies in this thread don't count\./,
    );
  });

  it("shows the first approval, and goes on with the second one", async () => {
    const world = await askingWorld();
    world.clickButton(click("U2"));
    await untilShown(world, 1);
    expect(world.questions()[0]).toContain("1 of 2 approved: <@U2>");
    expect(world.replies).toEqual([]);
    await world.clickButton(click("U3")).run();
    expect(world.replies).toMatchObject([
      { params: { option_id: "go", user_id: "U3", approved_by: ["U2", "U3"] } },
    ]);
    expect(world.questions()[0]).toMatch(/✔ \*Deploy\* — <@U2>, <@U3>, /);
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("counts a person once, however often they click", async () => {
    const world = await askingWorld();
    for (let time = 0; time < 5; time++)
      world.clickButton(click("U2", 0, { atMs: askedAtMs + 60_000 + time }));
    await untilShown(world, 1);
    await world.handleDue();
    const { revision } = world.taskOf(ask) ?? {};
    world.clickButton(click("U2", 0, { atMs: askedAtMs + 90_000 }));
    await world.handleDue();
    expect(world.replies).toEqual([]);
    expect(world.taskOf(ask)).toMatchObject({
      revision,
      question: { approvals: { given: [{ user: "U2" }] } },
    });
  });

  it("never counts the person who asked", async () => {
    const world = await askingWorld();
    world.clickButton(click("U1"));
    world.clickButton(click("U2"));
    await untilShown(world, 1);
    expect(world.taskOf(ask)?.question?.approvals?.given).toMatchObject([{ user: "U2" }]);
    expect(world.ephemeralMessages).toMatchObject([{ user: "U1" }]);
  });

  it("ends with the first person who chooses an option of the style danger", async () => {
    const world = await askingWorld();
    world.clickButton(click("U2"));
    await untilShown(world, 1);
    await world.clickButton(click("U3", 1)).run();
    expect(world.replies).toMatchObject([{ params: { option_id: "no", user_id: "U3" } }]);
    expect(world.replies[0]?.params).not.toHaveProperty("approved_by");
    expect(world.questions()[0]).toMatch(/✔ \*Leave it\* — <@U3>, .*\n1 of 2 approved: <@U2>/);
  });

  it("takes no reply in words, tells its writer, and starts no task for it", async () => {
    const world = await askingWorld();
    const place = { threadTs: ask.message.ts, ts: (askedAtMs / 1000 + 101).toFixed(6) };
    for (const unaddressed of [true, undefined] as const) {
      const reply = numberedAsk(unaddressed ? 1 : 2, {
        ...{ ...place, text: "Deploy", user: "U2" },
        ...(unaddressed && { unaddressed }),
      });
      await world.deliver(reply).run({ until: () => world.taskOf(reply)?.state === "done" });
    }
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U2", text: expect.stringContaining("Press one of its buttons") },
      { user: "U2" },
    ]);
    expect(world.replies).toEqual([]);
    expect(world.starts).toEqual([ask.requestId]);
    expect(world.taskOf(ask)?.question?.approvals?.given).toEqual([]);
  });

  it("keeps the approvals in the thread when the question expires", async () => {
    const world = await askingWorld({ policy: { questionMs: 120_000 } });
    world.clickButton(click("U2"));
    await untilShown(world, 1);
    world.pass(121_000);
    await world.run();
    expect(world.questions()[0]).toMatch(
      /⌛ Too few people agreed in time\.\n1 of 2 approved: <@U2>/,
    );
    expect(world.replies).toEqual([]);
  });

  it("takes two clicks at the same time, and each of them once", async () => {
    const world = await askingWorld();
    world.clickButton(click("U2"));
    world.clickButton(click("U3"));
    await world.runTwiceAtOnce();
    await world.run();
    expect(world.replies).toHaveLength(1);
    expect(new Set(world.replies[0]?.params.approved_by as string[])).toEqual(
      new Set(["U2", "U3"]),
    );
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("tells nobody anything about a repeated click after the answer", async () => {
    const world = await askingWorld();
    world.clickButton(click("U2"));
    world.clickButton(click("U3"));
    await world.run();
    world.clickButton(click("U2"));
    await world.clickButton(click("U3")).run();
    expect(world.ephemeralMessages).toEqual([]);
    expect(world.replies).toHaveLength(1);
  });

  it("reaches the agent exactly once, with both people, after any fault at any operation", async () => {
    for (const fault of faultKinds) {
      for (let nth = 0; ; nth++) {
        let isOver = false;
        let isArmed = false;
        const faultOf = nthFault(nth, fault);
        const world = await askingWorld({
          fault: (operation): MaybeFault => {
            if (!isArmed) return;
            const nextFault = faultOf(operation);
            isOver ||= nextFault !== false;
            return nextFault;
          },
        });
        isArmed = true;
        world.clickButton(click("U2"));
        world.clickButton(click("U2"));
        world.clickButton(click("U1"));
        await world.clickButton(click("U3")).run();
        const given = world.replies.map(({ params }) => {
          const people = params.approved_by as string[];
          return [params.option_id, people.toSorted()];
        });
        expect({ fault, nth, given }).toEqual({ fault, nth, given: [["go", ["U2", "U3"]]] });
        expect(world.answers()).toEqual(["A checkpoint."]);
        if (!isOver) break;
      }
    }
  });
});

describe("a question that nobody could answer", () => {
  it("ends its task: the person reads why, and the host is asked to cancel it", async () => {
    const world = createWorld({
      ...{ questions: [question], text: createTaskText({ locale: "en" }), cancelable: true },
      policy: { answerBy: "asker" },
    });
    await world.deliver(ask).run();
    expect(world.questions()).toEqual([]);
    expect(world.answers()).toEqual([
      expect.stringContaining("The agent asked a question that nobody here can answer"),
    ]);
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1" } }]);
    expect(world.starts).toHaveLength(1);
  });
});
