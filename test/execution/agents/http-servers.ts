/** Endpoints as people have them. Each refuses what the real one refuses, by its documentation or its source. */
import { randomUUID } from "node:crypto";
import type { Received } from "../../doubles/web-server.ts";

type Handle = (call: Received) => Response;

export function sse(...frames: string[]): Response {
  return new Response(frames.join(""), {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
  });
}

/** A frame as the Python SDK of AgentCore writes it: `data:` and JSON. */
export function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function bedrock(name: string, content: object): string {
  return frame({ event: { [name]: content } });
}

export function bedrockText(text: string): string {
  return bedrock("contentBlockDelta", { delta: { text }, contentBlockIndex: 0 });
}

export function readBody({ body }: Received): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(body));
}

/** `BedrockAgentCoreApp`: the entry point reads `prompt`, which must be a string. */
export function pythonRuntime(answer: (prompt: string) => unknown): Handle {
  return (call) => {
    const { prompt } = readBody(call);
    if (typeof prompt !== "string") return Response.json({ error: "prompt" }, { status: 500 });
    const value = answer(prompt);
    return Array.isArray(value) ? sse(...value.map(frame)) : Response.json(value);
  };
}

/** `bedrock-agentcore` for TypeScript: a streaming handler refuses a request that does not accept a stream, or has no session. */
export function typescriptRuntime(yields: readonly (string | object)[]): Handle {
  return ({ request: { headers } }) => {
    if (!headers.get("x-amzn-bedrock-agentcore-runtime-session-id"))
      return Response.json({ error: "Missing session" }, { status: 400 });
    if (!headers.get("accept")?.includes("text/event-stream"))
      return Response.json({ error: "Not Acceptable" }, { status: 406 });
    return sse(
      ...yields.map((each) => {
        if (typeof each === "object") return `data: ${JSON.stringify(each)}\n\n`;
        return `${each
          .split("\n")
          .map((line) => `data: ${line}\n`)
          .join("")}\n`;
      }),
    );
  };
}

/** A thread of a LangGraph server, with a graph that answers the latest message, or asks first. */
export function langGraphServer({ key, asks }: { key: string; asks?: unknown }): Handle {
  const threads = new Map<string, { messages: { type: string; content: unknown }[] }>();
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  return (call) => {
    const { request, target } = call;
    if (request.headers.get("x-api-key") !== key) return new Response(null, { status: 403 });
    const [, id, mode] = /^\/threads\/([^/]+)\/runs\/(wait|stream)$/.exec(target) ?? [];
    const body = readBody(call);
    if (id === undefined || !uuid.test(id) || body.assistant_id !== "agent")
      return Response.json({ detail: "invalid" }, { status: 422 });
    if (!threads.has(id) && body.if_not_exists !== "create")
      return Response.json({ detail: "Thread not found" }, { status: 404 });
    const { messages } = threads.get(id) ?? { messages: [] };
    threads.set(id, { messages });
    const { input, command } = body as {
      input?: { messages: { role: string; content: string }[] };
      command?: { resume: unknown };
    };
    const sentMessages = (input?.messages ?? []).map(({ role, content }) => ({
      type: role === "user" ? "human" : "ai",
      content,
    }));
    messages.push(...sentMessages);
    const text = String(messages.at(-1)?.content);
    if (mode === "stream") {
      const modes = JSON.stringify(body.stream_mode);
      if (modes !== '["messages-tuple","updates"]') return new Response(null, { status: 422 });
      return graphStream({ text, asks, reply: command?.resume });
    }
    // The server keeps the connection open with empty lines.
    if (text === "fail")
      return json('\n\n{"__error__":{"error":"ValueError","message":"hunter2"}}');
    if (asks !== undefined && command === undefined)
      return json(JSON.stringify({ messages, __interrupt__: [{ id: "i1", value: asks }] }));
    const content = command === undefined ? `re: ${text}` : `resumed: ${String(command.resume)}`;
    messages.push({ type: "ai", content: [{ type: "text", text: content }] });
    return json(`\n${JSON.stringify({ messages })}`);
  };
}

