import { describe, expect, it } from "@jest/globals";
import { type DeadLetter, readLetter } from "../../../lib/cli/aws/dead-letters/archive.ts";
import { redrive } from "../../../lib/cli/aws/dead-letters/redrive.ts";
import { anAsk, aWake, requestIdOf } from "./dead-letter-bodies.ts";

function letter({ body, group }: { body: string; group?: string }): DeadLetter {
  return { messageId: `m-${body.length}`, receipt: "r", body, group, archivedAtMs: 0 };
}

/** What happens, in order. */
async function run(
  letters: DeadLetter[],
  { states = {}, fails = false }: { states?: Record<string, string>; fails?: boolean } = {},
) {
  const happened: unknown[] = [];
  const ended = redrive({
    letters: letters.map(readLetter),
    stateOfTask: async ({ requestId }) => states[requestId],
    async send({ body, group }) {
      if (fails) throw new Error("away");
      happened.push({ sent: body, group });
    },
    remove: async ({ body }) => void happened.push({ removed: body }),
    done: ({ requestId }) => happened.push({ done: requestId }),
  });
  await ended.catch((thrown: Error) => happened.push(thrown.message));
  return happened;
}

const id = requestIdOf(1);
const redriven = JSON.stringify({ type: "redrive", requestId: id });

describe("a redriven dead letter", () => {
  it("is sent as it is where its task was never begun, in its team's group, and removed only then", async () => {
    const body = anAsk({ requestId: id, team: "T7" });
    expect(await run([letter({ body })])).toEqual([{ sent: body, group: "T7" }, { removed: body }, { done: id }]);
  });

  it("stays where it is when it cannot be sent", async () => {
    expect(await run([letter({ body: anAsk({ requestId: id }) })], { fails: true })).toEqual(["away"]);
  });

  it("is a redrive of a task that is in the table, whatever it was itself, in the group that it came with", async () => {
    for (const body of [anAsk({ requestId: id }), aWake({ requestId: id })]) {
      const happened = await run([letter({ body, group: "T9" })], { states: { [id]: "done" } });
      expect(happened[0]).toEqual({ sent: redriven, group: "T9" });
    }
  });

  it("is one message for all letters of a task", async () => {
    const [ask, wake] = [anAsk({ requestId: id }), aWake({ requestId: id })];
    const happened = await run([letter({ body: wake }), letter({ body: ask })]);
    expect(happened).toEqual([{ sent: ask, group: "T1" }, { removed: wake }, { removed: ask }, { done: id }]);
  });

  it("is left alone where it cannot be read", async () => {
    expect(await run([letter({ body: "{" }), letter({ body: '{"type":"other"}' })])).toEqual([]);
  });
});
