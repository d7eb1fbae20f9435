/** The agent `http`, against endpoints of many kinds on real sockets. */

import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type AgentTask, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createAgent } from "@sekisho/execution/agents/http.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { serve } from "../../doubles/serving.ts";
import type { Received } from "../../doubles/web-server.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { createTestHost, eventually, hello } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import {
  bedrock,
  bedrockText,
  flowise,
  frame,
  langGraphServer,
  pythonRuntime,
  readBody,
  sse,
} from "./http-servers.ts";

const session = "3f0f6b0e-5a35-8b0c-9d5e-0d7d5a6f3a11";
const secrets: Record<string, string> = { KEY: "app-key" };

function agentOf(options: object) {
  const json = { execution: { agent: { type: "http", ...options } } };
  const { agent: config } = parseConfig({ json }).execution;
  return createAgent({
    ...{ config, region: undefined, credentials: async () => credentials },
    readSecret: async (reference) => secrets["env" in reference ? reference.env : ""] ?? "",
  });
}

/** All updates but partial ones, and what the log says. */
async function run(options: object, task: Partial<AgentTask> = {}) {
  const { log, entries } = collectLog({ service: "execution" });
  const updates: TaskUpdate[] = [];
  const context = { ...agentContext(undefined, log), contextId: session };
  for await (const update of runAgent(
    agentOf(options),
    agentTask({ text: "hi", ...task }),
    context,
  ))
    if (update.type !== "progress") updates.push(update);
  return { updates, causes: entries().map(({ cause_kind }) => cause_kind) };
}

/** The text of the answer to a server's response, or why there is none. */
async function answerTo(response: () => Response, options: object = {}, task = {}) {
  const { url } = await serve(response);
  const { updates, causes } = await run({ url, ...options }, task);
  const [update] = updates;
  expect(updates).toHaveLength(1);
  if (update?.type === "answer") return update.text;
  return update?.type === "failure" ? { lost: update.lost ?? false, causes } : update;
}

const failed = (cause: string, lost = false) => ({
  lost,
  causes: [expect.stringContaining(cause)],
});
const text = (body: string, type = "text/plain") =>
  new Response(body, { headers: { "content-type": type } });

describe("the request", () => {
  async function bodyOf(options: object, task: Partial<AgentTask> = {}) {
    const { url, received } = await serve(() => Response.json("ok"));
    await run({ url, ...options }, task);
    return received.map((call) => readBody(call))[0];
  }

  it("posts {prompt} by default, and accepts JSON and streams", async () => {
    const { url, received } = await serve(() => Response.json("ok"));
    await run({ url });
    expect(received.map(readBody)).toEqual([{ prompt: "hi" }]);
    expect(received[0]?.request.headers.get("accept")).toBe("application/json, text/event-stream");
    expect(received[0]?.request.headers.get("content-type")).toBe("application/json");
  });

  it("has each value where the template names it", async () => {
    const history = [{ role: "assistant" as const, text: "Hello", ts: "1.2", user_id: "U9" }];
    const file = { name: "a.txt", mimetype: "text/plain", size: 1, url: "https://f.example/a" };
    const task = {
      ...{ text: "say {user}", user_id: "U1", channel: "C1", team_id: "T1", history },
      attachments: [{ ...file, id: "F1" }],
      parts: [{ data: { a: 1 } }],
    };
    const names = ["text", "messages", "history", "session", "user", "channel", "team", "task_id"];
    const each = Object.fromEntries([...names, "files", "data"].map((name) => [name, `{${name}}`]));
    expect(await bodyOf({ request: each }, task)).toEqual({
      ...{ text: "say {user}", session, user: "U1", channel: "C1", team: "T1", task_id: "t" },
      history: [{ role: "assistant", content: "Hello" }],
      messages: [
        { role: "assistant", content: "Hello" },
        { role: "user", content: "say {user}" },
      ],
      files: [file],
      data: [{ a: 1 }],
    });
  });

  it("has values within texts, and leaves out a member without a value", async () => {
    const request = { a: ["{user}: {text} {data}", 1, null], channel: "{channel}", b: "{team}!" };
    expect(await bodyOf({ request }, { user_id: "U1", text: 'a "{data}"' })).toEqual({
      a: ['U1: a "{data}" []', 1, null],
      b: "!",
    });
  });

  it("fills in members with odd names, and nothing that a person wrote", async () => {
    const request = JSON.parse('{"__proto__":{"a":"{text}"},"constructor":"{session} {text}"}');
    const body = await bodyOf({ request }, { text: '{session}","x":"{user}' });
    expect(body?.constructor).toBe(`${session} {session}","x":"{user}`);
    expect(Object.keys(Object(body))).not.toContain("x");
  });

  it("names the conversation in the path of the URL", async () => {
    const { url, received } = await serve(() => Response.json("ok"));
    await run({ url: `${url}/a/{session}/b?s={session}` });
    expect(received.map(({ target }) => target)).toEqual([`/a/${session}/b?s=${session}`]);
  });
});

