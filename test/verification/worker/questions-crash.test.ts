/** A question and its answer survive what happens to workers, Slack and the host: asked once, brought once. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { ButtonClick } from "../../../lambdas/verification/task/messages.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate, type Operation } from "./world.ts";

const ask = sampleAsk();
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const questions = [
  { prompt: "Shall I?", options },
  { prompt: "Are you sure?", options },
];
type World = ReturnType<typeof createWorld>;

function buttonClick(index: number): ButtonClick {
  const button = { type: "answer", question: index, option: 0 } as const;
  const place = { team: "T1", channel: "C1", threadTs: ask.message.ts, user: "U1" };
  return { type: "button_click", requestId: ask.requestId, ...place, atMs: askedAtMs + index, button };
}

const deaths = ["dies_before", "dies_after"] as const;

/** A person who answers each question as soon as it is there, by button or in words, and whose click Slack may deliver twice. */
async function play(world: World, { times = 1, inText = false } = {}): Promise<void> {
  world.deliver(ask);
  const answered = new Set<number>();
  const current = () => world.records.get(ask.requestId)?.question;
  for (let round = 0; round < 4; round++) {
    await world.run({
      until() {
        const question = current();
        return question?.ts !== undefined && question.answer === undefined && !answered.has(question.index);
      },
    });
    const question = current();
    if (question === undefined || answered.has(question.index)) break;
    answered.add(question.index);
    const { index } = question;
    const reply = sampleAsk({ threadTs: ask.message.ts, ts: `${askedAtMs / 1000 + 100 + index}`, text: "Yes" });
    for (let time = 0; time < times; time++) {
      if (inText) world.deliver({ ...reply, requestId: `00000000-0000-5000-8000-00000000000${index}` });
      else world.clickButton(buttonClick(index));
    }
  }
  await world.run();
}

function nthFate(nth: number, fate: Fate, fits: (operation: Operation) => boolean = () => true) {
  let seen = 0;
  return (operation: Operation): Fate => (fits(operation) && seen++ === nth ? fate : "ok");
}

/** What the thread and the host have to show for it in the end. */
function shown(world: World) {
  return {
    answers: world.answers(),
    posts: world.posts.length,
    questions: world.posts.filter(({ key }) => (key?.part ?? 0) > 2000).map(({ text }) => text.split("?")[0]),
    given: world.given.map(({ question }) => question),
    starts: world.starts.length,
    underWay: world.underWay.size,
    threadIsFree: [...world.threads.values()].every(({ tasks }) => tasks.length === 0),
  };
}

const allIsWell = {
  answers: ["A checkpoint."],
  posts: 3,
  questions: ["Shall I", "Are you sure"],
  given: [0, 1],
  starts: 1,
  underWay: 0,
  threadIsFree: true,
};

describe("a task that asks twice", () => {
  it.each(deaths)("goes on after a crash at any single point (%s)", async (fate) => {
    for (let nth = 0; nth < 110; nth++) {
      const world = createWorld({ questions, pollsUntilDone: 1, fate: nthFate(nth, fate) });
      await play(world);
      expect({ nth, ...shown(world) }).toEqual({ nth, ...allIsWell });
      // Not even for the two minutes until the sweep was it there twice.
      expect(world.doubled()).toBe(0);
    }
  });

  it.each(deaths)("goes on after a crash while a reply is taken for the answer (%s)", async (fate) => {
    for (let nth = 0; nth < 110; nth += 1) {
      const world = createWorld({ questions, fate: nthFate(nth, fate) });
      await play(world, { inText: true });
      expect({ nth, ...shown(world) }).toEqual({ nth, ...allIsWell });
    }
  });

  it("brings an answer under one id, however often it must be brought", async () => {
    for (const fate of ["refused", "lost", "done_unknown", ...deaths] as const) {
      const world = createWorld({ questions, fate: nthFate(0, fate, ({ name }) => name === "answer_task") });
      await play(world);
      expect({ fate, ...shown(world) }).toEqual({ fate, ...allIsWell });
    }
  });

  it("finds the question again whose post was not answered, and removes one that came late", async () => {
    for (const fate of ["lost", "done_unknown", "late"] as const) {
      const world = createWorld({ questions, fate: nthFate(1, fate, ({ name }) => name === "post") });
      await play(world);
      expect({ fate, ...shown(world) }).toEqual({ fate, ...allIsWell });
    }
  });

  it("keeps its promise through faults of every kind at random points, and repeated clicks and replies", async () => {
    const fates = fc.constantFrom<Fate>("refused", "lost", "done_unknown", "late", "dies_before", "dies_after");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: 120 }), fates), { maxLength: 6 }),
        fc.integer({ min: 1, max: 3 }),
        fc.nat({ max: 2 }),
        fc.boolean(),
        async (faults, times, pollsUntilDone, inText) => {
          const plan = new Map(faults);
          let seen = 0;
          const world = createWorld({ questions, pollsUntilDone, fate: () => plan.get(seen++) ?? "ok" });
          await play(world, { times, inText });
          expect(shown(world)).toEqual(allIsWell);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("at a peer that does not deduplicate", () => {
  it.each([true, false])(
    "an answer is never given twice to one question (its questions have ids: %s)",
    async (questionIds) => {
      for (const fate of ["refused", "lost", "done_unknown", "late", ...deaths] as const) {
        for (let nth = 0; nth < 2; nth++) {
          const world = createWorld({
            questions,
            questionIds,
            idempotent: false,
            fate: nthFate(nth, fate, ({ name }) => name === "answer_task"),
          });
          await play(world);
          expect({ fate, nth, answers: world.answers().length }).toEqual({ fate, nth, answers: 1 });
          expect(world.starts).toHaveLength(1);
          const given = world.given.map(({ question }) => question);
          expect(given).toEqual([...new Set(given)]);
        }
      }
    },
  );
});
