/** The agent `responses`, against an endpoint of the Responses API on a real socket. */
import { describe, expect, it, jest } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  type AgentAnswer,
  type AgentContext,
  type AgentTask,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { createResponsesAgent } from "@sekisho/execution/agents/responses.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { createTestHost, eventually, hello } from "../test-host.ts";
import { agentContext, agentTask, memoryConversation } from "./agent-context.ts";
import {
  encode,
  messageOf,
  type OutputItem,
  type Plan,
  sse,
  startResponsesServer,
  streaming,
  streamOf,
} from "./responses-server.ts";

type Run = {
  options?: object;
  task?: Partial<AgentTask>;
  context?: Partial<AgentContext>;
  pollIntervalMs?: number;
  filesTimeoutMs?: number;
};

function agentOf(
  baseUrl: string,
  { options = {}, pollIntervalMs = 5, filesTimeoutMs = 5000 }: Run = {},
) {
  const json = { execution: { agent: { type: "responses", baseUrl, ...options } } };
  const { agent: config } = parseConfig({ json }).execution;
  if (typeof config === "string" || config.type !== "responses") throw new Error("not responses");
  return createResponsesAgent({
    config,
    dependencies: {
      ...{ region: undefined, credentials: async () => credentials },
      readSecret: async () => "key",
    },
    ...{ pollIntervalMs, filesTimeoutMs },
  });
}

/** All updates but partial ones, and what the log says. Nothing of it repeats what the endpoint wrote in an error. */
async function run(baseUrl: string, request: Run) {
  const { task = {}, context } = request;
  const agent = agentOf(baseUrl, request);
  const { log, lines, entries } = collectLog({ service: "execution" });
  const updates: TaskUpdate[] = [];
  const partials: string[] = [];
  const ownContext = { ...agentContext(undefined, log), ...context };
  for await (const update of runAgent(agent, agentTask({ text: "hi", ...task }), ownContext))
    if (update.type === "progress" && update.partial !== undefined) partials.push(update.partial);
    else updates.push(update);
  expect(JSON.stringify(updates) + lines.join("")).not.toContain("hunter2");
  const causes = entries().map(({ cause_kind }) => cause_kind);
  return { updates, partials, last: updates.at(-1), causes, lines };
}

async function runWith(plan: Plan, request: Run = {}) {
  const server = await startResponsesServer({ plan: () => plan });
  const result = await run(server.baseUrl, request);
  expect(server.problems).toEqual([]);
  return { ...result, requests: server.requests, received: server.received };
}

const answering = (...output: OutputItem[]): Plan => ({ output });
const failure = (lost: boolean) => ({ type: "failure", reason: "execution_failed", lost });
const history = [
  { role: "user" as const, text: "Hi", ts: "1.1", user_id: "U1" },
  { role: "assistant" as const, text: "Hello", ts: "1.2" },
  { role: "user" as const, text: "By the way", ts: "1.3" },
];
const earlier = history.map(({ role, text }) => ({ type: "message", role, content: text }));
const messageHi = { type: "message", role: "user", content: "hi" };

describe("a request for a response", () => {
  it("has the model, the system prompt, the thread and the message", async () => {
    const { requests, received, last } = await runWith(answering(messageOf("Hello")), {
      options: {
        model: "m",
        system: "Be brief.",
        authorizer: { type: "bearer", token: { env: "K" } },
      },
      task: { history, parts: [{ text: "hi" }, { data: { a: 1 } }], bot_token: "hidden" },
    });
    expect(last).toEqual({ type: "answer", text: "Hello" });
    expect(requests).toEqual([
      {
        ...{ model: "m", instructions: "Be brief.", stream: true },
        input: [...earlier, { ...messageHi, content: 'hi\n{"a":1}' }],
      },
    ]);
    const { headers } = received[0]?.request ?? {};
    expect(headers?.get("authorization")).toBe("Bearer key");
    expect(headers?.get("accept")).toBe("text/event-stream, application/json");
  });

  it("names an agent of Foundry, and says what the endpoint may store", async () => {
    const agent = { name: "ops", version: "3" };
    const { requests } = await runWith(answering(messageOf("x")), {
      options: { agent, store: false },
    });
    const reference = { type: "agent_reference", ...agent };
    expect(requests).toEqual([
      { agent_reference: reference, store: false, stream: true, input: [messageHi] },
    ]);
  });

  it("keeps the query of the address, and sends the configured headers", async () => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const options = { headers: { "foundry-features": "HostedAgents=V1Preview" } };
    await run(`${server.baseUrl}/?api-version=v1`, { options });
    expect(server.received.map(({ target }) => target)).toEqual(["/v1/responses?api-version=v1"]);
    expect(server.received[0]?.request.headers.get("foundry-features")).toBe(
      "HostedAgents=V1Preview",
    );
  });
});