describe("a response of JSON or text", () => {
  it.each<[string, unknown]>([
    ["a text", "Hello"],
    ["the member result", { result: "Hello", text: "x" }],
    [
      "the next member if the first is null, blank or no text",
      { result: null, response: " ", output: {}, answer: "Hello" },
    ],
    [
      "a message of Strands",
      {
        result: { role: "assistant", content: [{ text: "Hel" }, { toolUse: {} }, { text: "lo" }] },
      },
    ],
    [
      "a message of LangChain",
      {
        output: {
          type: "ai",
          content: [
            { type: "thinking", text: "x" },
            { type: "text", text: "Hello" },
          ],
        },
      },
    ],
    ["a list of one entry", [{ output: "Hello" }]],
    ["a result beside an empty error", { error: null, result: "Hello" }],
    ["a result beside an empty list of errors", { error: [], result: "Hello" }],
  ])("has its answer in %s", async (_name, body) => {
    expect(await answerTo(() => Response.json(body))).toBe("Hello");
  });

  it("has its answer at the configured path", async () => {
    const body = { messages: [{ content: "hi" }, { content: "Hello" }], n: { count: 42 } };
    expect(await answerTo(() => Response.json(body), { answer: "$.messages[-1].content" })).toBe(
      "Hello",
    );
    expect(await answerTo(() => Response.json(body), { answer: "$.n.count" })).toBe("42");
    expect(await answerTo(() => Response.json(body), { answer: "$.messages[7].content" })).toEqual(
      failed("no text at $.messages[7].content"),
    );
    expect(await answerTo(() => Response.json(body), { answer: "$.messages.content" })).toEqual(
      failed("no text at $.messages.content"),
    );
    expect(await answerTo(() => Response.json(body), { answer: "$.messages[-9].content" })).toEqual(
      failed("no text at $.messages[-9].content"),
    );
    expect(await answerTo(() => Response.json({}), { answer: "$.constructor.name" })).toEqual(
      failed("no text at $.constructor.name"),
    );
  });

  it("may begin with a byte order mark", async () => {
    expect(await answerTo(() => text('\ufeff{"result":"Hello"}', "application/json"))).toBe(
      "Hello",
    );
  });

  it("takes a plain text as the answer", async () => {
    expect(await answerTo(() => text("# Hello\n{x"))).toBe("# Hello\n{x");
    expect(await answerTo(() => text("Hello", "text/html"))).toBe("Hello");
    expect(await answerTo(() => text('{"result":"Hello"}'))).toBe("Hello");
  });

  it("shows no reasoning", async () => {
    expect(await answerTo(() => Response.json("<think>x</think>Hello"))).toBe("Hello");
  });

  it.each<[string, () => Response, string]>([
    [
      "an error in a response of status 200",
      () => Response.json({ error: "hunter2", result: "x" }),
      'member "error"',
    ],
    [
      "LangGraph's error",
      () => Response.json({ __error__: { message: "hunter2" } }),
      'member "__error__"',
    ],
    ["no text", () => Response.json({ status: "hunter2" }), "no text in result, response"],
    ["an HTML page", () => text("\n<!DOCTYPE html><p>hunter2", "text/html"), "HTML page"],
    [
      "an HTML page after a comment",
      () => text("<!-- hunter2 -->\n<html>", "text/html"),
      "HTML page",
    ],
    ["a redirect", () => Response.redirect("https://elsewhere.example/"), "HTTP 302"],
    ["a body nested too deeply", () => text("[".repeat(99_999) + "]".repeat(99_999)), "no text"],
    [
      "an error nested too deeply",
      () => text(`{"error":${"[".repeat(99_999)}${"]".repeat(99_999)}}`),
      'member "error"',
    ],
  ])("fails for %s, and logs why without what it says", async (_name, response, cause) => {
    const failure = await answerTo(response);
    expect(failure).toEqual(failed(cause));
    expect(JSON.stringify(failure)).not.toContain("hunter2");
  });

  it.each<[string, () => Response, string]>([
    ["an empty body", () => text("", "application/json"), "not JSON"],
    ["cut JSON", () => text('{"result":"hunter2', "application/json"), "not JSON"],
    ["a compressed body", () => new Response(gzipSync('"hunter2"')), "not in UTF-8"],
  ])("may have done the work before %s", async (_name, response, cause) => {
    expect(await answerTo(response)).toEqual(failed(cause, true));
  });
});

