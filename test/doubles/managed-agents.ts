/**
 * Agents in the managed runtimes of other clouds, as strict as their papers: wrong paths, versions, names, types and tokens are refused.
 * Each works on a task until it is asked for it, and answers with the text that it got.
 */
import { type RestCall, readRestCall } from "./a2a-rest.ts";
import { json } from "./answers.ts";
import type { Received } from "./web-server.ts";

/** `base` is the path of its A2A interface. `isToken` knows the access tokens of its cloud. */
type ManagedAgent = { base: string; isToken: (token: string) => boolean };
type Handle = (received: Received) => Response;

const about = {
  name: "an agent",
  description: "for tests",
  version: "1.0.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["application/json"],
  skills: [{ id: "talk", name: "talk", description: "talks", tags: ["talk"] }],
};

/** https://cloud.google.com/apis/design/errors */
function googleError(code: number, status: string): Response {
  return json({ error: { code, status, message: "not here" } }, { status: code });
}

function tokenIn({ request }: Received): string {
  return /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
}

function originOf({ request }: Received): string {
  return new URL(request.url).origin;
}

/**
 * Vertex AI Agent Engine: the template for A2A of google-cloud-aiplatform, on a2a-sdk 0.3. Its container reads the Protocol Buffers strictly, and
 * Google's front end the token.
 */
export function createAgentEngine({ base, isToken }: ManagedAgent): Handle {
  const tasks = createTasks();
  return (received) => {
    if (!isToken(tokenIn(received))) return googleError(401, "UNAUTHENTICATED");
    const { target } = received;
    if (target === `${base}/v1/card`) {
      return json({
        ...about,
        url: `${originOf(received)}${base}`,
        protocolVersion: "0.3.0",
        preferredTransport: "HTTP+JSON",
        capabilities: { streaming: false },
        supportsAuthenticatedExtendedCard: true,
      });
    }
    const call = readProtoCall(received, base);
    if (call instanceof Response) return call;
    const { method, params } = call;
    if (method === "message/send") {
      const { contextId } = params.message as { contextId: string };
      return json({ task: tasks.begin(textOf(params), contextId) });
    }
    const id = String(params.id);
    const task = method === "tasks/cancel" ? tasks.cancel(id) : tasks.finish(id);
    return task === undefined ? json({ message: "Task not found" }, { status: 404 }) : json(task);
  };
}

/**
 * Gemini Enterprise: the discovery document of discoveryengine v1 (`…agents.a2a.v1.message.send`), whose card may name the address of the agent
 * behind it.
 */
export function createGeminiAgent({ base, isToken }: ManagedAgent): Handle {
  return (received) => {
    if (!isToken(tokenIn(received))) return googleError(401, "UNAUTHENTICATED");
    if (received.target === `${base}/v1/card`) {
      const url = "https://agent-behind.example/";
      return json({ ...about, url, protocolVersion: "0.3.0", preferredTransport: "HTTP+JSON" });
    }
    const call = readProtoCall(received, base);
    if (call instanceof Response) return call;
    if (call.method !== "message/send") return googleError(404, "NOT_FOUND");
    const content = [{ text: `You said: ${textOf(call.params)}` }];
    const message = { messageId: "m1", role: "ROLE_AGENT", content };
    return json({ message: { ...message, contextId: "their-own" } });
  };
}

/** 0.3 has its parts in `content` in the Protocol Buffers, which the reader of calls has checked. */
function readProtoCall(received: Received, base: string): RestCall | Response {
  const call = readRestCall({ ...received, base });
  if (call === undefined) return googleError(404, "NOT_FOUND");
  if (call instanceof Response) return call;
  return call.version === "0.3" ? call : googleError(404, "NOT_FOUND");
}

/**
 * Microsoft Foundry's Agent Service (incoming A2A): JSON-RPC of 1.0 and 0.3, and HTTP+JSON of 0.3, at one address. A call that does not name its
 * version is 0.3. Text only.
 */
export function createFoundryAgent({ base, isToken }: ManagedAgent): Handle {
  return (received) => {
    const { target, request, body } = received;
    if (!isToken(tokenIn(received))) return json({ error: { code: "401" } }, { status: 401 });
    const isNew = request.headers.get("a2a-version") === "1.0";
    const url = `${originOf(received)}${base}`;
    if (target === `${base}/agentCard/v1.0` && isNew) {
      const interfaces = [
        ["JSONRPC", "0.3"],
        ["HTTP+JSON", "0.3"],
        ["JSONRPC", "1.0"],
      ];
      const supportedInterfaces = interfaces.map(([protocolBinding, protocolVersion]) => {
        return { url, protocolBinding, protocolVersion };
      });
      return json({ ...about, capabilities: { streaming: false }, supportedInterfaces });
    }
    if (target !== base || request.method !== "POST" || !isNew)
      return json({ error: { code: "NotFound" } }, { status: 404 });
    const { jsonrpc, id, method, params } = JSON.parse(Buffer.from(body).toString());
    if (jsonrpc !== "2.0" || method !== "SendMessage") {
      return json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
    }
    const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: textOf(params) }] };
    return json({ jsonrpc: "2.0", id, result: { message } });
  };
}

function textOf(params: Record<string, unknown>): string {
  const { parts } = params.message as { parts: { text?: string }[] };
  return parts.map(({ text = "" }) => text).join("");
}

/** Tasks as the Protocol Buffers of 0.3 write them. */
function createTasks() {
  const texts = new Map<string, string>();
  const toTask = (id: string, state: string, more: object = {}) => {
    return { id, contextId: "c1", status: { state }, ...more };
  };
  return {
    begin(text: string, contextId: string) {
      const id = `task-${texts.size + 1}`;
      texts.set(id, text);
      const status = { state: "TASK_STATE_SUBMITTED", timestamp: "2026-11-30T12:00:00Z" };
      return { id, contextId, status };
    },
    finish(id: string) {
      const text = texts.get(id);
      if (text === undefined) return undefined;
      const parts = [{ text: `You said: ${text}` }, { data: { data: { words: 2 } } }];
      return toTask(id, "TASK_STATE_COMPLETED", { artifacts: [{ artifactId: "a1", parts }] });
    },
    cancel(id: string) {
      return texts.has(id) ? toTask(id, "TASK_STATE_CANCELLED") : undefined;
    },
  };
}
