/** The agent asks a person: by button or in words, answered once, and never lost. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { AskMessage, ButtonClick } from "@sekisho/verification/task/messages.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import {
  deaths,
  type Fault,
  faultKinds,
  type MaybeFault,
  nthFault,
  plannedFaults,
  refuseContent,
} from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk, sampleFile, sampleTask } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();

const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];

const question = { prompt: "Shall I?", options };
type World = ReturnType<typeof createWorld>;

function buttonClick(changes: Partial<ButtonClick> = {}, option = 0, index = 0): ButtonClick {
  return sampleClick({ type: "answer", question: index, option }, changes);
}

/** The agent has asked, and waits. */
async function askingWorld(options: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({ questions: [question], ...options });
  world.deliver(ask);
  await untilAsked(world);
  return world;
}

/** The question of that index is shown, and no worker holds its task. */
function untilAsked(world: World, index = 0): Promise<void> {
  const record = () => world.taskOf(ask);
  const isAsked = () => record()?.question?.index === index && record()?.question?.ts !== undefined;
  return world.run({ until: () => isAsked() && record()?.lease === undefined });
}

describe("a question", () => {
  it("accepts an answer although its record is written at the same moment", async () => {
    let isWritten = false;
    async function mayAnswer() {
      const { revision } = world.taskOf(ask) ?? { revision: 0 };
      if (!isWritten) world.changeTask(ask, { revision: revision + 1 });
      isWritten = true;
      return true;
    }
    const world: World = createWorld({ questions: [question], gate: { mayAnswer } });
    world.deliver(ask);
    await untilAsked(world);
    await world.clickButton(buttonClick()).run();
    expect([world.replies.length, world.answers()]).toEqual([1, ["A checkpoint."]]);
  });

  it("sends the option of a clicked button and posts the answer below the question", async () => {
    const world = await askingWorld();
    await world.clickButton(buttonClick()).run();
    expect(world.replies).toMatchObject([
      {
        question: 0,
        params: { task_id: "t-1", option_id: "yes", user_id: "U1", question_id: "q-0" },
      },
    ]);
    expect(world.replies[0]?.params).not.toHaveProperty("text");
    expect(world.posts.map(({ text }) => text)).toEqual(["Shall I? U1: 0", "A checkpoint."]);
    expect(world.ephemeralMessages).toEqual([]);
  });

  it("polls again soon after a push that comes before the reply is stored", async () => {
    let repliedAtMs: number | undefined;
    let polledAtMs: number | undefined;
    const world = await askingWorld({
      pollsUntilDone: 1,
      pollAfterMs: 60_000,
      async fault({ name }): Promise<undefined> {
        if (name === "get_task" && repliedAtMs !== undefined) polledAtMs ??= world.now();
        if (name !== "answer_task" || repliedAtMs !== undefined) return;
        repliedAtMs = world.now();
        await world.push(JSON.stringify({ request_id: ask.requestId, task_id: "t-1" }));
      },
    });
    await world.clickButton(buttonClick()).run();
    expect((polledAtMs ?? Number.NaN) - (repliedAtMs ?? 0)).toBeLessThan(5000);
    expect(world.replies).toHaveLength(1);
    expect(world.answers()).toHaveLength(1);
  });

  it("shows the question in the placeholder and updates it after the answer", async () => {
    const { placeholder } = createTaskText({ locale: "en" });
    const world = await askingWorld({ text: { placeholder }, pollsUntilDone: 3 });
    const placeholderText = () => world.posts.find(({ key }) => key?.kind === "placeholder")?.text;
    const askingTask = sampleTask({ state: "asking" });
    expect(placeholderText()).toBe(placeholder(askingTask).text);
    await world.clickButton(buttonClick()).run({ until: () => world.replies.length > 0 });
    expect(placeholderText()).toBe(placeholder({ ...askingTask, state: "waiting" }).text);
  });

  it.each([false, true])(
    "keeps the text written before the question, even after a cancel: streaming %s",
    async (streaming) => {
      const text = createTaskText({ locale: "en" });
      const world = await askingWorld({
        text,
        slack: { streaming },
        cancelable: true,
        pollsUntilDone: 3,
        progress: () => ({ partial_text: "Written so far." }),
      });
      const findAnswers = () => world.posts.filter(({ key }) => key?.kind !== "question");
      await world.clickButton(buttonClick({ button: { type: "cancel" } })).run();
      const questionPost = world.posts.find(({ key }) => key?.kind === "question");
      expect(findAnswers().map((post) => post.text)).toEqual([
        expect.stringContaining("Written so far."),
      ]);
      // Below the question, where the person is reading.
      expect(Number(findAnswers()[0]?.ts)).toBeGreaterThan(Number(questionPost?.ts));
      expect([...world.marks]).toEqual([]);
    },
  );

  it("updates the placeholder when the agent continues after a question for credentials", async () => {
    const { placeholder } = createTaskText({ locale: "en" });
    const asks = { prompt: "Sign in.", kind: "auth" as const, solvedAfterPolls: 2 };
    const world = await askingWorld({
      text: { placeholder },
      questions: [asks],
      pollsUntilDone: 3,
    });
    const placeholderText = () => world.posts.find(({ key }) => key?.kind === "placeholder")?.text;
    const askingTask = sampleTask({ state: "asking" });
    expect(placeholderText()).toBe(placeholder(askingTask).text);
    const record = () => world.taskOf(ask);
    await world.run({
      until: () => record()?.state === "waiting" && record()?.lease === undefined,
    });
    expect(placeholderText()).toBe(placeholder({ ...askingTask, state: "waiting" }).text);
  });

  it("accepts a reply without a mention and only marks it with a reaction", async () => {
    const world = await askingWorld();
    await world.deliver(reply(1, { text: "Only on Tuesday" })).run();
    expect(world.replies).toMatchObject([{ params: { text: "Only on Tuesday", user_id: "U1" } }]);
    expect(world.replies[0]?.params).not.toHaveProperty("option_id");
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toEqual([ask.requestId]);
    expect([...world.marks]).toContain(`${reply(1, { text: "" }).message.ts} check`);
    expect(world.taskOf(reply(1, { text: "" }))).toMatchObject({
      state: "done",
      message: { text: "" },
    });
  });

  it("accepts a reply with a mention and a reply in a direct message", async () => {
    for (const changes of [{ unaddressed: undefined }, { unaddressed: undefined, direct: true }]) {
      const world = await askingWorld();
      await world.deliver(reply(1, { text: "Yes", ...changes })).run();
      expect(world.replies).toMatchObject([{ params: { text: "Yes" } }]);
      expect(world.starts).toHaveLength(1);
    }
  });

  it("accepts a reply even if replies in threads are switched off", async () => {
    const world = await askingWorld({ policy: { threadReplies: false } });
    await world.deliver(reply(1, { text: "Yes" })).run();
    expect(world.replies).toHaveLength(1);
  });

  it("accepts the first click and names its person and time to the second person", async () => {
    const world = await askingWorld({ pollsUntilDone: 2, gate: { mayAnswer: async () => true } });
    world.clickButton(buttonClick({ user: "U2" }));
    await world.clickButton(buttonClick({ user: "U3", atMs: askedAtMs + 61_000 }, 1)).run();
    expect(world.replies).toMatchObject([{ params: { option_id: "yes", user_id: "U2" } }]);
    const words = JSON.stringify({ type: "answered", by: "U2", atMs: askedAtMs + 60_000 });
    expect(world.ephemeralMessages).toEqual([
      { user: "U3", channel: "C1", threadTs: ask.message.ts, text: words },
    ]);
  });

  it("treats a repeated click or reply as the same answer", async () => {
    const clickWorld = await askingWorld();
    for (let times = 0; times < 3; times++) clickWorld.clickButton(buttonClick());
    await clickWorld.run();
    const replyWorld = await askingWorld();
    for (let times = 0; times < 3; times++) replyWorld.deliver(reply(1, { text: "Yes" }));
    await replyWorld.run();
    for (const world of [clickWorld, replyWorld]) {
      expect(world.replies).toHaveLength(1);
      expect(world.ephemeralMessages).toEqual([]);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("refuses an answer of a person who is not allowed, and tells only them", async () => {
    const world = await askingWorld();
    world.clickButton(buttonClick({ user: "U2" }));
    world.deliver(reply(1, { text: "Do it", user: "U2" }));
    await world
      .deliver(reply(2, { text: "Do it now", user: "U2", unaddressed: undefined }))
      .run({ until: () => world.ephemeralMessages.length > 1 });
    expect(world.replies).toEqual([]);
    const words = '{"type":"not_yours"}';
    // The message that did not speak to the bot is left alone; none is a task behind the question.
    expect(world.ephemeralMessages.map(({ user, text }) => [user, text])).toEqual([
      ["U2", words],
      ["U2", words],
    ]);
    expect(world.answers()).toEqual([]);
    expect(world.starts).toEqual([ask.requestId]);
  });

  it("refuses an empty reply", async () => {
    const world = await askingWorld();
    world.deliver(reply(1, { text: "", unaddressed: undefined }));
    world.deliver(reply(2, { text: "" }));
    const isOver = (n: number) => world.taskOf(reply(n, { text: "" }))?.state === "done";
    await world.run({ until: () => isOver(1) && isOver(2) });
    expect(world.replies).toEqual([]);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual([
      '{"type":"failed","reason":"invalid_params","lost":false}',
    ]);
    expect(world.taskOf(ask)?.state).toBe("asking");
  });

  it("cancels the task of an expired question and refuses a late click", async () => {
    const world = await askingWorld({ policy: { questionMs: 120_000 }, cancelable: true });
    world.clickButton(buttonClick());
    world.pass(121_000);
    await world.run();
    expect(world.replies).toEqual([]);
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "unanswered" } }]);
    expect(world.answers()).toEqual(['{"type":"unanswered"}']);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"expired"}']);
    expect(world.questions()).toEqual(["Shall I? It is too late."]);
  });

  it("refuses a click on an answered question or on one that was never asked", async () => {
    const world = await askingWorld();
    await world.clickButton(buttonClick()).run();
    world.clickButton(buttonClick({ atMs: askedAtMs + 900_000 }, 1));
    world.clickButton(buttonClick({}, 0, 7));
    await world.clickButton(buttonClick({}, 9)).run();
    expect(world.ephemeralMessages.map(({ text }) => JSON.parse(text).type)).toEqual([
      "answered",
      "past",
      "answered",
    ]);
    expect(world.replies).toHaveLength(1);
  });

  it("asks a second question and never uses the first reply for it", async () => {
    const world = await askingWorld({
      questions: [question, { prompt: "Are you sure?", options }],
    });
    world.deliver(reply(1, { text: "Yes" }));
    await untilAsked(world, 1);
    world.deliver(reply(1, { text: "Yes" }));
    await world
      .clickButton(buttonClick({}, 0, 0))
      .run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.replies).toHaveLength(1);
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"past"}']);
    await world.clickButton(buttonClick({}, 1, 1)).run();
    expect(world.replies).toMatchObject([
      { question: 0, params: { text: "Yes", question_id: "q-0" } },
      { question: 1, params: { option_id: "no", question_id: "q-1" } },
    ]);
    expect(world.posts.map(({ text }) => text)).toEqual([
      "Shall I? U1: Yes",
      "Are you sure? U1: 1",
      "A checkpoint.",
    ]);
  });

  it("holds the thread of an open question, so that nothing overtakes it", async () => {
    const world = await askingWorld({
      policy: { questionMs: 5 * 3600_000 },
      gate: { mayAnswer: async ({ person }) => person.user === "U1" },
    });
    world.pass(4 * 3600_000);
    await world
      .deliver(reply(1, { text: "And what about me?", user: "U2", unaddressed: undefined }))
      .run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.ephemeralMessages.map(({ text }) => text)).toEqual(['{"type":"not_yours"}']);
    await world.clickButton(buttonClick()).run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toHaveLength(1);
    expect(world.threads.get(`thread:C1/${ask.message.ts}`)?.tasks).toEqual([]);
  });

  it("ends the question when its task is canceled", async () => {
    for (const how of ["button", "word"] as const) {
      const world = await askingWorld({ cancelable: true });
      if (how === "button") world.clickButton(buttonClick({ button: { type: "cancel" } }));
      else world.deliver(reply(1, { text: "cancel" }));
      await world.run();
      expect(world.cancels).toMatchObject([{ params: { task_id: "t-1", reason: "asked" } }]);
      expect(world.answers()).toContain('{"type":"failed","reason":"canceled","lost":false}');
      expect(world.questions()).toEqual(["Shall I? It is too late."]);
    }
  });

  it("asks without blocks if Slack refuses them", async () => {
    const world = await askingWorld({
      fault: refuseContent(({ text, blocks }) => text === "Shall I?" && blocks !== undefined),
    });
    expect(world.posts.find(({ text }) => text === "Shall I?")).toMatchObject({ blocks: [] });
  });

  it("accepts a click that comes while a worker acts on the task, once that is done", async () => {
    const world = createWorld({ questions: [question], gate: { mayAnswer: async () => true } });
    world.deliver(ask);
    await untilAsked(world);
    world.changeTask(ask, { lease: { owner: "w", untilMs: world.now() + 5000 } });
    await world.clickButton(buttonClick()).run({ maxSteps: 2 });
    expect(world.taskOf(ask)?.question?.answer).toBeUndefined();
    await world.run();
    expect(world.replies).toMatchObject([{ params: { option_id: "yes" } }]);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });
});

