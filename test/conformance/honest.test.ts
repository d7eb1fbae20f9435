/** Endpoints that do what the contract allows, each in another way. None of them may fail a required case. */
import { describe, expect, it } from "@jest/globals";
import type { ConformanceReport } from "@sekisho/conformance/conformance.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { json, raw } from "../doubles/answers.ts";
import { minimalEndpoint } from "../doubles/minimal-endpoint.ts";
import {
  type ConformOptions,
  conform,
  createHonestHost,
  type Handle,
  namesOf,
  serveHost,
  token,
} from "./honest-endpoint.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are changed in place
type Json = any;

/** Serves the host with its answers changed in place. */
function changing(handle: Handle, change: (answer: Json, request: Json) => void): Handle {
  return async (call) => {
    const response = await handle(call);
    const text = await response.text();
    if (!text.startsWith("{")) return new Response(text, response);
    const answer = JSON.parse(text);
    change(answer, Buffer.from(call.body).toString());
    return json(answer, { status: response.status, headers: Object.fromEntries(response.headers) });
  };
}

/** Refuses each request at first. */
function busy(handle: Handle): Handle {
  const seenIds = new Set<string>();
  return async (call) => {
    const text = Buffer.from(call.body).toString();
    const isKnown = seenIds.has(text) || call.request.headers.get("authorization") === null;
    seenIds.add(text);
    if (isKnown) return handle(call);
    const data = { reason: "rate_limited", retryable: true, retry_after_ms: 1 };
    return json(
      { jsonrpc: "2.0", id: null, error: { code: -32070, message: "busy", data } },
      { status: 429 },
    );
  };
}

/** Keys in another order, at every depth, as a store of binary JSON returns them. */
function reorderKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(reorderKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reorderKeys(member)]),
  );
}

/** Accepts the repetition of a task too, whatever its outcome is, and tells the outcome by `get_task` only. */
function acceptEverything(handle: Handle): Handle {
  const taskIds = new Map<string, string>();
  return changing(handle, (answer, request) => {
    const { method, id, params } = Object(parseJson(Buffer.from(request)));
    if (method !== "execute_task") return;
    const key = `${id} ${params?.text}`;
    const taskId = answer.result?.task_id ?? taskIds.get(key);
    const isRefused = ["already_exists", "invalid_params", "unauthenticated"].includes(
      answer.error?.data?.reason,
    );
    if (taskId === undefined || isRefused) return;
    taskIds.set(key, taskId);
    delete answer.error;
    answer.result = { status: "accepted", task_id: taskId };
  });
}

/** Answers with all texts of its session so far, as an agent does that has a memory. */
function createRememberingAgent(): Agent {
  const memory = new Map<string, string>();
  return async function* (task, { contextId }) {
    const before = memory.get(String(contextId)) ?? "";
    memory.set(String(contextId), `${before}\n${task.text}`);
    yield { type: "answer", text: `${before}\n${task.text}` };
  };
}

/** Fails where a file cannot be read. */
const strictAboutFiles: Agent = async function* (task, context) {
  for (const attachment of task.attachments ?? []) await context.readAttachment({ attachment });
  yield* runAgent(createEchoAgent(), task, context);
};

const unchatty: Agent = async function* () {
  yield { type: "answer", text: "Understood." };
};
const echo = createEchoAgent();
/** Fails as a result, which some existing agents do. */
const failsAsResult = (answer: Json) => {
  if (answer.error?.code !== -32064) return;
  delete answer.error;
  answer.result = {
    status: "error",
    error_code: "E42",
    error_message: "The model is not available.",
  };
};

type Variant = readonly [
  what: string,
  handle: (serve: typeof serveHost) => Handle,
  options?: ConformOptions,
  host?: Parameters<typeof createHonestHost>[0],
];

