/** The agent `http` with an endpoint that gives each conversation an id of its own. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type AgentTask, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createAgent } from "@sekisho/execution/agents/http.ts";
import { createConversation } from "@sekisho/execution/runs/conversation.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { serve } from "../../doubles/serving.ts";
import type { Received } from "../../doubles/web-server.ts";
import { createTestHost, hello, memoryConversations } from "../test-host.ts";
import { agentContext, agentTask, memoryConversation } from "./agent-context.ts";
import { difyApp, difyFrames, frame, readBody, sse } from "./http-servers.ts";

const session = "3f0f6b0e-5a35-8b0c-9d5e-0d7d5a6f3a11";
const bearer = { type: "bearer", token: { env: "KEY" } };

function agentOf(options: object) {
  const json = { execution: { agent: { type: "http", ...options } } };
  const { agent: config } = parseConfig({ json }).execution;
  const credentials = async () => ({ accessKeyId: "a", secretAccessKey: "b" });
  return createAgent({
    ...{ config, region: undefined, credentials, readSecret: async () => "app-key" },
  });
}

/** Tasks of one conversation. */
function openConversation(options: object, conversation = memoryConversation()) {
  const agent = agentOf({ authorizer: bearer, conversation: "$.conversation_id", ...options });
  const { log, entries } = collectLog({ service: "execution" });
  return {
    conversation,
    logged: () => entries().map(({ message, cause_kind }) => [message, cause_kind]),
    async ask(text: string, more: Partial<AgentTask> = {}): Promise<TaskUpdate[]> {
      const context = { ...agentContext(undefined, log), contextId: session, conversation };
      const task = agentTask({ text, ...more });
      const updates: TaskUpdate[] = [];
      for await (const update of runAgent(agent, task, context))
        if (update.type !== "progress") updates.push(update);
      return updates;
    },
  };
}

const answer = (text: string) => [{ type: "answer", text }];