const staging = { prompt: "Deploy to staging?", options };
const production = { prompt: "Deploy to production?", options };

/** So many seconds after Slack showed the first message. */
const tsAfter = (seconds: number) => (askedAtMs / 1000 + seconds).toFixed(6);

/** Somebody's message in the thread; `n` tells them apart. */
function reply(n: number, message: Partial<AskMessage["message"]>): AskMessage {
  const place = { threadTs: ask.message.ts, ts: tsAfter(100 + n), unaddressed: true as const };
  return numberedAsk(n, { ...place, ...message });
}

describe("a reply that was written before the question was shown", () => {
  it("never uses an earlier reply as the answer and runs it as a task of its own later", async () => {
    const world = await askingWorld({ questions: [production] });
    await world
      .deliver(reply(1, { ts: tsAfter(0.5), text: "yes, and please hurry" }))
      .run({ until: () => world.taskOf(reply(1, {}))?.state === "queued" });
    expect(world.replies).toEqual([]);
    await world.clickButton(buttonClick({ atMs: world.now() })).run();
    expect(world.replies).toMatchObject([{ question: 0, params: { option_id: "yes" } }]);
    expect(world.sent.map(({ text }) => text)).toEqual([ask.message.text, "yes, and please hurry"]);
  });

  it("never uses a reply as the answer if it came before Slack accepted the question", async () => {
    let isBusy = true;
    const world: World = createWorld({
      questions: [production],
      fault({ name }) {
        if (!isBusy || name !== "post" || world.taskOf(ask)?.state !== "asking") return;
        isBusy = false;
        throw new SlackError("rate_limited", { retryAfterMs: 30_000 });
      },
    });
    await world
      .deliver(ask)
      .run({ until: () => !isBusy && world.taskOf(ask)?.lease === undefined });
    const question = world.taskOf(ask)?.question;
    expect(question?.ts).toBeUndefined();
    // In the world the question will have a later one.
    const ts = tsAfter(1);
    expect(Number(ts)).toBeGreaterThan((question?.askedAtMs ?? 0) / 1000);
    world.deliver(reply(1, { ts, text: "yes, and please hurry" }));
    await untilAsked(world);
    expect(Number(world.taskOf(ask)?.question?.ts)).toBeGreaterThan(Number(ts));
    await world.run({ until: () => world.taskOf(reply(1, {}))?.state === "queued" });
    expect(world.replies).toEqual([]);
    expect(world.questions()).toEqual([production.prompt]);
  });

  it.each(deaths)(
    "runs an earlier reply in its turn and answers the question once after a worker death (%s)",
    async (death) => {
      const early = reply(1, { ts: tsAfter(0.5), text: "yes, and please hurry" });
      for (let nth = 0; nth < 100; nth++) {
        const world = createWorld({ questions: [production], fault: nthFault(nth, death) });
        await world.deliver(ask).run({ until: () => world.threads.size > 0 });
        world.deliver(early);
        await untilAsked(world);
        await world.clickButton(buttonClick({ atMs: world.now() })).run();
        const [ofQuestion, ...others] = world.replies.map(({ params }) => params.option_id);
        expect({ nth, ofQuestion, others }).toEqual({ nth, ofQuestion: "yes", others: [] });
        expect({ nth, starts: world.starts }).toEqual({
          nth,
          starts: [ask.requestId, early.requestId],
        });
        // The agent asks whoever it works for; that second question nobody answers.
        expect({ nth, answers: world.answers() }).toEqual({
          nth,
          answers: ["A checkpoint.", '{"type":"unanswered"}'],
        });
      }
    },
  );

  it("never uses a reply that is late for the first question as the answer to the second", async () => {
    const world = await askingWorld({ questions: [staging, production] });
    world.deliver(reply(1, { text: "yes" }));
    await untilAsked(world, 1);
    const questionPost = world.posts.find(({ text }) => text.startsWith("Deploy to production"));
    await world
      .deliver(reply(2, { ts: (Number(questionPost?.ts) - 0.0005).toFixed(6), text: "ok go" }))
      .run({ until: () => world.taskOf(reply(2, {}))?.state === "queued" });
    expect(world.replies).toMatchObject([{ question: 0, params: { text: "yes" } }]);
    expect(world.taskOf(ask)?.question).toMatchObject({
      index: 1,
      prompt: production.prompt,
    });
  });
});

