/** What Sekisho itself writes into a thread is no answer of an agent. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { refuseContent } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";

/** Says the texts in one thread. Returns the history that the agent gets with the last one. */
async function historyAfter(texts: readonly string[], options: Parameters<typeof createWorld>[0]) {
  const world = createWorld({ text: createTaskText({ locale: "en" }), ...options });
  const tsOf = (n: number) => `${askedAtMs / 1000 + n * 100}.000100`;
  for (const [n, text] of texts.entries()) {
    const ask = sampleAsk({ ts: tsOf(n), text, ...(n > 0 && { threadTs: tsOf(0) }) });
    await world.deliver({ ...ask, requestId: requestIdOf(ask.message) }).run();
  }
  expect(world.answers()).toHaveLength(texts.length);
  return (world.sent.at(-1)?.history ?? []).map(({ text }) => text);
}

describe("the history of a thread", () => {
  it("leaves out the text of help", async () => {
    const texts = ["first", "help", "And then?"];
    expect(await historyAfter(texts, { policy: { helpWord: true } })).toEqual(["A checkpoint."]);
  });

  it.each([false, true])(
    "leaves out a failure, with blocks refused by Slack: %j",
    async (isPlain) => {
      let runs = 0;
      const story = () => {
        runs += 1;
        if (runs === 1) throw new SekishoError("execution_failed");
        return { status: "success" as const, response_text: "A checkpoint." };
      };
      const fault = refuseContent(({ blocks }) => isPlain && blocks !== undefined);
      expect(await historyAfter(["first", "And then?"], { story, fault })).toEqual([]);
    },
  );
});
