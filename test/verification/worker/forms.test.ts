/** A question with fields: the modal opens for whoever may answer, and what is submitted reaches the agent once, whatever happens. */
import { describe, expect, it } from "@jest/globals";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { ButtonClick, FormSubmitted } from "@sekisho/verification/task/messages.ts";
import { faultKinds, type MaybeFault, nthFault } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const fields: QuestionField[] = [
  {
    id: "region",
    label: "Region",
    type: "choice",
    required: true,
    options: [
      { id: "eu", label: "Europe" },
      { id: "ap", label: "Asia" },
    ],
  },
  { id: "copies", label: "Copies", type: "number", min: 1 },
];
type World = ReturnType<typeof createWorld>;

function click(
  changes: Partial<ButtonClick> = {},
  triggerId: string | undefined = "1.1.a",
): ButtonClick {
  const trigger = triggerId !== undefined && { triggerId };
  return sampleClick({ type: "open_form", question: 0, ...trigger }, changes);
}

const submissions = [
  "00000000-0000-5000-8000-00000000000a",
  "00000000-0000-5000-8000-00000000000b",
] as const;

function submit(changes: Partial<FormSubmitted> = {}): FormSubmitted {
  return {
    type: "form_submitted",
    requestId: ask.requestId,
    team: "T1",
    user: "U1",
    atMs: askedAtMs + 65_000,
    question: 0,
    values: { 0: "1", 1: 2 },
    submissionId: submissions[0],
    ...changes,
  };
}

async function askingWorld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({ questions: [{ prompt: "Where?", fields }], ...options });
  world.deliver(ask);
  const record = () => world.taskOf(ask);
  await world.run({
    until: () => record()?.question?.ts !== undefined && record()?.lease === undefined,
  });
  return world;
}

const refusals = (world: World) => world.ephemeralMessages.map(({ text }) => JSON.parse(text).type);

describe("the button of a question with fields", () => {
  it("opens the modal for a person who can answer, once for a repeated click", async () => {
    const world = await askingWorld();
    for (let time = 0; time < 2; time++) await world.clickButton(click()).run({ maxSteps: 1 });
    expect(world.modals).toHaveLength(1);
    const [{ view } = { view: undefined }] = world.modals;
    expect(view?.blocks).toMatchObject([
      { type: "section", text: { text: "Where?" } },
      { type: "input", block_id: "0", optional: false, element: { type: "static_select" } },
      {
        type: "input",
        block_id: "1",
        optional: true,
        element: { type: "number_input", min_value: "1" },
      },
    ]);
    expect(JSON.parse(view?.private_metadata ?? "")).toEqual({
      requestId: ask.requestId,
      question: 0,
      locale: "en",
    });
    expect(world.ephemeralMessages).toEqual([]);
    expect(world.replies).toEqual([]);
  });

  it.each<[string, ButtonClick, string]>([
    ["for somebody else", click({ user: "U2" }), "not_yours"],
    ["after three seconds", click({}, "late"), "form_too_late"],
    [
      "without a trigger",
      { ...click(), button: { type: "open_form", question: 0 } },
      "form_not_opened",
    ],
    [
      "of an earlier question",
      { ...click(), button: { type: "open_form", question: 7, triggerId: "1.1.a" } },
      "past",
    ],
  ])("says why the modal does not open: %s", async (_what, click, refusal) => {
    const world = await askingWorld();
    await world.clickButton(click).run({ maxSteps: 1 });
    expect([world.modals, refusals(world)]).toEqual([[], [refusal]]);
  });

  it("names the person who has already answered", async () => {
    const world = await askingWorld({ pollsUntilDone: 2, gate: { mayAnswer: async () => true } });
    await world.interact(submit()).run();
    await world.clickButton(click({ user: "U2" })).run();
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U2", text: expect.stringContaining('"by":"U1"') },
    ]);
    expect(world.modals).toEqual([]);
  });
});

describe("a submitted form", () => {
  it("sends the values by the ids of the fields and shows them in the question", async () => {
    const text = createTaskText({ locale: "en" });
    const world = await askingWorld({ text: { question: text.question } });
    await world.interact(submit()).run();
    expect(world.replies).toMatchObject([
      {
        params: {
          task_id: "t-1",
          fields: { region: "ap", copies: 2 },
          user_id: "U1",
          question_id: "q-0",
        },
      },
    ]);
    for (const absent of ["text", "option_id"])
      expect(world.replies[0]?.params).not.toHaveProperty(absent);
    expect(world.questions()[0]).toMatch(
      /^Where\?\n\n✔ Answered — <@U1>.*\n> Region: Asia\n> Copies: 2$/,
    );
    expect(world.answers()).toEqual(["A checkpoint."]);
    const storedText = JSON.stringify(world.taskOf(ask)?.question);
    expect(storedText).not.toMatch(/Asia|region|"ap"/);
  });

  it("treats a repeated submission as the same answer without a notice", async () => {
    const world = await askingWorld();
    for (let time = 0; time < 3; time++)
      world.interact(submit({ atMs: askedAtMs + 65_000 + time }));
    await world.run();
    expect(world.replies).toHaveLength(1);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("refuses a submission after another one and names the person who answered", async () => {
    const world = await askingWorld({ pollsUntilDone: 2, gate: { mayAnswer: async () => true } });
    world.interact(submit());
    await world
      .interact(submit({ user: "U2", values: { 0: "0" }, submissionId: submissions[1] }))
      .run();
    expect(world.replies).toMatchObject([{ params: { fields: { region: "ap" }, user_id: "U1" } }]);
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U2", text: expect.stringContaining('"answered"') },
    ]);
  });

  it("ignores a submission by another person, with invalid values, or for another question", async () => {
    const world = await askingWorld();
    await world.interact(submit({ user: "U2" })).run({ maxSteps: 1 });
    await world.interact(submit({ values: { 0: "7" } })).run({ maxSteps: 1 });
    await world.interact(submit({ question: 1 })).run({ maxSteps: 1 });
    expect(refusals(world)).toEqual(["not_yours", "form_not_opened", "past"]);
    expect(world.replies).toEqual([]);
    expect(world.taskOf(ask)).toMatchObject({ state: "asking" });
  });

  it("waits with a submission while a worker acts on the task", async () => {
    const world = await askingWorld();
    world.changeTask(ask, { lease: { owner: "another", untilMs: world.now() + 20_000 } });
    await world.interact(submit()).run();
    expect(world.replies).toMatchObject([{ params: { fields: { region: "ap", copies: 2 } } }]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("sends a submission to the agent exactly once after any fault at any operation", async () => {
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
        world.interact(submit());
        await world.interact(submit()).run();
        expect({ fault, nth, given: world.replies.map(({ params }) => params.fields) }).toEqual({
          fault,
          nth,
          given: [{ region: "ap", copies: 2 }],
        });
        expect(world.answers()).toEqual(["A checkpoint."]);
        if (!isOver) break;
      }
    }
  });
});
