/** Server-sent events: frames, signs of life, and an end that waits for nobody. */
import { describe, expect, it } from "@jest/globals";
import { serverSentEvents } from "../../../lambdas/execution/a2a/endpoint.ts";

/** Says `said`, then nothing more; `ended` tells whether it was returned. */
function source(said: readonly string[], { isEndless = false } = {}) {
  const seen = { isReturned: false };
  async function* messages(): AsyncGenerator<string> {
    try {
      yield* said;
      if (isEndless) await new Promise(() => {});
    } finally {
      seen.isReturned = true;
    }
  }
  return { messages: messages(), seen };
}

describe("a stream of events", () => {
  it("frames each message, and ends with them", async () => {
    const frames: string[] = [];
    const { messages } = source(['{"a":1}', '{"b":"\\n"}']);
    for await (const frame of serverSentEvents({ messages, keepAliveMs: 10_000 })) frames.push(frame);
    expect(frames).toEqual(['data: {"a":1}\n\n', 'data: {"b":"\\n"}\n\n']);
  });

  it("says that it is there where nothing else is to be said, and can be left then", async () => {
    const { messages } = source(["1"], { isEndless: true });
    const frames = serverSentEvents({ messages, keepAliveMs: 1 });
    const seen = [await frames.next(), await frames.next(), await frames.next()].map(({ value }) => value);
    expect(seen).toEqual(["data: 1\n\n", ": still here\n\n", ": still here\n\n"]);
    expect(await frames.return(undefined)).toMatchObject({ done: true });
  });

  it("left early leaves its messages too", async () => {
    const { messages, seen } = source(["1", "2"]);
    const frames = serverSentEvents({ messages, keepAliveMs: 10_000 });
    await frames.next();
    await frames.return(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.isReturned).toBe(true);
  });

  it("fails as its messages do", async () => {
    async function* broken(): AsyncGenerator<string> {
      yield "1";
      throw new Error("broken");
    }
    const frames = serverSentEvents({ messages: broken(), keepAliveMs: 10_000 });
    await frames.next();
    await expect(frames.next()).rejects.toThrow("broken");
  });
});
