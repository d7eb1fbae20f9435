/** Streams of a harness that are cut, damaged, shuffled or huge: no answer is lost, doubled or invented. */
import { describe, expect, it } from "@jest/globals";
import { readMessages } from "@sekisho/execution/agents/harness/event-stream.ts";
import { createHarnessReader, parseEvent } from "@sekisho/execution/agents/harness/events.ts";
import { RemoteError } from "@sekisho/execution/agents/remote-error.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { encodeMessage, frame, metadata, stop, text, toolUse } from "./bedrock-server.ts";

const start = frame({ event: "messageStart", payload: { role: "assistant" } });
const call = (id: string) =>
  toolUse({ index: 0, id, name: "ask_person", input: '{"question":"世界?"}' });
const shell = toolUse({ index: 0, id: "a", name: "shell", input: "{}", type: "server_tool_use" });
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

const corpus: [string, Buffer[]][] = [
  ["an answer", [start, text("Hel"), text("lo 世界"), stop("end_turn"), metadata(usage)]],
  [
    "rounds with tools",
    [start, text("Look"), shell, stop("tool_use"), start, text("Hello"), stop("end_turn")],
  ],
  ["a question", [start, text("Hello"), call("a"), call("b"), stop("tool_use")]],
];

type Outcome = { text: string; stopReason: string; openCalls: readonly { input: string }[] };

async function* chunksOf(pieces: readonly Uint8Array[]) {
  yield* pieces;
}

/** Reads the pieces of a stream. Resolves to the answer, or to the error. */
async function outcomeOf(pieces: readonly Uint8Array[]): Promise<Outcome | RemoteError> {
  const reader = createHarnessReader();
  let answer = "";
  try {
    for await (const message of readMessages(chunksOf(pieces))) {
      const event = parseEvent(message);
      if (event !== undefined) answer += reader.read(event).text;
    }
    const { stopReason, openCalls } = reader.end();
    return { text: answer, stopReason, openCalls: structuredClone(openCalls) };
  } catch (error) {
    if (error instanceof RemoteError) return error;
    throw error;
  }
}

const slices = (bytes: Uint8Array, sizes: readonly number[]) => {
  const pieces: Uint8Array[] = [];
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
};

describe.each(corpus)("the stream of %s", (_what, frames) => {
  const bytes = Buffer.concat(frames);

  it("has the same outcome in pieces of any size", async () => {
    const whole = await outcomeOf([bytes]);
    expect(whole).not.toBeInstanceOf(RemoteError);
    expect(await outcomeOf(slices(bytes, [1]))).toEqual(whole);
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 });
    await forAll(sizes).holdAsync(async (each) => {
      expect(await outcomeOf(slices(bytes, each))).toEqual(whole);
    });
  });

  it("counts as lost wherever it is cut before its last stop", async () => {
    const [metadataFrame = Buffer.of()] = frames.slice(-1).filter((each) => each.includes("usage"));
    const lastStop = bytes.length - metadataFrame.length;
    for (let end = 0; end < bytes.length; end += 1) {
      const outcome = await outcomeOf([bytes.subarray(0, end)]);
      if (end === lastStop) expect(outcome).toMatchObject({ stopReason: "end_turn" });
      else expect({ end, outcome }).toMatchObject({ outcome: { name: "RemoteError", lost: true } });
    }
  });

  it("counts as lost with any byte changed", async () => {
    for (let at = 0; at < bytes.length; at += 1) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (bytes[at] ?? 0) ^ 0x41;
      expect({ at, outcome: await outcomeOf([damaged]) }).toMatchObject({
        outcome: { name: "RemoteError", lost: true },
      });
    }
  });

  it("has no answer but the texts in their order when its messages are shuffled", async () => {
    const parts = frames.flatMap((each) => (each === frames.at(-1) ? [] : [each]));
    await forAll(fc.shuffledSubarray(parts)).holdAsync(async (shuffled) => {
      const outcome = await outcomeOf([...shuffled, ...frames.slice(-1)]);
      if (outcome instanceof RemoteError) return;
      const texts = shuffled.flatMap((each) => /"text":"([^"]+)"/.exec(each.toString())?.[1] ?? []);
      expect(outcome.text.replaceAll("\n\n", "")).toBe(texts.join(""));
    });
  });
});

describe("a call of a function", () => {
  it("keeps its own input when blocks of one number follow each other", async () => {
    const frames = [start, call("a"), call("b"), call("a"), stop("tool_use")];
    const outcome = await outcomeOf(frames);
    const input = '{"question":"世界?"}';
    expect(outcome).toMatchObject({
      openCalls: [
        { toolUseId: "a", input: input + input },
        { toolUseId: "b", input },
      ],
    });
  });

  it("takes part in no other call, whatever its names are", async () => {
    const ids = fc.constantFrom("__proto__", "constructor", "toString", "undefined", "null");
    await forAll(ids, ids).holdAsync(async (id, name) => {
      const use = toolUse({ index: 0, id, name, input: "{}" });
      const outcome = await outcomeOf([start, use, stop("tool_use")]);
      expect(outcome).toMatchObject({ openCalls: [{ toolUseId: id, name, input: "{}" }] });
    });
  });
});

describe("a message of the event stream", () => {
  it("may have 16 MiB, in pieces", async () => {
    const huge = "x".repeat(16 * 1024 * 1024 - 200);
    const bytes = Buffer.concat([start, text(huge), stop("end_turn")]);
    expect(await outcomeOf(slices(bytes, [4099]))).toMatchObject({ text: huge });
  });

  it("fails before it is read if it is larger", async () => {
    let pieces = 0;
    async function* endless() {
      const head = Buffer.alloc(8);
      head.writeUInt32BE(18 * 1024 * 1024);
      yield head;
      for (;;) {
        pieces += 1;
        yield Buffer.alloc(1024);
      }
    }
    await expect(readMessages(endless()).next()).rejects.toMatchObject({ lost: true });
    expect(pieces).toBe(0);
  });

  it.each<[string, (bytes: Buffer) => void]>([
    ["headers beyond its end", (bytes) => bytes.writeUInt32BE(0xffff, 4)],
    ["headers of another length", (bytes) => bytes.writeUInt32BE(3, 4)],
  ])("counts as damaged with %s, also with the right checksums", async (_what, spoil) => {
    const outcome = await outcomeOf([encodeMessage({ a: "b" }, "{}", spoil)]);
    expect(outcome).toMatchObject({ kind: "a message of the event stream is damaged" });
  });

  it("never has another error than a lost answer, whatever the bytes are", async () => {
    await forAll(fc.uint8Array({ maxLength: 300 })).holdAsync(async (bytes) => {
      const outcome = await outcomeOf([bytes]);
      expect(outcome).toMatchObject({ name: "RemoteError", lost: true });
    });
  });
});