describe("the files of a message", () => {
  const url = "https://files.example/a";
  const readAttachment = async () => new TextEncoder().encode("local");
  const contentOf = async (...parts: AgentTask["parts"]) => {
    const { requests } = await runWith(answering(messageOf("x")), {
      task: { parts },
      context: { readAttachment },
    });
    return requests[0]?.input.map((item) => ("content" in item ? item.content : item))[0];
  };
  const text = { type: "input_text", text: "hi" };

  it("reach a model by their addresses", async () => {
    const parts = [
      { url, mediaType: "image/png" },
      { url, mediaType: "application/pdf", filename: "a.pdf" },
    ];
    expect(await contentOf(...parts)).toEqual([
      text,
      { type: "input_image", detail: "auto", image_url: url },
      { type: "input_file", file_url: url },
    ]);
  });

  it("reach a model as bytes if only this process can read them", async () => {
    const parts = [
      {
        url: "http://127.0.0.1:9/files/a",
        mediaType: "text/csv; charset=utf-8",
        filename: "a.csv",
      },
      { raw: "AAAA", mediaType: "image/webp" },
    ];
    expect(await contentOf(...parts)).toEqual([
      text,
      { type: "input_file", filename: "a.csv", file_data: "data:text/csv;base64,bG9jYWw=" },
      { type: "input_image", detail: "auto", image_url: "data:image/webp;base64,AAAA" },
    ]);
  });

  it("appear by name if no model reads them", async () => {
    expect(await contentOf({ url, mediaType: "application/zip", filename: "a.zip" })).toBe(
      "hi\n(A file that you cannot read: a.zip application/zip)",
    );
  });

  it("appear by name if they cannot be read", async () => {
    const { requests } = await runWith(answering(messageOf("x")), {
      task: { parts: [{ url: "http://127.0.0.1:9/files/a", mediaType: "image/png" }] },
      context: { readAttachment: () => Promise.reject(new Error("gone")) },
    });
    expect(requests).toMatchObject([
      { input: [{ content: "hi\n(A file that you cannot read: file image/png)" }] },
    ]);
  });

  it("appear by name in a second request if the endpoint refuses the first", async () => {
    const server = await startResponsesServer({
      plan: (_request, count) =>
        count === 1 ? new Response("hunter2", { status: 422 }) : answering(messageOf("No images")),
    });
    const parts = [{ url, mediaType: "image/png", filename: "a.png" }];
    const { last } = await run(server.baseUrl, { task: { parts } });
    expect(last).toEqual({ type: "answer", text: "No images" });
    expect(server.requests.map(({ input }) => input.length)).toEqual([1, 1]);
    expect(server.requests[1]).toMatchObject({
      input: [{ content: "hi\n(A file that you cannot read: a.png image/png)" }],
    });
  });
});