describe("a conversation of Dify", () => {
  const dify = (response_mode: string) => ({
    request: {
      ...{ inputs: {}, query: "{text}", user: "{session}", response_mode },
      conversation_id: "{conversation}",
    },
  });

  it.each(["blocking", "streaming"])("goes on in the next task (%s)", async (mode) => {
    const { url, received } = await serve(difyApp());
    const { ask, conversation } = openConversation({ url, ...dify(mode) });
    expect(await ask("one")).toEqual(answer("re: one"));
    expect(await ask("two")).toEqual(answer("re: one, two"));
    const [first, second] = received.map((call) => readBody(call).conversation_id);
    expect([first, second]).toEqual(["", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(conversation.writes).toEqual([{ conversation: second }, { conversation: second }]);
  });

  it.each(["blocking", "streaming"])(
    "begins anew once, after the other side has deleted it (%s)",
    async (mode) => {
      const app = difyApp();
      const { url, received } = await serve(app);
      const { ask, logged } = openConversation({ url, ...dify(mode) });
      await ask("one");
      app.forget();
      expect(await ask("two")).toEqual(answer("re: two"));
      expect(await ask("three")).toEqual(answer("re: two, three"));
      expect(received).toHaveLength(4);
      expect(logged()).toEqual([["remote_conversation_gone", undefined]]);
    },
  );

  it("belongs to everybody in the thread, through a host", async () => {
    const { url } = await serve(difyApp());
    const agent = agentOf({
      ...{ url, authorizer: bearer, conversation: "$.conversation_id", ...dify("blocking") },
    });
    const conversations = memoryConversations();
    const ask = async (text: string, session_id: string, user_id: string) => {
      const { call } = createTestHost({ agent, conversations });
      const params = { ...hello, text, session_id, user_id };
      return (await call("execute_task", params)).result?.response_text;
    };
    const [here, there] = ["s-".padEnd(40, "1"), "s-".padEnd(40, "2")];
    expect(await ask("one", here, "U1")).toBe("re: one");
    expect(await ask("other", there, "U1")).toBe("re: other");
    expect(await ask("two", here, "U2")).toBe("re: one, two");
  });
});

describe("a stream of Dify", () => {
  const ids = { conversation_id: "c-1", message_id: "m-1", task_id: "t-1" };
  const whole = difyFrames({ ids, pieces: ["Hel", "lo"] });
  const event = (name: string, more: object = {}) => frame({ event: name, ...ids, ...more });

  async function outcomeOf(frames: readonly string[], options: object = {}) {
    const { url } = await serve(() => sse(...frames));
    const { ask, conversation, logged } = openConversation({ url, ...options });
    const [update] = await ask("hi");
    return { update, kept: await conversation.read(), logged: logged() };
  }

  it.each([[{}], [{ answer: "$.answer" }]])("has the answer in pieces (%j)", async (options) => {
    expect(await outcomeOf(whole, options)).toMatchObject({
      ...{ update: { type: "answer", text: "Hello" }, kept: { conversation: "c-1" } },
    });
  });

  it.each([[{}], [{ answer: "$.answer" }]])("replaces what is moderated (%j)", async (options) => {
    const replaced = [...whole.slice(0, -2), event("message_replace", { answer: "Sorry." })];
    const { update } = await outcomeOf([...replaced, event("message_end")], options);
    expect(update).toEqual({ type: "answer", text: "Sorry." });
  });

  it.each<[string, string[], string, boolean]>([
    [
      "an error in a response of status 200",
      [...whole.slice(0, 4), event("error", { status: 400, code: "c", message: "hunter2" })],
      "type error",
      false,
    ],
    ["a cut after a piece", whole.slice(0, 4), "before message_end", true],
    ["a form that only Dify can show", [event("human_input_required")], "form of its own", false],
    ["a paused workflow", [...whole.slice(0, 4), event("workflow_paused")], "form", false],
    [
      "an answer that was taken back",
      [...whole.slice(0, 5), event("message_replace", { answer: "" }), event("message_end")],
      "no event has a text",
      false,
    ],
  ])("fails for %s, and keeps the conversation", async (_what, frames, cause, lost) => {
    const { update, kept, logged } = await outcomeOf(frames);
    expect(update).toEqual({ type: "failure", reason: "execution_failed", lost });
    expect(kept).toEqual({ conversation: "c-1" });
    expect(logged).toEqual([["remote_agent_failed", expect.stringContaining(cause)]]);
    expect(JSON.stringify(logged)).not.toContain("hunter2");
  });

  it("gives no shortened answer, wherever it is cut", async () => {
    const bytes = Buffer.from(whole.join(""));
    let length = 0;
    const headers = { "content-type": "text/event-stream" };
    const { url } = await serve(() => new Response(bytes.subarray(0, length), { headers }));
    const { ask } = openConversation({ url });
    const texts = new Set<string>();
    for (length = 0; length <= bytes.length; length += 1) {
      const [update] = await ask("hi");
      if (update?.type === "answer") texts.add(update.text);
    }
    expect([...texts]).toEqual(["Hello"]);
  });
});

describe("the kept value", () => {
  const request = { text: "{text}", on: "{conversation}" };

  /** The values of `on` in the requests, for responses that have `id` in turn. */
  async function sentAfter(ids: readonly unknown[], conversation = memoryConversation()) {
    const { url, received } = await serve(() =>
      Response.json({ answer: "ok", conversation_id: ids[received.length - 1] }),
    );
    const { ask, logged } = openConversation({ url, request }, conversation);
    for (const _ of ids) await ask("hi");
    return { sent: received.map((call) => readBody(call).on), logged: logged() };
  }

  it("may be any JSON, and stays if a response has none", async () => {
    const ids = ["a", null, undefined, "", " ", { at: [1] }, "b", 7, "c"];
    const { sent } = await sentAfter(ids);
    expect(sent).toEqual(["", "a", "a", "a", "a", "a", { at: [1] }, "b", 7]);
  });

  it("differs from a value of another agent, or of another form", async () => {
    for (const value of [{ state: { a: 1 } }, "x", null, [1]])
      expect((await sentAfter(["a"], memoryConversation(value))).sent).toEqual([""]);
  });

  it("goes, and begins anew, if the next one is too large", async () => {
    const stored = createConversation({
      ...{ store: memoryConversations(), principal: "p", session, agentName: "a" },
      ...{ timeoutMs: 1000, now: Date.now, log: silentLog },
    });
    const conversation = { ...memoryConversation(), ...stored };
    const { sent, logged } = await sentAfter(["a", "x".repeat(66_000), "b"], conversation);
    expect(sent).toEqual(["", "a", ""]);
    expect(logged).toEqual([["remote_conversation_not_kept", "RangeError"]]);
  });

  it("does not cost the answer if it cannot be stored", async () => {
    const conversation = {
      ...memoryConversation(),
      write: async () => Promise.reject(new RangeError("more than 64 KiB")),
    };
    const { sent, logged } = await sentAfter(["a", "b"], conversation);
    expect(sent).toEqual(["", ""]);
    expect(logged).toEqual([
      ["remote_conversation_not_kept", "RangeError"],
      ["remote_conversation_not_kept", "RangeError"],
    ]);
  });

  it.each([
    ["c/1?x=#", "/a/c%2F1%3Fx%3D%23/b?c=c%2F1%3Fx%3D%23"],
    ["..", "/a//b?c="],
    [".", "/a//b?c="],
    ["%2e%2e", "/a/%252e%252e/b?c=%252e%252e"],
    [{ a: 1 }, "/a/%7B%22a%22%3A1%7D/b?c=%7B%22a%22%3A1%7D"],
    ["{session}", "/a/%7Bsession%7D/b?c=%7Bsession%7D"],
  ])("stays one part of the URL: %j", async (id, target) => {
    const { url, received } = await serve(() =>
      Response.json({ answer: "ok", conversation_id: id }),
    );
    const { ask } = openConversation({ url: `${url}/a/{conversation}/b?c={conversation}` });
    await ask("hi");
    await ask("hi");
    expect(received.map((call) => call.target)).toEqual(["/a//b?c=", target]);
  });

  it("stays unread and unwritten without a path", async () => {
    const { url } = await serve(() => Response.json({ answer: "ok", conversation_id: "a" }));
    const conversation = memoryConversation();
    await openConversation({ url, conversation: undefined }, conversation).ask("hi");
    expect([conversation.reads(), conversation.writes]).toEqual([0, []]);
  });
});

describe("a conversation that is gone", () => {
  const request = { text: "{text}", on: "{conversation}" };
  const gone = (call: Received) =>
    readBody(call).on === ""
      ? Response.json({ answer: "ok", conversation_id: "a" })
      : new Response(null, { status: 404 });

  it("stays gone for the answer to a question", async () => {
    const { url, received } = await serve(gone);
    const options = { url, request, question: "$.question", resume: request };
    const { ask } = openConversation(options, memoryConversation({ conversation: "a" }));
    const answers = [{ prompt: "?", text: "yes" }];
    expect(await ask("hi", { answers })).toMatchObject([{ type: "failure", lost: false }]);
    expect(received).toHaveLength(1);
  });

  it.each([400, 403, 410, 422, 500, 502])("has another status than %i", async (status) => {
    const { url, received } = await serve(() => new Response(null, { status }));
    const { ask } = openConversation({ url, request }, memoryConversation({ conversation: "a" }));
    expect(await ask("hi")).toMatchObject([{ type: "failure" }]);
    expect(received).toHaveLength(1);
  });

  it("needs a kept value", async () => {
    const { url, received } = await serve(() => new Response(null, { status: 404 }));
    const { ask, logged } = openConversation({ url, request });
    expect(await ask("hi")).toMatchObject([{ type: "failure", lost: false }]);
    expect(received).toHaveLength(1);
    expect(logged()).toEqual([["remote_agent_failed", expect.stringContaining("HTTP 404")]]);
  });

  it("fails the task if it cannot be begun anew either", async () => {
    const { url, received } = await serve(() => new Response(null, { status: 404 }));
    const { ask } = openConversation({ url, request }, memoryConversation({ conversation: "a" }));
    expect(await ask("hi")).toMatchObject([{ type: "failure", lost: false }]);
    expect(received).toHaveLength(2);
  });
});