describe("a reply with files", () => {
  it("answers with the text of a reply and reports that its files are not sent", async () => {
    const world = await askingWorld();
    await world.deliver(reply(1, { text: "see the picture", files: [sampleFile] })).run();
    expect(world.replies).toMatchObject([{ params: { text: "see the picture" } }]);
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U1", threadTs: ask.message.ts, text: '{"type":"files_left"}' },
    ]);
  });

  it("refuses a reply with only files and reports that they are not sent", async () => {
    const world = await askingWorld();
    await world
      .deliver(reply(1, { text: "", files: [sampleFile] }))
      .run({ until: () => world.taskOf(reply(1, {}))?.state === "done" });
    expect(world.replies).toEqual([]);
    expect(world.ephemeralMessages).toMatchObject([{ user: "U1", text: '{"type":"files_left"}' }]);
    expect(world.taskOf(ask)?.state).toBe("asking");
  });
});

const deletions = ["Delete staging?", "Delete production?"].map((prompt) => ({ prompt, options }));

async function answer(world: World, index = 0): Promise<void> {
  await untilAsked(world, index);
  world.clickButton(buttonClick({ atMs: world.now() }, 0, index));
}

describe("a yes to a peer that does not know the repetition of a call", () => {
  it.each(["dies_after", "answer_lost"] as const)(
    "never uses a repeated answer for the next question at a peer that does not deduplicate (%s)",
    async (fault) => {
      for (const questionIds of [true, false]) {
        let answers = 0;
        let looks = 0;
        const world = createWorld({
          idempotent: false,
          questionIds,
          questions: deletions,
          fault({ name }): MaybeFault {
            if (name === "answer_task" && answers++ === 0) return fault;
            // The look for whether it arrived fails, too.
            return name === "get_task" && answers === 1 && looks++ === 0 && "refused";
          },
        });
        world.deliver(ask);
        await answer(world);
        await world.run({
          until: () => world.questions().length === 2 || world.answers().length > 0,
        });
        expect(world.replies.map(({ question }) => question)).toEqual([0]);
        expect(world.questions()).toEqual(["Delete staging? U1: 0", "Delete production?"]);
        await answer(world, 1);
        await world.run();
        expect(world.replies.map(({ question }) => question)).toEqual([0, 1]);
        expect(world.answers()).toEqual(["A checkpoint."]);
      }
    },
  );
});

