/** The agent for endpoints of chat completions, against a real local server. */

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createOpenAiCompatibleAgent } from "@sekisho/execution/agents/openai-compatible.ts";
import {
  parseServerSentEvents,
  type ServerSentEvent,
} from "@sekisho/execution/agents/server-sent-events.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import fc from "fast-check";
import { withGrowingLimit } from "../../doubles/growing-limit.ts";
import { createTestHost, hello } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import { delta, type ModelServer, startModelServer, stream } from "./model-server.ts";

let server: ModelServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Options = Partial<Parameters<typeof createOpenAiCompatibleAgent>[0]>;

async function agentOf(answer: (response: ServerResponse) => unknown, options: Options = {}) {
  server = await startModelServer(answer);
  return createOpenAiCompatibleAgent({ baseUrl: server.baseUrl, model: "m", ...options });
}

async function reasonOf(answer: (response: ServerResponse) => unknown, options: Options = {}) {
  const { call, lines } = createTestHost({ agent: await agentOf(answer, options) });
  const { error } = await call("execute_task", hello);
  expect(JSON.stringify(error) + lines.join("")).not.toContain("hunter2");
  return error?.data.reason;
}

const whole = (response: ServerResponse) =>
  stream(response).end(`${delta("Hel")}${delta("lo")}data: [DONE]\n\n`);

