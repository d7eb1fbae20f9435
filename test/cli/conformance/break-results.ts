/** Endpoints that answer a good request wrongly. */
import { gzipSync } from "node:zlib";
import { result, success } from "../../doubles/answers.ts";
import { type Break, error } from "./break.ts";

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

export const resultBreaks: readonly Break[] = [
  {
    what: "answers with an id of its own",
    theme: "execute/",
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
    theme: "execute/",
    found: ["execute/unknown-params"],
    how: ({ sent, kept }) => (sent.params.x_unknown ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "refuses a history",
    theme: "execute/",
    found: ["execute/every-param"],
    how: ({ sent, kept }) => (sent.params.history ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "refuses attachments",
    theme: "execute/",
    found: ["execute/attachments"],
    how: ({ sent, kept }) => (sent.params.attachments ? error({ sent, code: -32602 }) : kept()),
  },
  {
    what: "reads UTF-8 as Latin-1",
    theme: "execute/",
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
    theme: "errors/",
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
    theme: "discover/",
    found: ["discover/document"],
    how: ({ sent }) => result(sent, { openrpc: "1.3.2", methods: [] }),
  },
  {
    what: "runs the agent for every copy of a request",
    theme: "idempotency/",
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
    theme: "idempotency/",
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
];

/** A clock that advances by `stepMs` at each reading. */
function clockOf({ stepMs }: { stepMs: number }): () => number {
  let nowMs = 0;
  return () => {
    nowMs += stepMs;
    return nowMs;
  };
}
