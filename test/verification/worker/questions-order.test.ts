/** Which message answers which question: only what was written below it, in words or by its own button. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import type { AskMessage, ButtonClick } from "../../../lambdas/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const staging = { prompt: "Deploy to staging?", options };
const production = { prompt: "Deploy to production?", options };
const file = { id: "F1", name: "a.png", mimetype: "image/png", size: 3, url: "https://files.slack.com/F1" };
type World = ReturnType<typeof createWorld>;

/** So many seconds after Slack showed the first message. */
const tsAfter = (seconds: number) => (askedAtMs / 1000 + seconds).toFixed(6);

/** Somebody's message in the thread; `n` tells them apart. */
function reply(n: number, message: Partial<AskMessage["message"]>): AskMessage {
  const place = { threadTs: ask.message.ts, ts: tsAfter(100 + n), unaddressed: true as const };
  const requestId = `00000000-0000-5000-8000-${String(n).padStart(12, "0")}`;
  return { ...sampleAsk({ ...place, ...message }), requestId };
}

function buttonClick(index: number, atMs: number): ButtonClick {
  const place = { team: "T1", channel: "C1", threadTs: ask.message.ts, user: "U1" };
  const button = { type: "answer", question: index, option: 0 } as const;
  return { type: "button_click", requestId: ask.requestId, ...place, atMs, button };
}

function untilAsked(world: World, index = 0): Promise<void> {
  const record = () => world.records.get(ask.requestId);
  const isAsked = () => record()?.question?.index === index && record()?.question?.ts !== undefined;
  return world.run({ until: () => isAsked() && record()?.lease === undefined });
}

async function askingWorld(questions = [staging], more: Parameters<typeof createWorld>[0] = {}): Promise<World> {
  const world = createWorld({ questions, ...more });
  world.deliver(ask);
  await untilAsked(world);
  return world;
}

describe("a reply that was written before the question was shown", () => {
  it("is no answer to it, whenever it is handled, but a task of its own when its turn comes", async () => {
    const world = await askingWorld([production]);
    world.deliver(reply(1, { ts: tsAfter(0.5), text: "yes, and please hurry" }));
    await world.run({ until: () => world.records.get(reply(1, {}).requestId)?.state === "queued" });
    expect(world.given).toEqual([]);
    world.clickButton(buttonClick(0, world.now()));
    await world.run();
    expect(world.given).toMatchObject([{ question: 0, params: { option_id: "yes" } }]);
    expect(world.sent.map(({ text }) => text)).toEqual([ask.message.text, "yes, and please hurry"]);
  });

  it("is none either where Slack would not take the question at once: it waits until that is there", async () => {
    let isBusy = true;
    const world: World = createWorld({
      questions: [production],
      fate({ name }) {
        if (!isBusy || name !== "post" || world.records.get(ask.requestId)?.state !== "asking") return "ok";
        isBusy = false;
        throw new SlackError("rate_limited", { retryAfterMs: 30_000 });
      },
    });
    world.deliver(ask);
    await world.run({ until: () => !isBusy && world.records.get(ask.requestId)?.lease === undefined });
    const question = world.records.get(ask.requestId)?.question;
    expect(question?.ts).toBeUndefined();
    // In the world the question will have a later one.
    const ts = tsAfter(1);
    expect(Number(ts)).toBeGreaterThan((question?.askedAtMs ?? 0) / 1000);
    world.deliver(reply(1, { ts, text: "yes, and please hurry" }));
    await untilAsked(world);
    expect(Number(world.records.get(ask.requestId)?.question?.ts)).toBeGreaterThan(Number(ts));
    await world.run({ until: () => world.records.get(reply(1, {}).requestId)?.state === "queued" });
    expect(world.given).toEqual([]);
    expect(world.questions()).toEqual([production.prompt]);
  });

  it.each(["dies_before", "dies_after"] as const)(
    "is done when its turn comes, and the question is answered once, whichever operation a worker dies of (%s)",
    async (death) => {
      const early = reply(1, { ts: tsAfter(0.5), text: "yes, and please hurry" });
      for (let nth = 0; nth < 100; nth++) {
        let seen = 0;
        const world = createWorld({ questions: [production], fate: () => (seen++ === nth ? death : "ok") });
        world.deliver(ask);
        await world.run({ until: () => world.threads.size > 0 });
        world.deliver(early);
        await untilAsked(world);
        world.clickButton(buttonClick(0, world.now()));
        await world.run();
        const [ofQuestion, ...others] = world.given.map(({ params }) => params.option_id);
        expect({ nth, ofQuestion, others }).toEqual({ nth, ofQuestion: "yes", others: [] });
        expect({ nth, starts: world.starts }).toEqual({ nth, starts: [ask.requestId, early.requestId] });
        // The agent asks whoever it works for; that second question nobody answers.
        expect({ nth, answers: world.answers() }).toEqual({ nth, answers: ["A checkpoint.", '{"type":"unanswered"}'] });
      }
    },
  );

  it("is no answer to the second question, because it came too late to be one to the first", async () => {
    const world = await askingWorld([staging, production]);
    world.deliver(reply(1, { text: "yes" }));
    await untilAsked(world, 1);
    const shown = world.posts.find(({ text }) => text.startsWith("Deploy to production"));
    world.deliver(reply(2, { ts: (Number(shown?.ts) - 0.0005).toFixed(6), text: "ok go" }));
    await world.run({ until: () => world.records.get(reply(2, {}).requestId)?.state === "queued" });
    expect(world.given).toMatchObject([{ question: 0, params: { text: "yes" } }]);
    expect(world.records.get(ask.requestId)?.question).toMatchObject({ index: 1, prompt: production.prompt });
  });
});

describe("a click", () => {
  it("on the question before is told that it is answered, not that the task is over, however often Slack tells of it", async () => {
    const world = await askingWorld([staging, production]);
    const click = buttonClick(0, world.now());
    world.clickButton(click);
    await untilAsked(world, 1);
    for (let times = 0; times < 2; times++) world.clickButton(click);
    await world.run({ maxSteps: 2 });
    expect(world.ephemeralMessages.map(({ text }) => JSON.parse(text).type)).toEqual(["past", "past"]);
    expect(world.given).toHaveLength(1);
    expect(world.records.get(ask.requestId)?.question?.answer).toBeUndefined();
  });
});

describe("a reply with files", () => {
  it("answers with its words, and whoever wrote it is told that the files stay behind", async () => {
    const world = await askingWorld();
    world.deliver(reply(1, { text: "see the picture", files: [file] }));
    await world.run();
    expect(world.given).toMatchObject([{ params: { text: "see the picture" } }]);
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U1", threadTs: ask.message.ts, text: '{"type":"files_left"}' },
    ]);
  });

  it("and without words is no answer, which is not passed over in silence either", async () => {
    const world = await askingWorld();
    world.deliver(reply(1, { text: "", files: [file] }));
    await world.run({ until: () => world.records.get(reply(1, {}).requestId)?.state === "done" });
    expect(world.given).toEqual([]);
    expect(world.ephemeralMessages).toMatchObject([{ user: "U1", text: '{"type":"files_left"}' }]);
    expect(world.records.get(ask.requestId)?.state).toBe("asking");
  });
});
