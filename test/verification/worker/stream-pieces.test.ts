/** What a native stream shows of a text that is still being written, poll by poll. */
import { describe, expect, it } from "@jest/globals";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();

/** All texts that the thread showed beside the placeholder, and how often that was edited. */
async function shown(partials: readonly string[]) {
  const texts: string[] = [];
  let edits = 0;
  let streams = 0;
  const world: ReturnType<typeof createWorld> = createWorld({
    streaming: true,
    story: () => ({ status: "success", response_text: "The answer." }),
    progress: (polls) => ({ partial_text: partials[Math.min(Math.max(0, polls - 1), partials.length - 1)] ?? "" }),
    pollsUntilDone: partials.length + 2,
    fate({ name }) {
      if (name === "update") edits += 1;
      if (name === "startStream") streams += 1;
      return "ok";
    },
  });
  const isStreamed = () => world.posts.find(({ streamingSinceMs }) => streamingSinceMs !== undefined);
  world.deliver(ask);
  await world.run({
    until() {
      const text = isStreamed()?.text;
      if (text !== undefined && texts.at(-1) !== text) texts.push(text);
      return world.answers().length > 0;
    },
  });
  await world.run();
  return { texts, edits, streams, answers: world.posts.map(({ text }) => text) };
}

describe("a stream of Slack", () => {
  it("notifies nobody and hides no address, wherever the agent lets its text end for the moment", async () => {
    const { texts, answers } = await shown([
      "See <",
      "See <!channel> and [https://bank.example",
      "See <!channel> and [https://bank.example](https://evil.example) ",
    ]);
    expect(texts).toEqual([
      "See ",
      "See <\u2060!channel> and ",
      "See <\u2060!channel> and https://bank.example (https://evil.example) ",
    ]);
    expect(answers).toEqual(["The answer."]);
  });

  it("goes on as edits of the placeholder where the agent writes its text anew", async () => {
    const { texts, edits, answers } = await shown(["One thing. ", "Another thing. And ", "Another thing. And more. "]);
    expect(texts).toEqual(["One thing. "]);
    expect(edits).toBeGreaterThan(0);
    expect(answers).toEqual(["The answer."]);
  });

  it("has at most twenty messages, then edits of the placeholder go on", async () => {
    const text = "One more line of it.\n".repeat(15_000);
    const { streams, edits, answers } = await shown(
      Array.from({ length: 60 }, (_, poll) => text.slice(0, (poll + 1) * 5250)),
    );
    expect(streams).toBe(20);
    expect(edits).toBeGreaterThan(1);
    expect(answers).toEqual(["The answer."]);
  });
});
