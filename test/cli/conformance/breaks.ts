/** Endpoints that break the contract, each in one way. */
import { gzipSync } from "node:zlib";
import type { Host } from "../../../lambdas/execution/host.ts";
import { json, raw, result, silence, success } from "../../doubles/answers.ts";
import type { Received } from "../../doubles/web-server.ts";
import { token } from "./endpoint.ts";

// biome-ignore lint/suspicious/noExplicitAny: breaks look into JSON of every shape
type Json = any;

type Exchange = {
  /** The request's JSON. An empty object where it is not JSON. */
  sent: Json;
  request: Request;
  bytes: number;
  /** The host's answer to the request, with headers replaced by `over`. */
  kept(over?: Record<string, string>): Promise<Response>;
  /** The host's answer with its JSON changed in place. */
  changed(change: (answer: Json) => void): Promise<Response>;
};

export type Break = {
  /** What the endpoint does. Completes "an endpoint that". */
  what: string;
  /** The beginning of the names of the cases that are run: the group of the first that finds it by default. */
  theme?: string;
  /** Exactly the cases that find it. */
  found: readonly string[];
  how(exchange: Exchange): Promise<Response> | Response;
  slow?: string;
  ask?: string;
  now?: () => number;
  timeoutMs?: number;
};

export function broken({ host, how }: { host: Host; how: Break["how"] }): (received: Received) => Promise<Response> {
  return async ({ request, body }) => {
    const kept = (over: Record<string, string> = {}) =>
      host.handle(new Request(request.url, { method: "POST", headers: { ...headersOf(request), ...over }, body }));
    return how({
      sent: parse(body) ?? {},
      request,
      bytes: body.byteLength,
      kept,
      async changed(change) {
        const response = await kept();
        const answer = await response.json();
        change(answer);
        return json(answer, { status: response.status });
      },
    });
  };
}

export function error({
  sent,
  code,
  ...more
}: {
  sent: Json;
  code: unknown;
  id?: unknown;
  data?: unknown;
  message?: string;
}) {
  return json({ jsonrpc: "2.0", id: sent.id ?? null, error: { code, message: "no", ...more } });
}

function headersOf(request: Request): Record<string, string> {
  return Object.fromEntries(request.headers);
}