const variants: readonly Variant[] = [
  ...(["zone-strict", "cleveragents", "vapora"] as const).map(
    (dialect): Variant => [
      `speaks ${dialect}`,
      () => serveHost(createHonestHost()),
      { dialect, path: `/${dialect}`, texts: { slow: "slow 3s" } },
    ],
  ),
  ["answers at once and stores nothing", () => minimalEndpoint({ token }), { isIdempotent: false }],
  ["accepts everything", () => serveHost(createHonestHost({ syncBudgetMs: 1 }))],
  ["holds every call until its end", () => serveHost(createHonestHost({ syncBudgetMs: 60_000 }))],
  ["ends slow tasks early", () => serveHost(createHonestHost()), { texts: { slow: "slow 60ms" } }],
  ["does not repeat what it read", () => serveHost(createHonestHost({ agent: unchatty }))],
  [
    "fails a task with an unreadable file",
    () => serveHost(createHonestHost({ agent: strictAboutFiles })),
  ],
  [
    "remembers its conversations",
    () => serveHost(createHonestHost({ agent: createRememberingAgent() })),
  ],
  [
    "sends no data with errors",
    () => changing(serveHost(createHonestHost()), ({ error }) => delete error?.data),
  ],
  ["reports failures as results", () => changing(serveHost(createHonestHost()), failsAsResult)],
  [
    "sends no question ids",
    () => changing(serveHost(createHonestHost()), ({ result }) => delete result?.question_id),
  ],
  [
    "sends no times",
    () =>
      changing(serveHost(createHonestHost()), ({ result }) => {
        delete result?.expires_at;
        delete result?.poll_after_ms;
      }),
  ],
  [
    "adds unknown fields",
    () =>
      changing(serveHost(createHonestHost()), (answer) => {
        answer.x_trace = "1";
        if (answer.result) answer.result.x_cost = { cents: 3 };
        if (answer.error?.data) answer.error.data.x_hint = "see the manual";
      }),
  ],
  [
    "sends errors with matching HTTP statuses",
    () => {
      const handle = serveHost(createHonestHost());
      return async (call) => {
        const response = await handle(call);
        const text = await response.text();
        return raw(text, {
          status: text.includes('"error"') && response.status === 200 ? 400 : response.status,
        });
      };
    },
  ],
  [
    "answers an error without id null where it cannot read the request",
    () =>
      changing(serveHost(createHonestHost()), (answer) => {
        if (answer.id === null) delete answer.id;
      }),
  ],
  [
    "refuses unknown callers by the status only",
    () => {
      const handle = serveHost(createHonestHost());
      return async (call) => {
        const response = await handle(call);
        return response.status === 401 ? new Response(null, { status: 403 }) : response;
      };
    },
  ],
  [
    "signs the addresses of its files anew at each read",
    () => {
      let reads = 0;
      return changing(serveHost(createHonestHost()), ({ result }) => {
        reads += 1;
        if (result?.status !== "success") return;
        result.artifacts = [
          { url: `https://files.sekisho.invalid/a?expires=${reads}&signature=${reads}` },
        ];
      });
    },
  ],
  [
    "stores its results as binary JSON",
    () =>
      changing(serveHost(createHonestHost()), (answer, request) => {
        if (answer.result?.status === "success")
          answer.result.artifacts = [{ data: { b: [{ d: 1, c: 2 }], a: null } }];
        if (request.includes('"get_task"')) answer.result = reorderKeys(answer.result);
      }),
  ],
  [
    "answers every execute_task with accepted",
    () => acceptEverything(serveHost(createHonestHost({ syncBudgetMs: 1 }))),
  ],
  ["is busy at times", () => busy(serveHost(createHonestHost()))],
  [
    "returns the same artifacts as text, data and https addresses",
    () =>
      changing(serveHost(createHonestHost()), ({ result }) => {
        if (result?.status !== "success") return;
        result.artifacts = [
          { text: "" },
          { data: null },
          { url: "https://files.sekisho.invalid/a?b=c#d" },
          { base64: "" },
        ];
        result.response_text ||= "";
      }),
  ],
  [
    "reports on AgentCore that it is busy without saying since when",
    () => {
      const handle = serveHost(createHonestHost());
      return async (call) =>
        call.request.url.endsWith("/ping") ? json({ status: "HealthyBusy" }) : handle(call);
    },
    { profile: "agentcore", texts: { slow: "slow 3s" } },
  ],
  [
    "is called without a second caller",
    () => serveHost(createHonestHost()),
    { hasSecondLook: false },
  ],
  [
    "asks questions twice",
    () => serveHost(createHonestHost({ agent: echo })),
    { texts: { ask: "ask twice" } },
  ],
];

describe("an unusual but valid endpoint", () => {
  it.each(variants)(
    "an endpoint that %s fails no required case",
    async (_what, open, options = {}) => {
      const report = await conform(open(serveHost), { level: "required", ...options });
      const counts = report.cases.filter(
        ({ outcome, level }) => outcome === "failed" && level !== "strict",
      );
      expect(counts).toEqual([]);
      expect(report.kept).toBe(true);
    },
  );
});

describe("the smallest endpoint", () => {
  it("tests the smallest endpoint as far as possible, and skips or fails the other cases", async () => {
    const report: ConformanceReport = await conform(minimalEndpoint({ token }), {
      isIdempotent: false,
    });
    expect(namesOf(report, "failed").length).toBeGreaterThan(3);
    expect(report.kept).toBe(false);
    expect(namesOf(report, "skipped")).toEqual(
      expect.arrayContaining([
        "accepted/result",
        "cancel/running",
        "ended/success",
        "question/asks",
        "failure/error",
      ]),
    );
    expect(namesOf(report, "passed").length).toBeGreaterThan(60);
  });
});
