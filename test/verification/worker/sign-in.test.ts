/** A question with a link to sign in: the link goes to the person who asked, and to nobody else, whatever is clicked when. */
import { describe, expect, it } from "@jest/globals";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { ButtonClick, FormSubmitted } from "@sekisho/verification/task/messages.ts";
import type { AgentQuestion } from "@sekisho/verification/task/task.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { faultKinds, type MaybeFault, nthFault } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const url = "https://sign-in.example/start?state=hunter2";
const question = { prompt: `Sign in, or copy ${url}`, kind: "auth" as const, url };
type World = ReturnType<typeof createWorld>;

function click(changes: Partial<ButtonClick> = {}, triggerId = "1.1.a"): ButtonClick {
  return sampleClick({ type: "open_form", question: 0, triggerId }, changes);
}

function confirm(changes: Partial<FormSubmitted> = {}): FormSubmitted {
  return {
    type: "form_submitted",
    requestId: ask.requestId,
    team: "T1",
    user: "U1",
    atMs: askedAtMs + 65_000,
    question: 0,
    values: {},
    submissionId: "00000000-0000-5000-8000-00000000000a",
    ...changes,
  };
}

const { lines, log } = collectLog({ level: "debug" });

async function askingWorld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({
    ...{ questions: [question], text: createTaskText({ locale: "en" }), cancelable: true, log },
    ...options,
  });
  world.deliver(ask);
  const record = () => world.taskOf(ask);
  await world.run({
    until: () => record()?.question?.ts !== undefined && record()?.lease === undefined,
  });
  return world;
}

/** Everything that others than the person who asked could read. */
const publicText = (world: World) =>
  JSON.stringify([world.posts, world.ephemeralMessages, lines, world.homes]);