describe("a response", () => {
  it("becomes an answer with its usage, and its tools become progress", async () => {
    const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
    const output = [
      { type: "reasoning", id: "r" },
      { type: "web_search_call", id: "w" },
      { type: "mcp_call", id: "c", name: "list\u0000_repos", arguments: "hunter2" },
      { type: "mcp_list_tools", id: "l", name: "no" },
      messageOf("Done"),
    ];
    const { updates } = await runWith({ output, end: { usage } });
    expect(updates).toEqual([
      { type: "progress", text: "web_search" },
      { type: "progress", text: "list_repos" },
      { type: "answer", text: "Done", usage },
    ]);
  });

  it("becomes an answer also without a stream", async () => {
    const { last } = await runWith(Response.json({ id: "r", output: [messageOf("Whole")] }));
    expect(last).toEqual({ type: "answer", text: "Whole" });
  });

  it("shows the answer while it is written", async () => {
    const pieces = ["Hel", "lo.", "And you?"].map((delta, index) => ({
      ...{ type: "response.output_text.delta", output_index: Math.floor(index / 2), delta },
    }));
    const end = { type: "response.completed", response: { status: "completed" } };
    const text = [...pieces, end].map((event) => encode([event]).padEnd(200, ":\n")).join("");
    const plan = streaming(new TextEncoder().encode(text), { pieceSize: 200, pauseMs: 300 });
    const { partials, last } = await runWith(plan);
    expect(partials).toEqual(["Hello.", "Hello.\n\nAnd you?"]);
    expect(last).toEqual({ type: "answer", text: "Hello.\n\nAnd you?" });
  });

  it("has the items of its stream if the end has none", async () => {
    const image = { type: "image_generation_call", id: "i", result: "AAAA" };
    const events = streamOf([messageOf("Here"), image], { output: [] });
    const { updates } = await runWith({ output: [], events });
    expect(updates.slice(1)).toEqual([
      {
        type: "artifact",
        artifact: { name: "image.png", mimetype: "image/png", base64: "AAAA" },
      },
      { type: "answer", text: "Here" },
    ]);
  });

  it("leaves out the commentary of a model that tells it from its answer", async () => {
    const output = [
      messageOf("I look", { phase: "commentary" }),
      messageOf("7", { phase: "final_answer" }),
    ];
    expect((await runWith({ output })).last).toEqual({ type: "answer", text: "7" });
    const [commentary] = output;
    const alone = commentary === undefined ? [] : [commentary];
    expect((await runWith({ output: alone })).last).toEqual({ type: "answer", text: "I look" });
  });

  it.each([
    ["max_output_tokens", "the model's length limit"],
    ["max_tool_calls", "a limit of time or steps"],
    [undefined, "a limit of time or steps"],
  ])("says that it is cut: %s", async (reason, note) => {
    const end = { status: "incomplete", incomplete_details: reason ? { reason } : null };
    const { last } = await runWith({ output: [messageOf("Once upon")], end });
    expect(last).toEqual({
      type: "answer",
      text: expect.stringMatching(`^Once upon\n\n.*${note}`),
    });
  });

  it("has no answer if a filter cut it", async () => {
    const end = { status: "incomplete", incomplete_details: { reason: "content_filter" } };
    const { last, causes } = await runWith({ output: [messageOf("Once")], end });
    expect(last).toMatchObject({ type: "failure" });
    expect(causes).toEqual([undefined]);
  });

  it.each<[string, Plan, string]>([
    [
      "fails with a code",
      {
        output: [],
        end: { status: "failed", error: { code: "server_error", message: "hunter2" } },
      },
      "response.failed: server_error",
    ],
    [
      "fails with a text for a code",
      { output: [], end: { status: "failed", error: { code: "hunter2 is the password" } } },
      "response.failed",
    ],
    ["is canceled", { output: [], end: { status: "cancelled" } }, "response.cancelled"],
    [
      "is an error of status 200",
      Response.json({ error: { message: "hunter2" } }),
      'the member "error" reports a failure',
    ],
    [
      "waits for a function that nobody offers",
      answering(messageOf("Let me look"), { type: "function_call", call_id: "c", name: "look" }),
      "the response ends with a function_call that nobody answers",
    ],
  ])("becomes a failure if it %s", async (_what, plan, cause) => {
    const { last, causes } = await runWith(plan);
    expect(last).toEqual(failure(false));
    expect(causes).toEqual([cause]);
  });

  it.each<[string, OutputItem[]]>([
    [
      "that the agent itself answers",
      [
        { type: "function_call", call_id: "c", name: "look" },
        { type: "function_call_output", call_id: "c", output: "7" },
        messageOf("Done"),
      ],
    ],
    [
      "before a message",
      [{ type: "function_call", call_id: "c", name: "look" }, messageOf("Done")],
    ],
    [
      "after the message that have their results",
      [
        messageOf("Done"),
        { type: "shell_call", call_id: "c" },
        { type: "shell_call_output", call_id: "c" },
      ],
    ],
  ])("becomes an answer with calls %s", async (_what, output) => {
    expect((await runWith({ output })).last).toEqual({ type: "answer", text: "Done" });
  });

  it("cites pages without a link in the text, each once, and leaves out the marks", async () => {
    const cite = (url: unknown) => ({ type: "url_citation", url, title: "hunter2" });
    const annotations = [
      cite("https://a.example/x"),
      cite("https://b.example/"),
      cite("https://b.example/"),
      cite("javascript:alert(1)"),
      cite("https://c.example/ x"),
      cite(7),
      null,
      { type: "file_citation", filename: "a.pdf" },
    ];
    const text = "See https://a.example/x and more【4:0†a.pdf】.";
    const content = [{ type: "output_text", text, annotations }];
    const { last } = await runWith(answering(messageOf("", { content })));
    expect(last).toEqual({
      type: "answer",
      text: "See https://a.example/x and more.\n\n- https://b.example/",
    });
  });

  it("has images as files, as far as a result has room", async () => {
    const image = (length: number) => ({
      ...{ type: "image_generation_call", output_format: "webp", result: "A".repeat(length) },
    });
    const { updates, causes } = await runWith(answering(image(400), image(400_000)));
    expect(updates).toEqual([
      { type: "progress", text: "image_generation" },
      { type: "progress", text: "image_generation" },
      {
        type: "artifact",
        artifact: { name: "image.webp", mimetype: "image/webp", base64: "A".repeat(400) },
      },
      { type: "answer", text: "" },
    ]);
    expect(causes).toEqual(["artifact: too_large"]);
  });
});

