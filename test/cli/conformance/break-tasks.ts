/** Endpoints that handle accepted tasks wrongly. */
import { result, silence } from "../../doubles/answers.ts";
import { type Break, error } from "./break.ts";

export const taskBreaks: readonly Break[] = [
  {
    what: "neither answers nor accepts in time",
    theme: "accepted/in-time",
    found: ["accepted/in-time"],
    timeoutMs: 300,
    how: ({ request }) => silence(request),
  },
  {
    what: "fails at everything that is slow",
    theme: "accepted/",
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
    theme: "accepted/",
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
    theme: "accepted/",
    found: ["accepted/no-key"],
    how: ({ sent, kept }) => {
      const isNameless = sent.method === "get_task" && Object.keys(sent.params).length === 0;
      return isNameless ? result(sent, { status: "success", response_text: "" }) : kept();
    },
  },
  {
    what: "cancels only once",
    theme: "cancel/",
    found: ["cancel/again"],
    how: oncePerTask(),
  },
  {
    what: "says canceled and goes on",
    theme: "cancel/",
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

function oncePerTask(): Break["how"] {
  let canceled = false;
  return ({ sent, kept }) => {
    if (sent.method !== "cancel_task") return kept();
    if (canceled) return error({ sent, code: -32063 });
    canceled = true;
    return kept();
  };
}