describe("an endpoint of chat completions", () => {
  it("sends the system prompt, the thread and the text, and answers with the endpoint's stream", async () => {
    const agent = await agentOf(whole, { system: "Be brief.", apiKey: async () => "key-1" });
    const history = [
      { role: "user" as const, text: "Hi" },
      { role: "assistant" as const, text: "Hello", ts: "1.2" },
    ];
    const updates: TaskUpdate[] = [];
    for await (const update of runAgent(
      agent,
      agentTask({ ...hello, history, bot_token: "hidden" }),
      agentContext(),
    ))
      updates.push(update);
    expect(updates).toEqual([{ type: "answer", text: "Hello" }]);
    expect(server?.requests).toEqual([
      {
        path: "/v1/chat/completions",
        headers: expect.objectContaining({
          authorization: "Bearer key-1",
          "content-type": "application/json",
        }),
        body: {
          model: "m",
          stream: true,
          stream_options: { include_usage: true },
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: "Hi" },
            { role: "assistant", content: "Hello" },
            { role: "user", content: "hello" },
          ],
        },
      },
    ]);
  });

  it("sends the trace of the run, so that spans of the endpoint become its children", async () => {
    const context = {
      ...agentContext(),
      trace: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: "v=1" },
    };
    for await (const _ of runAgent(await agentOf(whole), agentTask(hello), context));
    expect(server?.requests[0]?.headers).toMatchObject(context.trace);
  });

  it("sends no authorization header without a key", async () => {
    await createTestHost({ agent: await agentOf(whole) }).call("execute_task", hello);
    expect(server?.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("stops asking for token usage once an endpoint has refused that option", async () => {
    const knows = (body: unknown) => !Object.hasOwn(Object(body), "stream_options");
    const agent = await agentOf((response) =>
      knows(server?.requests.at(-1)?.body)
        ? whole(response)
        : response.writeHead(422).end("hunter2"),
    );
    for (const _ of [1, 2]) {
      const updates: TaskUpdate[] = [];
      for await (const update of runAgent(agent, agentTask(hello), agentContext()))
        updates.push(update);
      expect(updates).toEqual([{ type: "answer", text: "Hello" }]);
    }
    expect(server?.requests.map(({ body }) => knows(body))).toEqual([false, true, true]);
  });

  it("decodes a stream with split characters, CRLF, and usage at the end", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4 };
    const agent = await agentOf(async (response) => {
      const text = `: ping\r\n\r\n${delta("関所")}${delta("🏯")}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
      stream(response);
      for (const byte of Buffer.from(text.replaceAll("\n\n", "\r\n\r\n")))
        response.write(Buffer.of(byte));
      response.end();
    });
    const { result } = await createTestHost({ agent }).call("execute_task", hello);
    expect(result).toMatchObject({ response_text: "関所🏯", usage });
  });

  it("accepts a stream that ends without [DONE] after a finish reason", async () => {
    const agent = await agentOf((response) =>
      stream(response).end(delta("all", { finish_reason: "stop" })),
    );
    expect(
      (await createTestHost({ agent }).call("execute_task", hello)).result?.response_text,
    ).toBe("all");
  });

  it("reports payload_too_large for an answer that exceeds the size of a result", async () => {
    const part = delta("x".repeat(60_000));
    expect(await reasonOf((response) => stream(response).end(part.repeat(6)))).toBe(
      "payload_too_large",
    );
  });
});

/** The text of the answer to chunks with these deltas, after which the model stops for `reason`. */
async function answerOf(
  deltas: readonly Record<string, unknown>[],
  reason = "stop",
  task: Partial<typeof hello> = {},
) {
  const agent = await agentOf((response) => {
    const chunks = deltas.map((delta) => ({
      choices: [{ index: 0, delta, finish_reason: null }],
      error: null,
    }));
    const last = { choices: [{ index: 0, delta: {}, finish_reason: reason }], error: {} };
    const events = [...chunks, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    stream(response).end(`${events.join("")}data: [DONE]\n\n`);
  });
  const { result, error } = await createTestHost({ agent }).call("execute_task", {
    ...hello,
    ...task,
  });
  return result?.response_text ?? error?.data.reason;
}

describe("calls of tools in chat completions", () => {
  const call = (members: object) => ({ tool_calls: [{ index: 0, id: "c1", ...members }] });

  it("reports the names of tools that the endpoint calls, without their arguments", async () => {
    const deltas = [
      { content: null, ...call({ type: "function", function: { name: "search", arguments: "" } }) },
      call({ function: { arguments: '{"password":"hunter2"}' } }),
      { content: "Found", tool_calls: null },
    ];
    const chunks = deltas.map((each) => `data: ${JSON.stringify({ choices: [{ delta: each }] })}`);
    const agent = await agentOf((response) =>
      stream(response).end(`${[...chunks, "data: [DONE]"].join("\n\n")}\n\n`),
    );
    const updates: TaskUpdate[] = [];
    for await (const update of runAgent(agent, agentTask(hello), agentContext()))
      updates.push(update);
    expect(updates).toEqual([
      { type: "progress", text: "search" },
      { type: "answer", text: "Found" },
    ]);
  });

  it.each([
    [{ tool_calls: {} }],
    [{ tool_calls: [null, 7, {}] }],
    [call({ function: null })],
    [call({ function: { name: 7 } })],
    [call({ function: { name: "\u0000" } })],
  ])("gives its answer beside a call that cannot be read: %j", async (broken) => {
    expect(await answerOf([{ content: "HEL" }, broken, { content: "LO" }])).toBe("HELLO");
  });
});

const thinking = { type: "thinking", thinking: [{ type: "text", text: "secret" }] };

describe("reasoning in chat completions", () => {
  it.each<[string, Record<string, unknown>[]]>([
    [
      "in tags that chunks cut",
      [
        { content: "<thi" },
        { content: "nk>secret</th" },
        { content: "ink>HEL" },
        { content: "LO" },
      ],
    ],
    [
      "in reasoning_content",
      [{ content: null, reasoning_content: "secret" }, { content: "HELLO" }],
    ],
    [
      "in reasoning",
      [{ reasoning: "secret", reasoning_details: [{ text: "secret" }] }, { content: "HELLO" }],
    ],
    [
      "in parts of a list",
      [{ content: [thinking] }, { content: [{ type: "text", text: "HEL" }, "LO"] }],
    ],
    [
      "in a list with both",
      [{ content: [thinking, { type: "text", text: "HELLO" }, { type: "reference" }, null] }],
    ],
    ["in lists before texts", [{ content: [thinking] }, { content: [] }, { content: "HELLO" }]],
    [
      "in parts named as by Anthropic",
      [
        { content: [{ type: "thinking", thinking: "secret", signature: "x" }] },
        { content: [{ text: "HELLO" }] },
      ],
    ],
    [
      "in redacted parts",
      [
        { content: [{ type: "redacted_thinking", data: "secret" }] },
        { content: [{ type: "output_text", text: "HELLO" }] },
      ],
    ],
  ])("removes reasoning %s from the answer", async (_, deltas) => {
    expect(await answerOf(deltas)).toBe("HELLO");
  });

  it.each([[{ content: 7 }], [{ content: {} }], [{ content: [{ type: "text", text: 7 }] }]])(
    "fails if a piece cannot be read: %j",
    async (delta) => {
      expect(await answerOf([{ content: "HEL" }, delta])).toBe("execution_failed");
    },
  );

  it("removes reasoning from a growing answer", async () => {
    let nowMs = 0;
    const modelText = `<think>${"secret ".repeat(9)}</think>HELLO`;
    const agent = await agentOf(
      (response) =>
        stream(response).end(
          `${[...modelText].map((text) => delta(text)).join("")}data: [DONE]\n\n`,
        ),
      { now: () => (nowMs += 250) },
    );
    const updates: TaskUpdate[] = [];
    for await (const update of runAgent(agent, agentTask(hello), agentContext()))
      updates.push(update);
    expect(updates.map((update) => ("partial" in update ? update.partial : update))).toEqual([
      ...["H", "HE", "HEL", "HELL", "HELLO"],
      { type: "answer", text: "HELLO" },
    ]);
  });

  it("removes reasoning without an opening tag from a growing answer, after the first answer", async () => {
    let nowMs = 0;
    const agent = await agentOf(
      (response) =>
        stream(response).end(
          `${[..."secret</think>HI"].map((text) => delta(text)).join("")}data: [DONE]\n\n`,
        ),
      { now: () => (nowMs += 250) },
    );
    for await (const _ of runAgent(agent, agentTask(hello), agentContext()));
    const partials: unknown[] = [];
    for await (const update of runAgent(agent, agentTask(hello), agentContext()))
      if (update.type === "progress") partials.push(update.partial);
    expect(partials).toEqual(["H", "HI"]);
  });

  it("removes reasoning that is much longer than an answer may be", async () => {
    const reasoning = Array.from({ length: 10 }, () => ({ content: "secret ".repeat(9000) }));
    expect(
      await answerOf([{ content: "<think>" }, ...reasoning, { content: "</think>HELLO" }]),
    ).toBe("HELLO");
  });
});

describe("an answer of chat completions that was cut off", () => {
  const note = "This answer was cut off because it reached the model's length limit.";

  it.each(["length", "max_tokens", "MAX_TOKENS", "model_length"])(
    "says that the answer was cut off after %s",
    async (reason) => {
      expect(await answerOf([{ content: "Delete the " }], reason)).toBe(`Delete the\n\n${note}`);
    },
  );

  it("adds the note about a cut-off answer in Japanese in a Japanese conversation", async () => {
    expect(await answerOf([{ content: "1. 停止" }], "length", { text: "手順は？" })).toMatch(
      /^1. 停止\n\n回答が.*切れています。$/,
    );
  });

  it("closes an open code block before the note about a cut-off answer", async () => {
    expect(await answerOf([{ content: "So:\n```sh\nrm -r" }], "length")).toBe(
      `So:\n\`\`\`sh\nrm -r\n\`\`\`\n\n${note}`,
    );
  });

  it.each(["content_filter", "error", "abort", "insufficient_system_resource"])(
    "fails after the finish reason %s",
    async (reason) => {
      expect(await answerOf([{ content: "Delete the" }], reason)).toBe("execution_failed");
    },
  );

  it.each([
    ["is cut off in its reasoning", [{ content: "<think>secret" }], "length"],
    ["is only reasoning", [{ content: "<think>secret</think>" }], "stop"],
    ["is empty", [{ content: "" }], "content_filter"],
  ])("fails if the answer %s", async (_, deltas, reason) => {
    expect(await answerOf(deltas, reason)).toBe("execution_failed");
  });
});