/** The events of a run whose graph thinks in one message, calls a tool, and answers in another. */
function graphStream(run: { text: string; asks?: unknown; reply?: unknown }): Response {
  const { text, asks, reply } = run;
  const event = (name: string, data: unknown) =>
    `event: ${name}\r\ndata: ${JSON.stringify(data)}\r\n\r\n`;
  const piece = (id: string, type: string, content: unknown) =>
    event("messages", [{ id, type, content }, { langgraph_node: "agent" }]);
  const begin = [event("metadata", { run_id: "r" }), ": heartbeat\r\n\r\n"];
  if (text === "fail")
    return sse(...begin, event("error", { error: "ValueError", message: "hunter2" }));
  const isAsking = asks !== undefined && reply === undefined;
  const end = isAsking
    ? [event("updates", { __interrupt__: [{ id: "i1", value: asks }] })]
    : [
        piece("t1", "tool", "hunter2"),
        piece("m2", "AIMessageChunk", "re: "),
        event("messages|tools:1", [{ id: "s1", type: "AIMessageChunk", content: "hunter2" }, {}]),
        piece("m2", "AIMessageChunk", [{ type: "text", text: String(reply ?? text) }]),
        event("updates", { agent: { messages: [{ type: "ai", content: "hunter2" }] } }),
      ];
  return sse(
    ...begin,
    piece("h1", "human", text),
    piece("m1", "AIMessageChunk", ""),
    piece("m1", "AIMessageChunk", "Let me look."),
    ...end,
  );
}

/** A chat app of Dify, which mints the ids of conversations. A conversation belongs to one `user`. */
export function difyApp(): Handle & { forget(): void } {
  const conversations = new Map<string, { user: string; queries: string[] }>();
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const handle = (call: Received): Response => {
    const { inputs, query, user, response_mode, conversation_id = "" } = readBody(call);
    if (call.request.headers.get("authorization") !== "Bearer app-key")
      return Response.json({ code: "unauthorized", status: 401 }, { status: 401 });
    const isValid =
      typeof inputs === "object" &&
      typeof query === "string" &&
      typeof user === "string" &&
      typeof conversation_id === "string" &&
      (conversation_id === "" || uuid.test(conversation_id));
    if (!isValid || !["blocking", "streaming"].includes(String(response_mode)))
      return Response.json({ code: "invalid_param", status: 400 }, { status: 400 });
    const id = conversation_id || randomUUID();
    if (conversation_id === "") conversations.set(id, { user, queries: [] });
    const conversation = conversations.get(id);
    if (conversation === undefined || conversation.user !== user)
      return Response.json({ code: "not_found", status: 404 }, { status: 404 });
    conversation.queries.push(query);
    const ids = { conversation_id: id, message_id: randomUUID(), task_id: randomUUID() };
    const answer = `re: ${conversation.queries.join(", ")}`;
    return response_mode === "blocking"
      ? Response.json({ event: "message", mode: "chat", ...ids, answer, metadata: {} })
      : sse(...difyFrames({ ids, pieces: [answer.slice(0, 5), answer.slice(5)] }));
  };
  return Object.assign(handle, { forget: () => conversations.clear() });
}

/** The events of an answer, as a chat app sends them. */
export function difyFrames({ ids, pieces }: { ids: object; pieces: string[] }): string[] {
  const event = (name: string, more: object = {}) => frame({ event: name, ...ids, ...more });
  return [
    "event: ping\n\n",
    event("workflow_started", { data: { id: "w" } }),
    event("agent_thought", { thought: "x", observation: "x" }),
    ...pieces.map((answer) => event("message", { answer, from_variable_selector: ["llm"] })),
    "event: ping\n\n",
    event("message_end", { metadata: { usage: { total_tokens: 3 } } }),
    event("workflow_finished", { data: { outputs: { answer: pieces.join("") } } }),
  ];
}

export function flowise(call: Received): Response {
  const { question, overrideConfig } = readBody(call);
  if (typeof question !== "string") return Response.json({ message: "invalid" }, { status: 500 });
  const { sessionId } = Object(overrideConfig) as { sessionId?: string };
  return Response.json({ text: `re: ${question}`, question, chatId: "c", sessionId });
}

function json(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}
