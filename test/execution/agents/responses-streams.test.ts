/** Streams of the Responses API that are cut, mixed with other events, or broken: no answer is lost, doubled or invented. */
import { describe, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createAgent } from "@sekisho/execution/agents/responses.ts";
import fc from "fast-check";
import { closeAfterTest } from "../../doubles/serving.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { hello } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import { encode, messageOf, type ServerEvent, streaming, streamOf } from "./responses-server.ts";

type Stream = { text: string; pieceSize?: number; breaksOff?: boolean };

/** The last update of an agent whose endpoint sends these bytes. */
async function startReader() {
  let planned: Stream = { text: "" };
  const { url } = closeAfterTest(
    await startWebServer({
      handle: async () => streaming(new TextEncoder().encode(planned.text), planned),
    }),
  );
  const agent = createAgent({
    config: agentSchema.parse({ type: "responses", baseUrl: `${url}/v1` }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
  return async (stream: Stream): Promise<TaskUpdate | undefined> => {
    planned = stream;
    let end: TaskUpdate | undefined;
    for await (const update of runAgent(agent, agentTask(hello), agentContext())) end = update;
    return end;
  };
}

const failed = { type: "failure", reason: "execution_failed", lost: false };
const lost = { ...failed, lost: true };
const delta = (text: string, index = 0) => ({
  type: "response.output_text.delta",
  output_index: index,
  delta: text,
});

const recordedStreams: { name: string; events: readonly ServerEvent[]; answer: string }[] = [
  {
    name: "OpenAI: reasoning, a search and a message",
    events: streamOf([
      { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "hmm" }] },
      { type: "web_search_call", id: "ws", status: "completed" },
      messageOf("Grüße, 世界"),
    ]),
    answer: "Grüße, 世界",
  },
  {
    name: "vLLM: no items at the end, nulls for what is missing",
    events: [
      { type: "response.created", response: { id: "r", status: "in_progress", error: null } },
      { type: "response.output_text.delta", item_id: "", content_index: 0, delta: "Hel" },
      { type: "response.output_text.delta", item_id: "", content_index: 0, delta: "lo" },
      { type: "response.completed", response: { id: "r", status: "completed", output: null } },
    ],
    answer: "Hello",
  },
  {
    name: "two messages around a call of a tool",
    events: streamOf([
      messageOf("Let me look."),
      { type: "mcp_call", id: "c", name: "look", output: "x" },
      messageOf("It is 7."),
    ]),
    answer: "Let me look.\n\nIt is 7.",
  },
  {
    name: "a refusal",
    events: streamOf([
      { ...messageOf(""), content: [{ type: "refusal", refusal: "I cannot help with that." }] },
    ]),
    answer: "I cannot help with that.",
  },
];

const strangers: readonly ServerEvent[] = [
  { type: "response.future.delta", delta: { a: [null] }, output_index: 0 },
  { type: "response.reasoning_text.delta", delta: "secret thoughts", output_index: 0 },
  { type: "response.reasoning_summary_text.delta", delta: "secret thoughts" },
  { type: "response.function_call_arguments.delta", delta: '{"password":"hunter2"' },
  { type: "response.output_text.annotation.added", annotation: null },
  { type: "response.image_generation_call.partial_image", partial_image_b64: "A".repeat(20_000) },
  { type: "response.output_item.added", item: null, output_index: null },
  { type: "response.in_progress", response: null, error: null },
  { type: "response.queued", response: { id: 7, status: "completed", output: [messageOf("no")] } },
  { type: "ping" },
];

describe.each(recordedStreams)("$name", ({ events, answer }) => {
  const whole = { type: "answer", text: answer };
  const text = encode(events);

  it("gives its answer, also byte by byte", async () => {
    const read = await startReader();
    expect(await read({ text })).toEqual(whole);
    expect(await read({ text, pieceSize: 1 })).toEqual(whole);
    expect(await read({ text: `${text}data: [DONE]\n\n` })).toEqual(whole);
    expect(await read({ text: text.replaceAll("\n", "\r\n") })).toEqual(whole);
    expect(await read({ text: text.replaceAll(/^event: .*\n/gm, "") })).toEqual(whole);
  });

  it("gives no answer if it is cut before the response ends", async () => {
    const read = await startReader();
    // The last two bytes are the end of the line and the empty line, which add nothing.
    const bytes = Buffer.from(text);
    const size = bytes.length - "\n\n".length;
    for (let at = 0; at < size; at += 1) {
      // Half a character is no text of its own.
      const cutText = bytes.subarray(0, at).toString("latin1");
      if (/[\x80-\xff]$/.test(cutText)) continue;
      const cut = { text: bytes.subarray(0, at).toString(), breaksOff: at % 2 === 1 };
      expect([at, await read(cut)]).toEqual([at, lost]);
    }
    expect(await read({ text: bytes.subarray(0, size).toString() })).toEqual(whole);
  });

  it("gives the same answer among unknown events and nulls", async () => {
    const read = await startReader();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(...strangers)), { maxLength: 6 }),
        async (additions) => {
          const mixed = [...events];
          for (const [place, event] of additions) mixed.splice(place % mixed.length, 0, event);
          expect(await read({ text: encode(mixed) })).toEqual(whole);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("fails if an error comes before the end", async () => {
    const read = await startReader();
    const errors: ServerEvent[] = [
      { type: "error", code: "server_error", message: "hunter2", param: null },
      { type: "error", error: { code: "unknown", message: "hunter2" } },
      { type: "response.failed", response: { status: "failed", error: { code: "server_error" } } },
    ];
    for (const error of errors)
      for (let at = 0; at < events.length; at += 1)
        expect(await read({ text: encode(events.toSpliced(at, 0, error)) })).toEqual(failed);
  });
});

describe("a broken stream", () => {
  const end = { type: "response.completed", response: { status: "completed", output: [] } };

  it.each<[string, string]>([
    ["a piece that is no text", encode([delta("Hel"), { ...delta(""), delta: 7 }, end])],
    ["a piece that is null", encode([delta("Hel"), { ...delta(""), delta: null }, end])],
    ["an event that is no JSON", `${encode([delta("Hel")])}data: {"type":\n\n${encode([end])}`],
    ["an event that is a list", `data: []\n\n${encode([delta("Hello"), end])}`],
    ["nothing", ""],
    ["a web page", "<!doctype html><title>hunter2</title>"],
    ["a mark of the end only", "data: [DONE]\n\n"],
    ["a response that stays open", encode([delta("Hello")])],
  ])("may have run after %s", async (_what, text) => {
    const read = await startReader();
    expect(await read({ text })).toEqual(lost);
  });

  it.each<[string, object]>([
    ["members that every object inherits", { constructor: {}, toString: null, output: [] }],
    ["items of other types", { output: [null, 7, "text", [], { type: 7 }, { type: null }] }],
    ["contents of other types", { output: [messageOf("", { content: [null, 7, { text: 7 }] })] }],
    [
      "calls without ids",
      { output: [{ type: "function_call" }, { type: "mcp_approval_request" }] },
    ],
    ["an image that is none", { output: [{ type: "image_generation_call", result: "<svg>" }] }],
  ])("has no answer with %s", async (_what, response) => {
    const read = await startReader();
    const stream = [{ type: "response.completed", response: { status: "completed", ...response } }];
    expect(await read({ text: encode(stream) })).toEqual({
      type: "failure",
      reason: "execution_failed",
    });
  });

  it("keeps the streamed text if the items of the end are unreadable", async () => {
    const read = await startReader();
    const items = [null, { type: "message", content: { a: 1 } }, { type: "message" }];
    const text = encode([delta("One"), delta("Two", 1), { ...end, response: { output: items } }]);
    expect(await read({ text })).toEqual({ type: "answer", text: "One\n\nTwo" });
  });

  it("stops at a text that no result can hold", async () => {
    const read = await startReader();
    const pieces = Array.from({ length: 40 }, () => delta("x".repeat(10_000)));
    const update = await read({ text: encode([...pieces, end]) });
    expect(update?.type === "answer" && update.text.length).toBeGreaterThan(256 * 1024);
  });

  it("reads a huge item that nobody needs", async () => {
    const read = await startReader();
    const item = { type: "file_search_call", id: "f", results: ["x".repeat(4_000_000)] };
    const text = encode(streamOf([item, messageOf("Found")]));
    expect(await read({ text, pieceSize: 65_536 })).toEqual({ type: "answer", text: "Found" });
  });
});

it("gives the texts of any response as they were written", async () => {
  const read = await startReader();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: "binary", minLength: 1 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 200 }),
      async (texts, pieceSize) => {
        // A stop of reasoning and marks of citations are left out on purpose.
        fc.pre(!/[<[◁【]/.test(texts.join("")) && texts.some((text) => text.trim() !== ""));
        const text = encode(streamOf(texts.map((each) => messageOf(each))));
        const written = texts.filter((each) => each.trim() !== "").join("\n\n");
        expect(await read({ text, pieceSize })).toEqual({ type: "answer", text: written });
      },
    ),
    { numRuns: 60 },
  );
});