describe("a failure of chat completions", () => {
  it.each<[string, (response: ServerResponse) => unknown]>([
    ["refuses the call", (response) => response.writeHead(401).end("hunter2")],
    [
      "is overloaded",
      (response) => response.writeHead(529, { "content-type": "text/event-stream" }).end("hunter2"),
    ],
    [
      "sends no event stream",
      (response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    ],
    [
      "sends an error in the stream",
      (response) => stream(response).end(`${delta("a")}data: {"error":{"message":"hunter2"}}\n\n`),
    ],
    [
      "sends an error event",
      (response) => stream(response).end(`event: error\ndata: {"message":"hunter2"}\n\n`),
    ],
    ["sends invalid JSON", (response) => stream(response).end("data: hunter2\n\n")],
    [
      "sends JSON that is not a chunk",
      (response) => stream(response).end('data: {"choices":"hunter2"}\n\n'),
    ],
    ["ends before its answer does", (response) => stream(response).end(delta("half of hunter2"))],
    [
      "ends early with empty finish reasons",
      (response) => stream(response).end(delta("half of hunter2", { finish_reason: "" })),
    ],
  ])("fails with execution_failed when the endpoint %s", async (_name, answer) => {
    expect(await reasonOf(answer)).toBe("execution_failed");
  });

  it("fails when the endpoint sends nothing for too long, before or within the stream", async () => {
    expect(await reasonOf(() => {}, { idleTimeoutMs: 30 })).toBe("execution_failed");
    await server?.close();
    expect(
      await reasonOf((response) => stream(response).write(delta("a")), { idleTimeoutMs: 30 }),
    ).toBe("execution_failed");
  });

  it("fails when the key cannot be read", async () => {
    const apiKey = () => Promise.reject(new Error("hunter2"));
    expect(await reasonOf(whole, { apiKey })).toBe("execution_failed");
  });
});

it("follows no redirect, so that the key reaches no other server", async () => {
  const agent = await agentOf((response) =>
    server?.requests.length === 1
      ? response.writeHead(307, { location: "/elsewhere" }).end()
      : whole(response),
  );
  const { error } = await createTestHost({ agent }).call("execute_task", hello);
  expect(error?.data.reason).toBe("execution_failed");
  expect(server?.requests).toHaveLength(1);
});

it("lets a stream take longer in total than the wait for its next part", async () => {
  const streamWith = async (idleTimeoutMs: number) => {
    await server?.close();
    const agent = await agentOf(
      async (response) => {
        stream(response);
        for (let part = 0; part < 12; part += 1) {
          response.write(delta("x"));
          await new Promise((resolve) => setTimeout(resolve, idleTimeoutMs / 8));
        }
        response.end("data: [DONE]\n\n");
      },
      { idleTimeoutMs },
    );
    const { result } = await createTestHost({ agent }).call("execute_task", hello);
    return result?.response_text;
  };
  const isFair = (text?: string) => text !== undefined;
  const answer = await withGrowingLimit({ firstMs: 800, attempt: streamWith, isFair });
  expect(answer).toBe("x".repeat(12));
});

it("closes the request to the endpoint when the task is canceled", async () => {
  const { promise: connectionEnd, resolve } = Promise.withResolvers<void>();
  const agent = await agentOf((response) => {
    stream(response).write(delta("a"));
    void once(response, "close").then(() => resolve());
  });
  const { call } = createTestHost({ agent, syncBudgetMs: 0 });
  const { result } = await call("execute_task", hello);
  await call("get_task", { task_id: result?.task_id, wait_ms: 50 });
  await call("cancel_task", { task_id: result?.task_id });
  await connectionEnd;
});

it("logs the status of a refusal but not the key", async () => {
  const lines: string[] = [];
  const log = createLog({ service: "execution", write: (line) => lines.push(line) });
  const agent = await agentOf((response) => response.writeHead(403).end("no, key-1"), {
    apiKey: async () => "key-1",
  });
  const updates: TaskUpdate[] = [];
  for await (const update of runAgent(agent, agentTask(hello), agentContext(undefined, log)))
    updates.push(update);
  expect(updates).toEqual([{ type: "failure", reason: "execution_failed" }]);
  expect(lines.map((line) => JSON.parse(line).status)).toEqual([403]);
  expect(lines.join("")).not.toContain("key-1");
});

it.each<[string, (response: ServerResponse) => unknown]>([
  ["before the headers", (response) => response.destroy()],
  [
    "in the stream",
    (response) => {
      stream(response).write(delta("a"));
      setImmediate(() => response.destroy());
    },
  ],
])("logs the code of a connection that breaks %s, not a TypeError", async (_name, answer) => {
  const { call, lines } = createTestHost({ agent: await agentOf(answer) });
  expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
  expect(loggedBy(lines)).toEqual([{ message: "model_unreachable", cause_kind: "UND_ERR_SOCKET" }]);
});

it("logs an unreachable endpoint as ECONNREFUSED", async () => {
  const closedServer = await startModelServer(() => {});
  await closedServer.close();
  const { call, lines } = createTestHost({
    agent: createOpenAiCompatibleAgent({ baseUrl: closedServer.baseUrl, model: "m" }),
  });
  expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
  expect(loggedBy(lines)).toEqual([{ message: "model_unreachable", cause_kind: "ECONNREFUSED" }]);
});

/** The warnings: which, and why. */
function loggedBy(lines: readonly string[]): unknown[] {
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level === "warn")
    .map(({ message, cause_kind }) => ({ message, cause_kind }));
}