describe("an answer that cites a page ten thousand times", () => {
  it.each([
    ["a text that has it", "https://a.example/"],
    ["a text that is too large", "x".repeat(300_000)],
  ])("looks for it once at most in %s", async (_what, text) => {
    const annotations = Array.from({ length: 10_000 }, () => ({
      ...{ type: "url_citation", url: "https://a.example/" },
    }));
    const content = [{ type: "output_text", text, annotations }];
    const includes = jest.spyOn(String.prototype, "includes");
    try {
      const { last } = await runWith(answering(messageOf("", { content })));
      expect(last).toEqual({ type: "answer", text });
      const searches = includes.mock.contexts.filter((context) => String(context) === text);
      expect(searches.length).toBeLessThanOrEqual(1);
    } finally {
      includes.mockRestore();
    }
  });
});

describe("the files of a code interpreter", () => {
  const cite = (more: object) => ({
    ...{ type: "container_file_citation", container_id: "cntr_1", file_id: "cfile/1" },
    ...more,
  });
  const output = (...annotations: object[]) => [
    messageOf("", { content: [{ type: "output_text", text: "See a.csv", annotations }] }),
  ];
  const path = "/v1/containers/cntr_1/files/cfile%2F1/content";

  it("become files of the answer, each once", async () => {
    const server = await startResponsesServer({
      plan: () => ({ output: output(cite({ filename: "a.csv" }), cite({ filename: "a.csv" })) }),
      files: { [path]: "a,b" },
    });
    const { updates } = await run(`${server.baseUrl}?api-version=v1`, {});
    const artifact = { name: "a.csv", mimetype: "text/csv", base64: "YSxi" };
    expect(updates).toEqual([
      { type: "artifact", artifact },
      { type: "answer", text: "See a.csv" },
    ]);
    const targets = server.received.slice(1).map(({ target }) => target);
    expect(targets).toEqual([`${path}?api-version=v1`]);
  });

  it.each<[string, object, string, string[]]>([
    [
      "one that is gone",
      { container_id: "cntr_2" },
      "",
      ["HTTP 405: nothing takes the request at this address"],
    ],
    ["one that is larger than a result", {}, "x".repeat(300_000), ["too_large"]],
    ["one for which a result has no room", {}, "x".repeat(200_000), ["artifact: too_large"]],
    ["one without an id", { file_id: null }, "a", []],
    ["one whose id is a step of a path", { container_id: ".." }, "a", []],
  ])("leave out %s, and the answer stays", async (_what, more, file, expectedCauses) => {
    const server = await startResponsesServer({
      plan: () => ({ output: output(cite(more)) }),
      files: { [path]: file },
    });
    const { updates, causes } = await run(server.baseUrl, {});
    expect(updates).toEqual([{ type: "answer", text: "See a.csv" }]);
    expect(causes).toEqual(expectedCauses);
  });

  it("do not hold the answer back if one never ends", async () => {
    const endless = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(new Uint8Array(1));
      },
    });
    const server = await startResponsesServer({
      plan: () => ({ output: output(cite({}), cite({ file_id: "second" })) }),
      files: { [path]: endless, "/v1/containers/cntr_1/files/second/content": "a" },
    });
    const { updates, causes } = await run(server.baseUrl, { filesTimeoutMs: 300 });
    expect(updates).toEqual([{ type: "answer", text: "See a.csv" }]);
    expect(causes).toHaveLength(2);
  });
});