describe("a stream", () => {
  const message = (reason: string, ...deltas: string[]) => [
    bedrock("messageStart", { role: "assistant" }),
    ...deltas.map(bedrockText),
    bedrock("contentBlockStop", { contentBlockIndex: 0 }),
    bedrock("messageStop", { stopReason: reason }),
  ];
  const tool = bedrock("contentBlockDelta", { delta: { toolUse: { input: "hunter2" } } });
  const thought = bedrock("contentBlockDelta", { delta: { reasoningContent: { text: "x" } } });

  const answers: [string, string[], string, object][] = (
    [
      ["texts", [frame("Hel"), frame("lo\n"), frame("世界🏯")], "Hello\n世界🏯"],
      ["events of Bedrock", message("end_turn", "Hel", "lo"), "Hello"],
      [
        "rounds with tools",
        [...message("tool_use", "Let me look."), ...message("end_turn", "Hello")],
        "Let me look.\n\nHello",
      ],
      [
        "reasoning and calls of tools beside the text",
        [thought, tool, ...message("end_turn", "Hello")],
        "Hello",
      ],
      [
        "dictionaries of Python beside the events they repeat",
        [
          frame("{'init_event_loop': True}"),
          bedrock("messageStart", {}),
          bedrockText("Hello"),
          frame("{'data': 'Hello', 'agent': <x>}"),
          frame({ data: "Hello" }),
          frame({ result: "Hello" }),
          bedrock("messageStop", {}),
        ],
        "Hello",
      ],
      [
        "objects with data",
        [
          frame({ init: true }),
          frame({ data: "Hel" }),
          frame({ data: "lo" }),
          frame({ result: "Hello" }),
        ],
        "Hello",
      ],
      [
        "tokens",
        [
          frame({ type: "start" }),
          frame({ type: "token", text: "Hel" }),
          frame({ type: "reasoning-delta", delta: "x" }),
          frame({ type: "text-delta", delta: "lo" }),
          "data: [DONE]\n\n",
          frame("x"),
        ],
        "Hello",
      ],
      [
        "a whole result only",
        [frame({ status: "x" }), frame({ result: { content: [{ text: "Hello" }] } })],
        "Hello",
      ],
      [
        "pieces of a result of which some are blank",
        [" ", "One", " ", "line", "\n\n", "", "Two"].map((answer) => frame({ answer })),
        "One line\n\nTwo",
      ],
      [
        "results that grow after a blank one",
        ["", " ", "Hel", "", "Hello"].map((answer) => frame({ answer })),
        "Hello",
      ],
      [
        "results that grow",
        [frame({ result: "Hel" }), frame({ step: 2 }), frame({ result: "Hello" })],
        "Hello",
      ],
      [
        "pieces of a result of which one begins like another",
        [frame({ answer: "no" }), frame({ answer: "no" }), frame({ answer: "!" })],
        "nono!",
      ],
      [
        "lines that are no JSON",
        ["data: Hello \n\n", "data: world\n\n", "data: {}\n\n", 'data: "\ndata: 12\n\n'],
        'Hello world{}"\n12',
      ],
      [
        "comments, CRLF, other events and nulls",
        [
          ": ping\r\n\r\n",
          "event: metadata\r\ndata: x\r\n\r\n",
          "data: null\r\n\r\n",
          'event: message\r\ndata: "Hello"\r\n\r\n',
          'event: end\r\ndata: "x"\r\n\r\n',
        ],
        "Hello",
      ],
      ["no last empty line", [frame("Hel"), 'data: "lo"'], "Hello"],
      [
        "a path",
        [
          frame({ event: "message", answer: "Hel" }),
          frame({ event: "x" }),
          frame({ event: "message", answer: "lo" }),
        ],
        "Hello",
        { answer: "$.answer" },
      ],
      [
        "events that name themselves",
        [
          frame({ event: "start", data: "x" }),
          frame({ event: "token", data: "Hel" }),
          frame({ event: "token", data: "lo" }),
          frame({ event: "end", data: "[DONE]" }),
        ],
        "Hello",
      ],
      [
        "messages of an agent of Dify",
        [
          frame({ event: "agent_message", answer: "Hel" }),
          frame({ event: "agent_message", answer: "lo" }),
          frame({ event: "message_end", metadata: {} }),
        ],
        "Hello",
      ],
      ["words that are also JSON", ["data: It is\n\n", "data:  null\n\n"], "It is null"],
      ["null members", [frame({ error: null, event: null, data: "Hello", type: null })], "Hello"],
    ] as [string, string[], string, object?][]
  ).map(([name, frames, answer, options = {}]) => [name, frames, answer, options]);
  it.each(answers)("reads the answer from %s", async (_name, frames, answer, options) => {
    expect(await answerTo(() => sse(...frames), options)).toBe(answer);
  });

  it.each<[string, string[], string, boolean]>([
    [
      "an error of the Python SDK after text",
      [frame("Hel"), frame({ error: "hunter2", error_type: "E", message: "x" })],
      'member "error"',
      false,
    ],
    [
      "an event error",
      [frame("Hel"), 'event: error\ndata: {"error":"hunter2"}\n\n'],
      "event error",
      false,
    ],
    [
      "an object of type error",
      [frame("Hel"), frame({ type: "error", errorText: "hunter2" })],
      "type error",
      false,
    ],
    [
      "an error after the end of the message",
      [...message("end_turn", "Hello"), frame({ error: "hunter2" })],
      'member "error"',
      false,
    ],
    ["no text", [frame({ x: "hunter2" }), frame(""), frame(" ")], "no event has a text", false],
    ["no text at the path", [frame({ answer: "hunter2" })], "at $.text", false],
    [
      "an end before messageStop",
      message("end_turn", "Hello").slice(0, -1),
      "before the last messageStop",
      true,
    ],
    [
      "an end after a call of a tool",
      message("tool_use", "Let me look."),
      "before the last messageStop",
      true,
    ],
    [
      "an end after the result of a tool",
      [...message("tool_use", "Let me look."), ...message("tool_result")],
      "before the last messageStop",
      true,
    ],
    ["an end within an event", [frame("Hel"), 'data: "hunter2'], "within an event", true],
  ])("fails for %s", async (_name, frames, cause, lost) => {
    const options = cause.includes("$.text") ? { answer: "$.text" } : {};
    const failure = await answerTo(() => sse(...frames), options);
    expect(failure).toEqual(failed(cause, lost));
    expect(JSON.stringify(failure)).not.toContain("hunter2");
  });

  it.each([
    ["max_tokens", "Hello\n\nThis answer was cut off because it reached the model's length limit."],
    [
      "timeout_exceeded",
      "Hello\n\nThis answer was cut off because the agent reached a limit of time or steps.",
    ],
    ["interrupted", "Hello\n\nThe agent was stopped before it finished this answer."],
    ["hook_stopped", "Hello\n\nThe agent was stopped before it finished this answer."],
  ])("says that the answer is cut after the stop reason %s", async (reason, answer) => {
    expect(await answerTo(() => sse(...message(reason, "Hello")))).toBe(answer);
  });

  it("says in Japanese that the answer is cut", async () => {
    const answer = await answerTo(() => sse(...message("max_iterations_exceeded", "はい")));
    expect(answer).toBe(
      "はい\n\nエージェントが時間または手順の上限に達したため、回答が途中で切れています。",
    );
  });

  it("fails for a stop reason that is a failure", async () => {
    expect(await answerTo(() => sse(...message("content_filtered", "Hello")))).toMatchObject({
      lost: false,
    });
  });

  it.each(answers)(
    "reads the same answer from %s that arrive byte by byte",
    async (_name, frames, answer, options) => {
      const bytes = Buffer.from(frames.join(""));
      const pieces = () =>
        new ReadableStream({
          async start(controller) {
            for (const byte of bytes) controller.enqueue(Buffer.of(byte));
            controller.close();
          },
        });
      const headers = { "content-type": "text/event-stream" };
      expect(await answerTo(() => new Response(pieces(), { headers }), options)).toBe(answer);
    },
  );

  it("invents nothing when it ends after any byte", async () => {
    const bytes = Buffer.from(message("end_turn", "Hel", "lo", "世界").join(""));
    let length = 0;
    const { url } = await serve(
      () =>
        new Response(bytes.subarray(0, length), {
          headers: { "content-type": "text/event-stream" },
        }),
    );
    const agent = agentOf({ url });
    const lastTexts = new Set<string>();
    for (length = 0; length <= bytes.length; length += 1) {
      let last: TaskUpdate | undefined;
      for await (const update of runAgent(agent, agentTask({ text: "hi" }), agentContext()))
        last = update;
      if (last?.type === "answer") lastTexts.add(last.text);
    }
    expect([...lastTexts]).toEqual(["Hello世界"]);
  });

  it("may have been cut if it is not in UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('data: "Hel'), Buffer.of(0xff), Buffer.from('"\n\n')]);
    const response = () =>
      new Response(bytes, { headers: { "content-type": "text/event-stream" } });
    expect(await answerTo(response)).toEqual(failed("not in UTF-8", true));
  });

  it("reads past a huge event in many chunks", async () => {
    const huge = Buffer.from(frame({ x: "x".repeat(16 * 1024 * 1024) }));
    const step = 4096;
    let from = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (from < huge.length) controller.enqueue(huge.subarray(from, from + step));
        else {
          controller.enqueue(Buffer.from(frame("Hello")));
          controller.close();
        }
        from += step;
      },
    });
    const response = () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    expect(await answerTo(response)).toBe("Hello");
  });

  it("leaves the refusal of a too large answer to the host", async () => {
    const answer = await answerTo(() =>
      sse(...Array.from({ length: 5 }, () => frame("x".repeat(60_000)))),
    );
    expect(String(answer).length).toBeGreaterThan(256_000);
  });

  it("reports what is written so far", async () => {
    const goOn = Promise.withResolvers<void>();
    const { url } = await serve(() => {
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(Buffer.from(frame("Hel")));
          await goOn.promise;
          controller.enqueue(Buffer.from(frame("lo")));
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    const updates: TaskUpdate[] = [];
    for await (const update of runAgent(
      agentOf({ url }),
      agentTask({ text: "hi" }),
      agentContext(),
    )) {
      updates.push(update);
      goOn.resolve();
    }
    expect(updates[0]).toEqual({ type: "progress", partial: "Hel" });
    expect(updates.at(-1)).toEqual({ type: "answer", text: "Hello" });
  });
});