describe("an approval", () => {
  it("sends the label of an option whose id cannot be sent", async () => {
    for (const id of ["", "x".repeat(129)]) {
      const world = createWorld({
        questions: [{ prompt: "Shall I?", options: [{ id, label: "Yes, do" }] }],
      });
      world.deliver(ask);
      await answer(world);
      await world.run();
      expect(world.replies).toMatchObject([{ params: { text: "Yes, do" } }]);
      expect(world.replies[0]?.params).not.toHaveProperty("option_id");
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });
});

const questions = [question, { prompt: "Are you sure?", options }];

/** A person who answers each question as soon as it is there, by button or in words, and whose click Slack may deliver twice. */
async function play(world: World, { times = 1, inText = false } = {}): Promise<void> {
  world.deliver(ask);
  const answeredIndexes = new Set<number>();
  const current = () => world.taskOf(ask)?.question;
  for (let round = 0; round < 4; round++) {
    await world.run({
      until() {
        const question = current();
        return (
          question?.ts !== undefined &&
          question.answer === undefined &&
          !answeredIndexes.has(question.index)
        );
      },
    });
    const question = current();
    if (question === undefined || answeredIndexes.has(question.index)) break;
    answeredIndexes.add(question.index);
    const { index } = question;
    for (let time = 0; time < times; time++) {
      const ts = (world.now() / 1000 + 1).toFixed(6);
      if (inText) world.deliver(reply(index, { text: "Yes", ts, unaddressed: undefined }));
      else world.clickButton(buttonClick({ atMs: askedAtMs + index }, 0, index));
    }
  }
  await world.run();
}

/** What the thread and the host have to show for it in the end. */
function summarizeWorld(world: World) {
  return {
    answers: world.answers(),
    posts: world.posts.length,
    questions: world.posts
      .filter(({ key }) => key?.kind === "question")
      .map(({ text }) => text.split("?")[0]),
    given: world.replies.map(({ question }) => question),
    starts: world.starts.length,
    running: world.running.size,
    threadIsFree: [...world.threads.values()].every(({ tasks }) => tasks.length === 0),
  };
}

const allIsWell = {
  answers: ["A checkpoint."],
  posts: 3,
  questions: ["Shall I", "Are you sure"],
  given: [0, 1],
  starts: 1,
  running: 0,
  threadIsFree: true,
};

describe("a task that asks twice", () => {
  it.each(deaths)("continues after a crash at any single point (%s)", async (fault) => {
    for (let nth = 0; nth < 110; nth++) {
      const world = createWorld({ questions, pollsUntilDone: 1, fault: nthFault(nth, fault) });
      await play(world);
      expect({ nth, ...summarizeWorld(world) }).toEqual({ nth, ...allIsWell });
      // Not even for the two minutes until the sweep was it there twice.
      expect(world.doubled()).toBe(0);
    }
  });

  it.each(deaths)(
    "continues after a crash while a reply is accepted as the answer (%s)",
    async (fault) => {
      for (let nth = 0; nth < 110; nth += 1) {
        const world = createWorld({ questions, fault: nthFault(nth, fault) });
        await play(world, { inText: true });
        expect({ nth, ...summarizeWorld(world) }).toEqual({ nth, ...allIsWell });
      }
    },
  );

  it("sends an answer under one id on every try", async () => {
    for (const fault of ["refused", "lost", "answer_lost", ...deaths] as const) {
      const world = createWorld({
        questions,
        fault: nthFault(0, fault, "answer_task"),
      });
      await play(world);
      expect({ fault, ...summarizeWorld(world) }).toEqual({ fault, ...allIsWell });
    }
  });

  it("finds a question again whose post was in doubt and removes a late duplicate", async () => {
    for (const fault of ["lost", "answer_lost", "slow"] as const) {
      const world = createWorld({
        questions,
        fault: nthFault(1, fault, "post"),
      });
      await play(world);
      expect({ fault, ...summarizeWorld(world) }).toEqual({ fault, ...allIsWell });
    }
  });

  it("answers each question once despite random faults and repeated clicks and replies", async () => {
    const anyFault = fc.constantFrom<Fault>(...faultKinds);
    await forAll(
      fc.array(fc.tuple(fc.nat({ max: 120 }), anyFault), { maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat({ max: 2 }),
      fc.boolean(),
    ).holdAsync(async (faults, times, pollsUntilDone, inText) => {
      const world = createWorld({ questions, pollsUntilDone, fault: plannedFaults(faults) });
      await play(world, { times, inText });
      expect(summarizeWorld(world)).toEqual(allIsWell);
    }, 200);
  });
});

describe("at a peer that does not deduplicate", () => {
  it.each([true, false])(
    "gives an answer once to one question at a peer that does not deduplicate (question ids: %s)",
    async (questionIds) => {
      for (const fault of ["refused", "lost", "answer_lost", "slow", ...deaths] as const) {
        for (let nth = 0; nth < 2; nth++) {
          const world = createWorld({
            questions,
            questionIds,
            idempotent: false,
            fault: nthFault(nth, fault, "answer_task"),
          });
          await play(world);
          expect({ fault, nth, answers: world.answers().length }).toEqual({
            fault,
            nth,
            answers: 1,
          });
          expect(world.starts).toHaveLength(1);
          const givenQuestions = world.replies.map(({ question }) => question);
          expect(givenQuestions).toEqual([...new Set(givenQuestions)]);
        }
      }
    },
  );
});