function parse(body: Uint8Array): Json {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

const execute = "execute_task";
const everySuccess = [
  "execute/answers",
  "execute/every-param",
  "execute/unknown-params",
  "execute/unicode",
  "execute/largest-request",
];
let answers = 0;
const remembered = new Set<string>();

export const breaks: readonly Break[] = [
  // A request is handled wrongly: its envelope, params, size, headers or sender.
  {
    what: "answers JSON that breaks off with an internal error",
    found: ["envelope/parse-error", "envelope/empty-body", "envelope/utf-8"],
    how: ({ changed }) => changed((answer) => (answer.error.code += answer.error.code === -32700 ? 97 : 0)),
  },
  {
    what: "gives an answer to each request of an array",
    found: ["envelope/batch"],
    how: ({ sent, kept }) => (sent[0]?.method ? json([error({ sent, code: -32601 })]) : kept()),
  },
  {
    what: "breaks down at a number",
    found: ["envelope/no-object"],
    how: ({ sent, kept }) => (sent === 42 ? new Response(null, { status: 500 }) : kept()),
  },
  {
    what: "breaks down at a deep body",
    found: ["envelope/deep-nesting"],
    how: ({ bytes, kept }) => (bytes > 50_000 ? new Response(null, { status: 500 }) : kept()),
  },
  {
    what: "takes a request without id for a notification",
    found: ["envelope/missing-id"],
    how: ({ sent, kept }) =>
      sent.method !== undefined && sent.id === undefined ? new Response(null, { status: 204 }) : kept(),
  },
  {
    what: "takes any version",
    found: ["envelope/wrong-version"],
    how: ({ sent, kept }) => (sent.jsonrpc === "1.0" ? error({ sent, code: -32601 }) : kept()),
  },
  {
    what: "echoes every id as text, cut short",
    found: ["envelope/any-id", "envelope/integer-id"],
    how: ({ changed }) => changed((answer) => (answer.id &&= String(answer.id).slice(0, 36))),
  },
  {
    what: "knows an id where there was none",
    theme: "envelope/parse",
    found: ["envelope/parse-error"],
    how: ({ changed }) => changed((answer) => (answer.id = "1")),
  },
  {
    what: "says that it did what it does not know",
    theme: "errors/unknown",
    found: ["errors/unknown-method"],
    how: ({ sent }) => result(sent, { status: "success", response_text: "" }),
  },
  {
    what: "has texts for error codes",
    theme: "errors/unknown",
    found: ["errors/unknown-method"],
    how: ({ sent }) => error({ sent, code: "METHOD_NOT_FOUND" }),
  },
  {
    what: "contradicts its own code by its data",
    theme: "errors/unknown",
    found: ["errors/unknown-method"],
    how: ({ changed }) => changed((answer) => (answer.error.data.reason = "internal")),
  },
  {
    what: "takes bad params for an internal error",
    found: [
      "errors/missing-params",
      "errors/missing-text",
      "errors/params-array",
      "errors/wrong-type",
      "errors/empty-text",
      "errors/long-text",
      "errors/issues",
    ],
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.method === execute && answer.error?.code === -32602) answer.error = { code: -32603, message: "no" };
      }),
  },
  {
    what: "does not say which id had the bad params",
    theme: "errors/wrong-type",
    found: ["errors/wrong-type"],
    how: ({ changed }) => changed((answer) => (answer.id = null)),
  },
  {
    what: "says values of bad params aloud",
    found: ["errors/issues"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        for (const issue of answer.error?.data?.issues ?? []) issue.message = `is ${JSON.stringify(sent.params)}`;
      }),
  },
  {
    what: "answers errors with their own HTTP status",
    found: ["errors/status"],
    how: async ({ kept }) => {
      const response = await kept();
      const text = await response.text();
      return raw(text, { status: text.includes('"error"') ? 400 : 200 });
    },
  },
  {
    what: "has no limit and parses what is too large",
    found: ["limits/too-large"],
    how: ({ sent }) => error({ sent, code: -32700 }),
  },
  {
    what: "takes no more than 64 KiB",
    found: ["execute/largest-request"],
    how: ({ bytes, kept }) => (bytes > 65_536 ? raw("", { status: 413 }) : kept()),
  },
  {
    what: "stumbles over a trace state",
    found: ["headers/trace"],
    how: ({ request, kept }) => (request.headers.has("tracestate") ? raw("", { status: 400 }) : kept()),
  },
  {
    what: "wants a well-formed trace",
    found: ["headers/malformed-trace"],
    how: ({ request, kept }) =>
      request.headers.get("traceparent")?.startsWith("00-") ? kept() : raw("", { status: 400 }),
  },
  {
    what: "takes session ids of 64 characters at most",
    found: ["headers/session"],
    how: ({ request, kept }) => {
      const sessionId = request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
      return sessionId.length > 64 ? raw("", { status: 400 }) : kept();
    },
  },
  {
    what: "lets everyone in",
    found: ["authentication/missing", "authentication/wrong", "authentication/before-the-body"],
    how: ({ kept }) => kept({ authorization: `Bearer ${token}` }),
  },
  {
    what: "lets everyone in who brings any token",
    found: ["authentication/wrong"],
    how: ({ request, kept }) =>
      request.headers.has("authorization") ? kept({ authorization: `Bearer ${token}` }) : kept(),
  },
  {
    what: "parses before it asks who is there",
    found: ["authentication/before-the-body"],
    how: ({ sent, kept }) => (sent.method === undefined ? error({ sent, code: -32700 }) : kept()),
  },
  // A good request is answered wrongly.
  {
    what: "answers with an id of its own",
    found: [...everySuccess.slice(0, 2), "execute/attachments", ...everySuccess.slice(2), "execute/timeout-ms"],
    how: ({ changed }) => changed((answer) => (answer.id = "1")),
    now: clockOf({ stepMs: 10_000 }),
  },
  {
    what: "has another name for the text of its answer",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: ({ sent }) => result(sent, { status: "success", text: "hello" }),
  },
  {
    what: "leaves the status away",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: ({ sent }) => result(sent, { response_text: "hello" }),
  },
  {
    what: "fails at everything, as older agents do",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: ({ sent }) => result(sent, { status: "error", error_code: "E1", error_message: "no" }),
  },
  {
    what: "says that its answer is a page",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: async ({ kept }) => new Response((await kept()).body, { headers: { "content-type": "text/html" } }),
  },
  {
    what: "redirects",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: () => new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
  },
  {
    what: "compresses what nobody asked it to",
    theme: "execute/answers",
    found: ["execute/answers"],
    how: async ({ kept }) => {
      const zipped = gzipSync(await (await kept()).text());
      return new Response(zipped, { headers: { "content-type": "application/json", "content-encoding": "gzip" } });
    },
  },
  {
    what: "refuses params that it does not know",
    found: ["execute/unknown-params"],
    how: ({ sent, kept }) => (sent.params.x_unknown ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "refuses a history",
    found: ["execute/every-param"],
    how: ({ sent, kept }) => (sent.params.history ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "refuses attachments",
    found: ["execute/attachments"],
    how: ({ sent, kept }) => (sent.params.attachments ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "reads UTF-8 as Latin-1",
    found: ["execute/unicode"],
    how: ({ changed }) =>
      changed(({ result: given }) => {
        if (given?.response_text) given.response_text = Buffer.from(given.response_text).toString("latin1");
      }),
  },
  {
    what: "does not look at timeout_ms",
    theme: "execute/timeout-ms",
    found: ["execute/timeout-ms"],
    how: ({ sent }) => success(sent),
    now: clockOf({ stepMs: 10_000 }),
  },
  {
    what: "breaks down with its agent",
    theme: "errors/failed-task",
    found: ["errors/failed-task"],
    how: () => new Response("oops", { status: 500 }),
  },
  {
    what: "tells how it failed",
    found: ["errors/innards"],
    how: ({ changed }) =>
      changed((answer) => {
        if (answer.error?.code !== -32064) return;
        answer.error.message = 'Traceback (most recent call last):\n  File "/app/agent.py", line 3, in run';
      }),
  },
  ...["get", "cancel", "answer"].map(
    (verb): Break => ({
      what: `takes ${verb}_task of an unknown task for a task`,
      theme: "tasks/",
      found: [`tasks/unknown-${verb}`],
      how: ({ sent, kept }) => (sent.method === `${verb}_task` ? success(sent) : kept()),
    }),
  ),
  {
    what: "takes another answer each time",
    theme: "tasks/question",
    found: ["tasks/question"],
    ask: "ask",
    how: ({ sent }) => {
      if (sent.method === execute) return result(sent, { status: "input_required", task_id: "1", prompt: "Really?" });
      answers += 1;
      return success(sent, `answer ${answers}`);
    },
  },
  {
    what: "does not look at which question an answer is to",
    theme: "tasks/question",
    found: ["tasks/question-id"],
    ask: "ask me",
    how: ({ sent, kept }) =>
      sent.method === "answer_task" ? result(sent, { status: "accepted", task_id: sent.params.task_id }) : kept(),
  },
  {
    what: "has another id for its question at each read",
    theme: "tasks/question-id",
    found: ["tasks/question-id"],
    ask: "ask me",
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.method === "get_task") answer.result.question_id = `question-${sent.id}`;
      }),
  },
  {
    what: "describes nothing",
    found: ["discover/document"],
    how: ({ sent }) => result(sent, { openrpc: "1.3.2", methods: [] }),
  },
  {
    what: "runs the agent for every copy of a request",
    found: [
      "idempotency/same-outcome",
      "idempotency/changing-params",
      "idempotency/other-content",
      "idempotency/at-the-same-time",
      "idempotency/not-run-again",
    ],
    how: ({ sent }) => {
      if (typeof sent.params?.text !== "string") return error({ sent, code: -32602 });
      answers += 1;
      if (sent.params.text.startsWith("slow")) return result(sent, { status: "accepted", task_id: `task-${answers}` });
      return success(sent, `answer ${answers}`);
    },
  },
  {
    what: "compares what changes by itself",
    found: ["idempotency/changing-params"],
    how: ({ sent, kept }) => (sent.params?.history ? error({ sent, code: -32068 }) : kept()),
  },
  {
    what: "remembers refusals",
    theme: "idempotency/refusals",
    found: ["idempotency/refusals-are-not-stored"],
    how: ({ sent, kept }) => {
      if (sent.params.text === undefined) remembered.add(sent.id);
      return remembered.has(sent.id) ? error({ sent, code: -32602 }) : kept();
    },
  },
  // Accepted tasks are handled wrongly.
  {
    what: "neither answers nor accepts in time",
    theme: "accepted/in-time",
    found: ["accepted/in-time"],
    timeoutMs: 300,
    how: ({ request }) => silence(request),
  },
  {
    what: "fails at everything that is slow",
    found: ["accepted/in-time"],
    how: ({ sent }) => error({ sent, code: -32603 }),
  },
  {
    what: "gives up by a timeout of another request",
    theme: "accepted/in-time",
    found: ["accepted/in-time"],
    how: ({ sent }) => error({ sent: { ...sent, id: "another" }, code: -32001 }),
  },
  {
    what: "accepts without a task id",
    theme: "accepted/result",
    found: ["accepted/result"],
    how: ({ sent }) => result(sent, { status: "accepted" }),
  },
  {
    what: "has another task id each time it is asked",
    theme: "accepted/by",
    found: ["accepted/by-task-id", "accepted/by-request-id"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.method === "get_task") answer.result.task_id = "another";
      }),
  },
  {
    what: "does not find tasks by their request id",
    theme: "accepted/by",
    found: ["accepted/by-request-id"],
    how: ({ sent, kept }) => (sent.params.request_id ? error({ sent, code: -32061 }) : kept()),
  },
  {
    what: "does not know long polls",
    found: ["accepted/long-poll"],
    how: ({ sent, kept }) => (sent.params.wait_ms ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "tells more of its answer beforehand than anybody reads",
    theme: "accepted/partial-text",
    found: ["accepted/partial-text"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.method === "get_task") answer.result.progress = { partial_text: "x".repeat(12_001) };
      }),
  },
  {
    what: "finds a task without being told which",
    found: ["accepted/no-key"],
    how: ({ sent, kept }) => {
      const isNameless = sent.method === "get_task" && Object.keys(sent.params).length === 0;
      return isNameless ? result(sent, { status: "success", response_text: "" }) : kept();
    },
  },
  {
    what: "cancels only once",
    found: ["cancel/again"],
    how: oncePerTask(),
  },
  {
    what: "says canceled and goes on",
    found: ["cancel/then-asked"],
    how: ({ sent, kept }) => {
      const { method, params } = sent;
      return method === "cancel_task" ? result(sent, { status: "canceled", task_id: params.task_id }) : kept();
    },
  },
  {
    what: "cancels another task",
    theme: "cancel/running",
    found: ["cancel/running"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.method === "cancel_task") answer.result.task_id = "another";
      }),
  },
  {
    what: "loses the task that it accepted",
    slow: "slow 300ms",
    theme: "ended/success",
    found: ["ended/success"],
    how: ({ sent, kept }) => (sent.method === "get_task" ? error({ sent, code: -32061 }) : kept()),
  },
  {
    what: "tells a result only once",
    slow: "slow 300ms",
    theme: "ended/stays",
    found: ["ended/stays"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        if (sent.params.request_id) answer.result.response_text = "something else";
      }),
  },
  {
    what: "cancels what is over",
    slow: "slow 300ms",
    theme: "ended/cancel",
    found: ["ended/cancel"],
    how: ({ sent, kept }) => {
      const { method, params } = sent;
      return method === "cancel_task" ? result(sent, { status: "canceled", task_id: params.task_id }) : kept();
    },
  },
];

/** A clock that advances by `stepMs` at each reading. */
function clockOf({ stepMs }: { stepMs: number }): () => number {
  let nowMs = 0;
  return () => {
    nowMs += stepMs;
    return nowMs;
  };
}

function oncePerTask(): Break["how"] {
  let canceled = false;
  return ({ sent, kept }) => {
    if (sent.method !== "cancel_task") return kept();
    if (canceled) return error({ sent, code: -32063 });
    canceled = true;
    return kept();
  };
}