describe("endpoints as they are", () => {
  const bearer = { type: "bearer", token: { env: "KEY" } };
  const langGraph = {
    authorizer: { ...bearer, header: "x-api-key" },
    request: {
      assistant_id: "agent",
      if_not_exists: "create",
      input: { messages: [{ role: "user", content: "{text}" }] },
    },
    answer: "$.messages[-1].content",
    question: "$.__interrupt__[0].value",
    resume: { assistant_id: "agent", command: { resume: "{reply}" } },
  };
  const threads = "/threads/{session}/runs/wait";

  it("answers as a Python runtime of AgentCore", async () => {
    const { url } = await serve(pythonRuntime((prompt) => ({ result: `re: ${prompt}` })));
    expect((await run({ url })).updates).toEqual([{ type: "answer", text: "re: hi" }]);
  });

  it("keeps the thread of a LangGraph server", async () => {
    const { url } = await serve(langGraphServer({ key: "app-key" }));
    expect((await run({ url: url + threads, ...langGraph })).updates).toEqual([
      { type: "answer", text: "re: hi" },
    ]);
    const failure = await run({ url: url + threads, ...langGraph }, { text: "fail" });
    expect(failure.updates).toEqual([{ type: "failure", reason: "execution_failed", lost: false }]);
  });

  it.each<[unknown, object]>([
    ["Send it?", { prompt: "Send it?" }],
    [
      { question: "Send it?", options: ["yes", "no"] },
      {
        prompt: "Send it?",
        options: [
          { id: "yes", label: "yes" },
          { id: "no", label: "no" },
        ],
      },
    ],
    [{ message: "Send it?", options: ["yes", "yes"] }, { prompt: "Send it?" }],
    [{ message: "Send it?", options: ["yes", "\u200b"] }, { prompt: "Send it?" }],
  ])("asks what a LangGraph server asks, and resumes it: %j", async (asks, question) => {
    const { url } = await serve(langGraphServer({ key: "app-key", asks }));
    const options = { url: url + threads, ...langGraph };
    expect((await run(options)).updates).toEqual([{ type: "question", ...question }]);
    const answers = [{ prompt: "Send it?", text: "yes please", option_id: "yes" }];
    expect((await run(options, { answers })).updates).toEqual([
      { type: "answer", text: "resumed: yes" },
    ]);
    const typed = [{ prompt: "Send it?", text: "later" }];
    expect((await run(options, { answers: typed })).updates).toEqual([
      { type: "answer", text: "resumed: later" },
    ]);
  });

  it("reads the answer and the question of a LangGraph server from a stream", async () => {
    const { answer: _answer, ...streamed } = {
      ...langGraph,
      request: { ...langGraph.request, stream_mode: ["messages-tuple", "updates"] },
      resume: { ...langGraph.resume, stream_mode: ["messages-tuple", "updates"] },
    };
    const path = "/threads/{session}/runs/stream";
    const plain = await serve(langGraphServer({ key: "app-key" }));
    const options = { url: plain.url + path, ...streamed };
    const text = (end: string) => [{ type: "answer", text: `Let me look.\n\nre: ${end}` }];
    expect((await run(options)).updates).toEqual(text("hi"));
    expect((await run(options, { text: "fail" })).updates).toEqual([
      { type: "failure", reason: "execution_failed", lost: false },
    ]);
    const asking = await serve(langGraphServer({ key: "app-key", asks: "Send it?" }));
    const askingOptions = { url: asking.url + path, ...streamed };
    expect((await run(askingOptions)).updates).toEqual([{ type: "question", prompt: "Send it?" }]);
    const answers = [{ prompt: "Send it?", text: "yes" }];
    expect((await run(askingOptions, { answers })).updates).toEqual(text("yes"));
  });

  it.each([false, [], " ", 0])("takes %j for no question", async (question) => {
    const options = { question: "$.question", resume: {} };
    expect(await answerTo(() => Response.json({ question, text: "Hello" }), options)).toBe("Hello");
  });

  it("fails for a question without a text", async () => {
    const { url } = await serve(langGraphServer({ key: "app-key", asks: { a: 1 } }));
    const { updates, causes } = await run({ url: url + threads, ...langGraph });
    expect(updates).toMatchObject([{ type: "failure" }]);
    expect(causes).toEqual(["the question at $.__interrupt__[0].value has no text"]);
  });

  it("answers as a flow of Flowise", async () => {
    const { url } = await serve(flowise);
    const request = { question: "{text}", overrideConfig: { sessionId: "{session}" } };
    expect((await run({ url, request })).updates).toEqual([{ type: "answer", text: "re: hi" }]);
  });

  it("answers as an n8n workflow with an AI agent as its last node", async () => {
    const output = (call: Received) => Response.json([{ output: `re: ${readBody(call).prompt}` }]);
    const { url } = await serve(output);
    expect((await run({ url })).updates).toEqual([{ type: "answer", text: "re: hi" }]);
  });

  it("does not send the first request again when a question has no resume", async () => {
    const { url, received } = await serve(() => Response.json("ok"));
    const { updates } = await run({ url }, { answers: [{ prompt: "?", text: "yes" }] });
    expect(updates).toMatchObject([{ type: "failure", lost: false }]);
    expect(received).toEqual([]);
  });

  it("refuses the configuration of another agent", () => {
    const options = { region: undefined, credentials: async () => credentials };
    expect(() => createAgent({ config: "echo", readSecret: async () => "", ...options })).toThrow(
      "Bundle again",
    );
  });

  it("answers through the host after a question, with one call for each turn", async () => {
    const { url, received } = await serve(langGraphServer({ key: "app-key", asks: "Send it?" }));
    const { call } = createTestHost({ agent: agentOf({ url: url + threads, ...langGraph }) });
    const started = await call("execute_task", { ...hello, session_id: session });
    const { task_id, status, prompt } = started.result ?? {};
    expect({ status, prompt }).toEqual({ status: "input_required", prompt: "Send it?" });
    await call("answer_task", { task_id, text: "yes" });
    const wait = async () => (await call("get_task", { task_id, wait_ms: 1000 })).result;
    await eventually(async () => (await wait())?.status === "success");
    expect((await wait())?.response_text).toBe("resumed: yes");
    expect(received.map(readBody)).toMatchObject([
      { input: { messages: [{ content: "hello" }] } },
      { command: { resume: "yes" } },
    ]);
    expect(new Set(received.map(({ target }) => target)).size).toBe(1);
  });

  it("tells the host that the task may have run", async () => {
    const { url } = await serve(() => sse('data: "Hel'));
    const { call } = createTestHost({ agent: agentOf({ url }) });
    const { error } = await call("execute_task", hello);
    expect(error?.data).toMatchObject({ reason: "execution_failed", lost: true });
  });
});