describe("the thread of a question with a link to sign in", () => {
  it("shows that it waits for the person who asked, and nothing of the link or of the agent's words", async () => {
    const world = await askingWorld();
    expect(world.questions()).toEqual([
      expect.stringMatching(/^Waiting for <@U1> to sign in\.\n\nThe link works until <!date/),
    ]);
    expect(publicText(world)).not.toMatch(/hunter2|Sign in, or copy/);
  });

  it("names the person who has signed in, and the agent learns who it was", async () => {
    const world = await askingWorld();
    await world.interact(confirm()).run();
    expect(world.questions()).toEqual([expect.stringMatching(/^✔ Signed in — <@U1>, /)]);
    expect(world.replies).toMatchObject([
      { params: { task_id: "t-1", text: "Signed in.", user_id: "U1", question_id: "q-0" } },
    ]);
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(JSON.stringify([...world.records.values()])).not.toContain("hunter2");
    expect(publicText(world)).not.toContain("hunter2");
  });

  it("goes on by itself if the agent finds the credentials first", async () => {
    const world = await askingWorld({ questions: [{ ...question, solvedAfterPolls: 2 }] });
    await world.run();
    expect(world.replies).toEqual([]);
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(JSON.stringify([...world.records.values()])).not.toContain("hunter2");
  });

  it("says that nobody signed in, and erases the link, after the question has expired", async () => {
    const world = await askingWorld({ policy: { questionMs: 120_000 } });
    world.pass(121_000);
    await world.run();
    expect(world.questions()).toEqual(["⌛ Nobody signed in in time."]);
    expect(world.cancels).toMatchObject([{ params: { reason: "unanswered" } }]);
    expect(JSON.stringify([...world.records.values()])).not.toContain("hunter2");
  });

  it("takes no reply in words, and tells its writer", async () => {
    const world = await askingWorld();
    const reply = (n: number, user: string) =>
      world.deliver(
        numberedAsk(n, {
          ...{ threadTs: ask.message.ts, ts: (askedAtMs / 1000 + 100 + n).toFixed(6) },
          ...{ text: "I'm in", user },
        }),
      );
    reply(1, "U1");
    await reply(2, "U2").run({ until: () => world.ephemeralMessages.length > 1 });
    const told = world.ephemeralMessages.map(({ user, text }) => [user, text]);
    expect(told).toContainEqual([
      "U1",
      expect.stringMatching(/can't take a reply to this question/),
    ]);
    expect(world.replies).toEqual([]);
    expect(world.starts).toEqual([ask.requestId]);
    expect(world.taskOf(ask)?.state).toBe("asking");
  });
});

describe("the button of a question with a link to sign in", () => {
  it("opens the modal with the link for the person who asked", async () => {
    const world = await askingWorld();
    await world.clickButton(click()).run({ maxSteps: 1 });
    expect(world.modals).toHaveLength(1);
    const { view } = world.modals[0] ?? {};
    expect(view).toMatchObject({
      title: { text: "Sign in" },
      submit: { text: "I have signed in" },
      callback_id: "sekisho_question",
    });
    expect(JSON.stringify(view?.blocks)).toContain("*sign-in.example*");
    const elements = view?.blocks.flatMap((block) => Object(block).elements ?? []) ?? [];
    expect(elements).toContainEqual(expect.objectContaining({ type: "button", url }));
    expect(view?.private_metadata).not.toContain("hunter2");
    expect(world.ephemeralMessages).toEqual([]);
  });

  it.each([
    ["another person", { user: "U2" }, { mayAnswer: async () => false }],
    ["a person of another organization with the same id", { userTeam: "T9" }, {}],
    ["another person on the App Home", { user: "U2", channel: undefined }, {}],
    ["a person in another channel", { channel: "C9" }, {}],
  ])("shows nothing of the link to %s", async (_who, changes, gate) => {
    const world = await askingWorld({ gate });
    await world.clickButton(click(changes)).run({ maxSteps: 2 });
    expect(world.modals).toEqual([]);
    expect(publicText(world)).not.toContain("hunter2");
  });

  it("tells the person who asked in a modal that the link has expired, and nobody else", async () => {
    const world = await askingWorld({ policy: { questionMs: 120_000 } });
    world.pass(121_000);
    await world.clickButton(click()).run({ maxSteps: 1 });
    await world.clickButton(click({ user: "U2" }, "1.1.b")).run();
    await world.clickButton(click({}, "1.1.c")).run();
    const texts = world.modals.map(({ view }) => JSON.stringify(view.blocks));
    expect(texts).toEqual([
      expect.stringContaining("This link has expired"),
      expect.stringContaining("This link has expired"),
    ]);
    for (const { view } of world.modals) expect(view).not.toHaveProperty("submit");
    expect(texts.join()).not.toContain("hunter2");
    expect(world.ephemeralMessages.map(({ user }) => user)).toEqual(["U2"]);
  });

  it("opens no link after the confirmation", async () => {
    const world = await askingWorld({ pollsUntilDone: 3 });
    await world.interact(confirm()).run();
    await world.clickButton(click()).run();
    expect(JSON.stringify(world.modals)).toContain("has already answered this");
    expect(JSON.stringify(world.modals)).not.toContain("hunter2");
  });

  it("opens no modal for a button of an earlier question", async () => {
    const world = await askingWorld();
    const button = { type: "open_form", question: 7, triggerId: "1.1.a" } as const;
    await world.clickButton(click({ button })).run({ maxSteps: 1 });
    expect(world.modals).toEqual([]);
  });
});

describe("a confirmation", () => {
  it.each<[string, Partial<FormSubmitted>]>([
    ["of another person", { user: "U2" }],
    ["of a person of another organization", { userTeam: "T9" }],
    ["of another question", { question: 1 }],
  ])("has no effect: %s", async (_whose, changes) => {
    const world = await askingWorld();
    await world.interact(confirm(changes)).run({ maxSteps: 1 });
    expect(world.replies).toEqual([]);
    expect(world.taskOf(ask)?.question).toMatchObject({ signIn: { url } });
  });

  it("has no effect on a question that the agent has worded anew without a link", async () => {
    const world = await askingWorld();
    const { signIn: _signIn, ...asked } = world.taskOf(ask)?.question ?? {};
    world.changeTask(ask, { question: asked as AgentQuestion });
    await world.interact(confirm()).run({ maxSteps: 1 });
    expect(world.replies).toEqual([]);
    expect(world.taskOf(ask)?.question?.answer).toBeUndefined();
  });

  it("has no effect after the question has expired", async () => {
    const world = await askingWorld({ policy: { questionMs: 120_000 } });
    world.pass(121_000);
    await world.interact(confirm()).run();
    expect(world.replies).toEqual([]);
  });

  it("never answers the next question when it is repeated", async () => {
    const world = await askingWorld({ questions: [question, question] });
    for (let time = 0; time < 3; time++) world.interact(confirm());
    await world.run({ until: () => world.taskOf(ask)?.question?.index === 1 });
    await world.interact(confirm()).run({ maxSteps: 5 });
    expect(world.replies).toHaveLength(1);
    expect(world.taskOf(ask)?.question?.answer).toBeUndefined();
  });

  it("reaches the agent exactly once after any fault at any operation, and the link is gone", async () => {
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
        world.interact(confirm());
        await world.interact(confirm()).run();
        const given = world.replies.map(({ params }) => [params.text, params.user_id]);
        expect({ fault, nth, given }).toEqual({ fault, nth, given: [["Signed in.", "U1"]] });
        expect(world.answers()).toEqual(["A checkpoint."]);
        expect(JSON.stringify([...world.records.values()])).not.toContain("hunter2");
        expect(publicText(world)).not.toContain("hunter2");
        if (!isOver) break;
      }
    }
  });
});