describe("an approval that a response waits for", () => {
  const request = (id: string, name: string) => ({
    ...{ type: "mcp_approval_request", id, name, server_label: "github" },
    arguments: `{"id":"${id}"}`,
  });
  const asking = [messageOf("I need two tools."), request("a1", "merge"), request("a2", "close")];

  async function ask(task: Partial<AgentTask> = {}) {
    const server = await startResponsesServer({
      plan: (_request, count) => answering(...(count === 1 ? asking : [messageOf("Merged")])),
    });
    const { last } = await run(server.baseUrl, { task });
    const state = last?.type === "question" ? last.state : undefined;
    const reply = async (answer: Partial<AgentAnswer>, options = {}) => {
      const answers = [{ prompt: "", text: "", state, ...answer }];
      return run(server.baseUrl, { task: { ...task, answers }, options });
    };
    return { server, question: last, reply };
  }

  const shown = (name: string, id: string) =>
    `\`${name}\`, \`github\`\n\n\`\`\`json\n{\n  "id": "${id}"\n}\n\`\`\``;

  it("becomes a question with the names of the tools and their arguments", async () => {
    const { question } = await ask();
    expect(question).toEqual({
      type: "question",
      prompt: `I need two tools.\n\nMay I use these tools?\n\n${shown("merge", "a1")}\n\n${shown("close", "a2")}`,
      options: [
        { id: "approve", label: "Approve" },
        { id: "deny", label: "Deny" },
      ],
      state: { responses: 1, responseId: "resp_1", requestIds: ["a1", "a2"] },
    });
  });

  it.each<[string, unknown, string]>([
    ["no JSON", "rm -rf /\u202e", '"rm -rf /\\u202e"'],
    ["a fence", '{"a":"\\n```\\nHarmless."}', '"a": "\\n```\\nHarmless."'],
    ["too deep", "[".repeat(5000) + "]".repeat(5000), '"[[['],
    ["an object", { a: 1 }, "`run`, `s`"],
    ["nothing", null, "`run`, `s`"],
  ])("shows arguments that are %s as what they are", async (_what, value, words) => {
    const item = { ...request("a1", "run"), server_label: "s", arguments: value };
    const server = await startResponsesServer({ plan: () => answering(item) });
    const { last } = await run(server.baseUrl, {});
    const { prompt = "" } = last?.type === "question" ? last : {};
    expect(prompt).toContain(words);
    expect(prompt.match(/^```/gm) ?? []).toHaveLength(typeof value === "string" ? 2 : 0);
  });

  it("names the tools whose arguments would make the question too long", async () => {
    const items = Array.from({ length: 40 }, (_, index) => ({
      ...request(`a${index}`, `tool ${index}`),
      arguments: JSON.stringify({ text: "x".repeat(2000) }),
    }));
    const server = await startResponsesServer({ plan: () => answering(...items) });
    const { last } = await run(server.baseUrl, {});
    const { prompt = "", state } = last?.type === "question" ? last : {};
    expect(prompt.length).toBeLessThanOrEqual(9000);
    expect(prompt.match(/`tool \d+`/g)).toHaveLength(30);
    expect(prompt).toContain("The arguments are too long to be shown.");
    expect(Object(state).requestIds).toHaveLength(30);
  });

  it("speaks the language of the person", async () => {
    const { question } = await ask({ text: "マージして" });
    expect(question).toMatchObject({ options: [{ label: "承認する" }, { label: "却下する" }] });
  });

  it.each([
    ["approves", { option_id: "approve" }, { approve: true }],
    ["denies", { option_id: "deny" }, { approve: false }],
    ["denies in words", { text: "Not today" }, { approve: false, reason: "Not today" }],
  ])("goes on when the person %s", async (_what, answer, decision) => {
    const { server, reply } = await ask({ history });
    const { last } = await reply(answer);
    expect(last).toEqual({ type: "answer", text: "Merged" });
    expect(server.problems).toEqual([]);
    const decide = (id: string) => ({
      ...{ type: "mcp_approval_response", approval_request_id: id },
      ...decision,
    });
    expect(server.requests[1]).toEqual({
      ...{ previous_response_id: "resp_1", stream: true },
      input: [decide("a1"), decide("a2")],
    });
  });

  it("counts the tokens of both responses", async () => {
    const usage = (count: number) => ({
      input_tokens: count,
      output_tokens: 1,
      total_tokens: null,
    });
    const server = await startResponsesServer({
      plan: (_request, count) => ({
        output: count === 1 ? asking : [messageOf("Merged")],
        end: { usage: usage(count) },
      }),
    });
    const { last } = await run(server.baseUrl, {});
    const state = last?.type === "question" ? last.state : undefined;
    const answers = [{ prompt: "", text: "", option_id: "approve", state }];
    expect((await run(server.baseUrl, { task: { answers } })).last).toMatchObject({
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 0 },
    });
  });

  it("fails if the endpoint has forgotten the response, and runs nothing", async () => {
    const { server, reply } = await ask();
    server.stored.clear();
    const { last } = await reply({ option_id: "approve" });
    expect(last).toEqual(failure(false));
    expect(server.requests).toHaveLength(2);
  });

  it("gets its answer through the host", async () => {
    const server = await startResponsesServer({
      plan: (_request, count) => answering(...(count === 1 ? asking : [messageOf("Merged")])),
    });
    const { call } = createTestHost({
      agent: agentOf(server.baseUrl, { options: { store: true } }),
    });
    const started = await call("execute_task", { ...hello, session_id: "s".repeat(40) });
    const { task_id, status } = started.result ?? {};
    expect(status).toBe("input_required");
    await call("answer_task", { task_id, text: "Approve", option_id: "approve" });
    const wait = async () => (await call("get_task", { task_id, wait_ms: 1000 })).result;
    await eventually(async () => (await wait())?.status === "success");
    expect((await wait())?.response_text).toBe("Merged");
    expect(server.requests.map(({ input }) => input.map(({ type }) => type))).toEqual([
      ["message"],
      ["mcp_approval_response", "mcp_approval_response"],
    ]);
  });

  it("fails at once if the endpoint is to store nothing", async () => {
    const options = { store: false };
    const { last, causes } = await runWith(answering(...asking), { options });
    expect(last).toEqual(failure(false));
    expect(causes).toEqual(["mcp_approval_request: needs a stored response"]);
  });

  it("fails if the question was one of another agent", async () => {
    const { server, reply } = await ask();
    for (const state of [undefined, null, { agUi: 1 }, []])
      expect((await reply({ state })).last).toEqual(failure(false));
    expect(server.requests).toHaveLength(1);
  });
});

describe("a conversation that the endpoint keeps", () => {
  const options = { store: true };

  it("goes on from the response before with what is new in the thread", async () => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const context = { conversation: memoryConversation() };
    await run(server.baseUrl, { options, context });
    await run(server.baseUrl, { options, context, task: { history } });
    expect(context.conversation.writes).toEqual([
      { responseId: "resp_1", seenTs: "0" },
      { responseId: "resp_2", seenTs: "1.3" },
    ]);
    expect(server.requests[1]).toEqual({
      ...{ previous_response_id: "resp_1", store: true, stream: true },
      input: [...earlier.slice(2), messageHi],
    });
  });

  it("begins again with the thread, once, if the endpoint does not know it", async () => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const context = { conversation: memoryConversation({ responseId: "resp_old" }) };
    const { last, lines } = await run(server.baseUrl, { options, context, task: { history } });
    expect(last).toEqual({ type: "answer", text: "x" });
    expect(lines.join("")).toContain("remote_conversation_gone");
    expect(server.requests.slice(1)).toEqual([
      { store: true, stream: true, input: [...earlier, messageHi] },
    ]);
    expect(context.conversation.writes).toEqual([{ responseId: "resp_2", seenTs: "1.3" }]);
  });

  it("brings what another agent answered in between", async () => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const context = { conversation: memoryConversation() };
    const later = [
      { role: "user" as const, text: "hi", ts: "1.4" },
      { role: "user" as const, text: "Quickly", ts: "1.5" },
      { role: "assistant" as const, text: "x", ts: "1.6" },
      { role: "assistant" as const, text: "x, continued", ts: "1.7" },
      { role: "user" as const, text: "@other hi", ts: "1.8" },
      { role: "assistant" as const, text: "Another agent's", ts: "1.9" },
    ];
    await run(server.baseUrl, { options, context, task: { history } });
    await run(server.baseUrl, {
      ...{ options, context, task: { history: [...history, ...later] } },
    });
    expect(server.requests[1]?.input.map((item) => Object(item).content)).toEqual([
      ...["Quickly", "@other hi", "Another agent's", "hi"],
    ]);
  });

  it.each<[string, Partial<AgentTask>, object]>([
    ["timestamps are missing", { history: history.map(({ ts, ...item }) => item) }, {}],
    ["an older version kept it", { history }, { responseId: "resp_1" }],
  ])("goes on with what follows the latest answer, because %s", async (_why, task, kept) => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const context = { conversation: memoryConversation() };
    await run(server.baseUrl, { options, context, task });
    if ("responseId" in kept) await context.conversation.write(kept);
    await run(server.baseUrl, { options, context, task });
    expect(server.requests[1]?.input).toEqual([...earlier.slice(2), messageHi]);
  });

  it.each([undefined, null, 7, "resp_1", { responseId: 7 }])(
    "begins with the thread if the store has %j",
    async (value) => {
      const { requests } = await runWith(answering(messageOf("x")), {
        options,
        context: { conversation: memoryConversation(value) },
        task: { history },
      });
      expect(requests).toEqual([{ store: true, stream: true, input: [...earlier, messageHi] }]);
    },
  );

  it("has its answer also if the store takes no id", async () => {
    const write = () => Promise.reject(new Error("hunter2"));
    const { last, causes } = await runWith(answering(messageOf("x")), {
      options,
      context: { conversation: { ...memoryConversation(), write } },
    });
    expect(last).toEqual({ type: "answer", text: "x" });
    expect(causes).toEqual(["Error"]);
  });

  it("sends nothing if the store cannot be read", async () => {
    const server = await startResponsesServer({ plan: () => answering(messageOf("x")) });
    const read = () => Promise.reject(new SekishoError("unavailable"));
    const context = { conversation: { ...memoryConversation(), read } };
    await expect(run(server.baseUrl, { options, context })).rejects.toThrow(SekishoError);
    expect(server.received).toEqual([]);
  });

  it("keeps nothing of a response that failed or asked", async () => {
    const context = { conversation: memoryConversation() };
    const request = { type: "mcp_approval_request", id: "a", name: "x", server_label: "s" };
    await runWith({ output: [], end: { status: "failed" } }, { options, context });
    await runWith(answering(request), { options, context });
    expect(context.conversation.writes).toEqual([]);
  });

  it("stays unread and unwritten by default", async () => {
    const refuse = () => Promise.reject(new Error("used"));
    const context = { conversation: { read: refuse, write: refuse } };
    expect((await runWith(answering(messageOf("x")), { context })).causes).toEqual([]);
  });
});

describe("a response in the background", () => {
  const options = { background: true };
  const begun = streamOf([messageOf("Hello")]).slice(0, 4);
  const cut = (how: Parameters<typeof streaming>[1] = {}, more = "") =>
    streaming(new TextEncoder().encode(encode(begun) + more), how);

  async function start(plan: Plan, read: (count: number) => object | Response) {
    const server = await startResponsesServer({
      plan: () => plan,
      read: (_stored, count) => read(count),
    });
    server.stored.set("resp_1", { id: "resp_1", status: "in_progress", output: [] });
    return server;
  }
  const completed = { id: "resp_1", status: "completed", output: [messageOf("Hello again")] };

  it("streams like any other, and asks to be stored", async () => {
    const { last, requests, received } = await runWith(answering(messageOf("x")), { options });
    expect(last).toEqual({ type: "answer", text: "x" });
    expect(requests).toMatchObject([{ background: true, store: true }]);
    expect(received).toHaveLength(1);
  });

  it.each<[string, () => Response]>([
    ["the stream ends early", () => cut()],
    ["the stream breaks off", () => cut({ breaksOff: true, pauseMs: 50 })],
    ["the stream has a broken event", () => cut({}, 'data: {"type":\n\n')],
    ["there is no stream", () => Response.json({ id: "resp_1", status: "queued" })],
  ])("survives if %s, because it can be read again", async (_what, begin) => {
    const server = await start(begin(), (count) => {
      if (count === 1) return { id: "resp_1", status: "in_progress", output: [] };
      if (count === 2) return new Response("hunter2", { status: 500 });
      return completed;
    });
    const { last } = await run(`${server.baseUrl}?api-version=v1`, { options });
    expect(last).toEqual({ type: "answer", text: "Hello again" });
    expect(server.received.map(({ request, target }) => `${request.method} ${target}`)).toEqual([
      "POST /v1/responses?api-version=v1",
      ...Array.from({ length: 3 }, () => "GET /v1/responses/resp_1?api-version=v1"),
    ]);
  });

  it.each<[string, () => object | Response]>([
    [
      "HTTP 404: nothing takes the request at this address",
      () => new Response(null, { status: 404 }),
    ],
    ["the response has no status", () => ({ detail: "hunter2" })],
    ["the response is no JSON object", () => new Response("hunter2")],
  ])("may have run after reads that only say '%s', and is canceled", async (cause, read) => {
    const server = await start(cut(), read);
    const { last, causes } = await run(server.baseUrl, {
      options: { ...options, idleTimeoutMs: 1000 },
      pollIntervalMs: 300,
    });
    expect(last).toEqual(failure(true));
    expect(causes).toEqual([cause]);
    expect(server.stored.get("resp_1")?.wasCanceled).toBe(true);
  });

  it("may have run if the connection breaks before it has an id", async () => {
    const server = await startResponsesServer({
      plan: () => {
        throw connectionReset;
      },
    });
    expect((await run(server.baseUrl, { options })).last).toEqual(failure(true));
    expect(server.received).toHaveLength(1);
  });

  it("ends with a canceled task", async () => {
    const server = await start(cut(), () => ({ id: "resp_1", status: "in_progress" }));
    const canceling = new AbortController();
    const { log } = collectLog({ service: "execution" });
    const running = run(server.baseUrl, {
      options,
      context: agentContext(canceling.signal, log),
    });
    running.catch(() => {});
    await eventually(() => server.received.length > 2);
    canceling.abort();
    await eventually(() => server.stored.get("resp_1")?.wasCanceled === true);
    await running.catch(() => {});
  });

  it("ends at the first error, and gets a cancel", async () => {
    const events = [...begun, { type: "error", code: "server_error", message: "hunter2" }];
    const server = await start(sse(events), () => completed);
    expect((await run(server.baseUrl, { options })).last).toEqual(failure(false));
    expect(server.received.map(({ target }) => target)).toEqual([
      "/v1/responses",
      "/v1/responses/resp_1/cancel",
    ]);
  });
});
