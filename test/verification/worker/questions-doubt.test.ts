/** A yes goes to the question that was answered, once, and is not lost because the host was away or shut for a while. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import type { ButtonClick } from "../../../lambdas/verification/task/messages.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const ask = sampleAsk();
const hourMs = 3600_000;
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const questions = [
  { prompt: "Delete staging?", options },
  { prompt: "Delete production?", options },
];
type World = ReturnType<typeof createWorld>;

async function answer(world: World, index = 0): Promise<void> {
  const record = () => world.records.get(ask.requestId);
  const isAsked = () => record()?.question?.index === index && record()?.question?.ts !== undefined;
  await world.run({ until: () => isAsked() && record()?.lease === undefined });
  const place = { team: "T1", channel: "C1", threadTs: ask.message.ts, user: "U1", atMs: world.now() };
  const buttonClick: ButtonClick = {
    type: "button_click",
    requestId: ask.requestId,
    ...place,
    button: { type: "answer", question: index, option: 0 },
  };
  world.clickButton(buttonClick);
}

describe("a yes to a peer that does not know the repetition of a call", () => {
  it.each(["dies_after", "done_unknown"] as const)(
    "is never taken for the answer to the next question, which nobody saw (%s)",
    async (fate) => {
      for (const questionIds of [true, false]) {
        let answers = 0;
        let looks = 0;
        const world = createWorld({
          ...{ idempotent: false, questionIds, questions },
          fate({ name }): Fate {
            if (name === "answer_task" && answers++ === 0) return fate;
            // The look for whether it arrived fails, too.
            return name === "get_task" && answers === 1 && looks++ === 0 ? "refused" : "ok";
          },
        });
        world.deliver(ask);
        await answer(world);
        await world.run({ until: () => world.questions().length === 2 || world.answers().length > 0 });
        expect(world.given.map(({ question }) => question)).toEqual([0]);
        expect(world.questions()).toEqual(["Delete staging? U1: 0", "Delete production?"]);
        await answer(world, 1);
        await world.run();
        expect(world.given.map(({ question }) => question)).toEqual([0, 1]);
        expect(world.answers()).toEqual(["A checkpoint."]);
      }
    },
  );

  it("may arrive long after it was given up: until then nobody is asked anew, and nothing is sent again", async () => {
    for (const questionIds of [true, false]) {
      let answers = 0;
      const world = createWorld({
        ...{ idempotent: false, questionIds, questions },
        fate: ({ name }): Fate => (name === "answer_task" && answers++ === 0 ? "late" : "ok"),
      });
      world.deliver(ask);
      await answer(world);
      await answer(world, 1);
      expect(world.questions()).toEqual(["Delete staging? U1: 0", "Delete production?"]);
      expect(world.given.map(({ question }) => question)).toEqual([0]);
      expect(answers).toBe(1);
    }
  });
});

describe("an approval", () => {
  const question = [{ prompt: "Shall I?", options }];

  it("is brought when the host is there again, or lets us in again", async () => {
    for (const minutes of [3, 30]) {
      let fromMs = Number.POSITIVE_INFINITY;
      const world: World = createWorld({
        ...{ deadlineMs: 8 * hourMs, questions: question },
        fate({ party }): Fate {
          return party === "host" && world.now() > fromMs && world.now() < fromMs + minutes * 60_000 ? "refused" : "ok";
        },
      });
      world.deliver(ask);
      await answer(world);
      fromMs = world.now();
      await world.run();
      expect({ minutes, answers: world.answers() }).toEqual({ minutes, answers: ["A checkpoint."] });
      expect(world.given).toHaveLength(1);
    }
    let refusals = 3;
    const shut = createWorld({
      questions: question,
      fate({ name }) {
        if (name === "answer_task" && refusals-- > 0) throw new SekishoError("unauthenticated");
        return "ok";
      },
    });
    shut.deliver(ask);
    await answer(shut);
    await shut.run();
    expect(shut.given).toHaveLength(1);
    expect(shut.answers()).toEqual(["A checkpoint."]);
  });

  it("that is given up is told, and the host is asked not to go on waiting for it", async () => {
    const world = createWorld({
      ...{ questions: question, cancelable: true },
      fate({ name }) {
        if (name === "answer_task") throw new SekishoError("permission_denied");
        return "ok";
      },
    });
    world.deliver(ask);
    await answer(world);
    await world.run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"permission_denied","lost":false}']);
    expect(world.cancels).toMatchObject([{ params: { task_id: "t-1" } }]);
  });

  it("by a button whose option has no id that can be sent is told by what the button says", async () => {
    for (const id of ["", "x".repeat(129)]) {
      const world = createWorld({ questions: [{ prompt: "Shall I?", options: [{ id, label: "Yes, do" }] }] });
      world.deliver(ask);
      await answer(world);
      await world.run();
      expect(world.given).toMatchObject([{ params: { text: "Yes, do" } }]);
      expect(world.given[0]?.params).not.toHaveProperty("option_id");
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });
});