it.each(["http://models.example/v1", "http://127.0.0.1.models.example/v1", "ftp://127.0.0.1/v1"])(
  "refuses the base URL %s because the key would travel unencrypted",
  (baseUrl) => {
    expect(() => createOpenAiCompatibleAgent({ baseUrl, model: "m" })).toThrow(/https/);
  },
);

async function eventsOf(
  bytes: Uint8Array,
  cuts: readonly number[] = [],
  maxBytes = 1e6,
): Promise<ServerSentEvent[]> {
  async function* chunks() {
    let from = 0;
    for (const at of [...new Set(cuts)].sort((a, b) => a - b)) {
      yield bytes.subarray(from, at);
      from = at;
    }
    yield bytes.subarray(from);
  }
  const events: ServerSentEvent[] = [];
  for await (const event of parseServerSentEvents({ chunks: chunks(), maxBytes }))
    events.push(event);
  return events;
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe("server-sent events", () => {
  it.each([
    [
      "CRLF",
      "data: a\r\n\r\ndata: b\r\n\r\n",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    [
      "a named event",
      "event: error\ndata: a\n\ndata: b\n\n",
      [
        { event: "error", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["a byte order mark", "\uFEFFdata: a\n\n", [{ event: "", data: "a" }]],
    [
      "an end without an empty line",
      "data: a\n\ndata: b",
      [
        { event: "", data: "a" },
        { event: "", data: "b", isCut: true },
      ],
    ],
  ])("reads server-sent events: %s", async (_name, text, events) => {
    expect(await eventsOf(bytes(text))).toEqual(events);
  });

  it("reads the same events wherever the chunks are split", async () => {
    const line = fc.oneof(
      fc.constantFrom("data: 関所 🏯", "data:", ": note", "event: error", "", ""),
      fc.string({ maxLength: 8 }),
    );
    const text = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n")), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(200)), async (lines, cuts) => {
        const whole = bytes(lines.flat().join(""));
        expect(await eventsOf(whole, cuts)).toEqual(await eventsOf(whole));
      }),
    );
  });

  it("rejects a stream of events beyond the size limit", async () => {
    await expect(eventsOf(bytes("data: aaaaaaaaaa\n\n"), [4, 8], 10)).rejects.toThrow();
  });

  it("rejects events that are not UTF-8", async () => {
    await expect(eventsOf(new Uint8Array([0x64, 0xff, 0x0a]))).rejects.toThrow(/not valid/);
  });
});
