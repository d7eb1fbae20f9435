/** Endpoints that handle a request wrongly: its envelope, params, size, headers or sender. */
import { json, raw, result } from "../../doubles/answers.ts";
import { type Break, error } from "./break.ts";
import { token } from "./endpoint.ts";

const execute = "execute_task";

export const requestBreaks: readonly Break[] = [
  {
    what: "answers JSON that breaks off with an internal error",
    theme: "envelope/",
    found: ["envelope/parse-error", "envelope/empty-body", "envelope/utf-8"],
    how: ({ changed }) => changed((answer) => (answer.error.code += answer.error.code === -32700 ? 97 : 0)),
  },
  {
    what: "gives an answer to each request of an array",
    theme: "envelope/",
    found: ["envelope/batch"],
    how: ({ sent, kept }) => (sent[0]?.method ? json([error({ sent, code: -32601 })]) : kept()),
  },
  {
    what: "breaks down at a number",
    theme: "envelope/",
    found: ["envelope/no-object"],
    how: ({ sent, kept }) => (sent === 42 ? new Response(null, { status: 500 }) : kept()),
  },
  {
    what: "breaks down at a deep body",
    theme: "envelope/",
    found: ["envelope/deep-nesting"],
    how: ({ bytes, kept }) => (bytes > 50_000 ? new Response(null, { status: 500 }) : kept()),
  },
  {
    what: "takes a request without id for a notification",
    theme: "envelope/",
    found: ["envelope/missing-id"],
    how: ({ sent, kept }) =>
      sent.method !== undefined && sent.id === undefined ? new Response(null, { status: 204 }) : kept(),
  },
  {
    what: "takes any version",
    theme: "envelope/",
    found: ["envelope/wrong-version"],
    how: ({ sent, kept }) => (sent.jsonrpc === "1.0" ? error({ sent, code: -32601 }) : kept()),
  },
  {
    what: "echoes every id as text, cut short",
    theme: "envelope/",
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
    theme: "errors/",
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
    theme: "errors/",
    found: ["errors/issues"],
    how: ({ sent, changed }) =>
      changed((answer) => {
        for (const issue of answer.error?.data?.issues ?? []) issue.message = `is ${JSON.stringify(sent.params)}`;
      }),
  },
  {
    what: "answers errors with their own HTTP status",
    theme: "errors/",
    found: ["errors/status"],
    how: async ({ kept }) => {
      const response = await kept();
      const text = await response.text();
      return raw(text, { status: text.includes('"error"') ? 400 : 200 });
    },
  },
  {
    what: "has no limit and parses what is too large",
    theme: "limits/",
    found: ["limits/too-large"],
    how: ({ sent }) => error({ sent, code: -32700 }),
  },
  {
    what: "takes no more than 64 KiB",
    theme: "execute/",
    found: ["execute/largest-request"],
    how: ({ bytes, kept }) => (bytes > 65_536 ? raw("", { status: 413 }) : kept()),
  },
  {
    what: "stumbles over a trace state",
    theme: "headers/",
    found: ["headers/trace"],
    how: ({ request, kept }) => (request.headers.has("tracestate") ? raw("", { status: 400 }) : kept()),
  },
  {
    what: "wants a well-formed trace",
    theme: "headers/",
    found: ["headers/malformed-trace"],
    how: ({ request, kept }) =>
      request.headers.get("traceparent")?.startsWith("00-") ? kept() : raw("", { status: 400 }),
  },
  {
    what: "takes session ids of 64 characters at most",
    theme: "headers/",
    found: ["headers/session"],
    how: ({ request, kept }) => {
      const sessionId = request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
      return sessionId.length > 64 ? raw("", { status: 400 }) : kept();
    },
  },
  {
    what: "lets everyone in",
    theme: "authentication/",
    found: ["authentication/missing", "authentication/wrong", "authentication/before-the-body"],
    how: ({ kept }) => kept({ authorization: `Bearer ${token}` }),
  },
  {
    what: "lets everyone in who brings any token",
    theme: "authentication/",
    found: ["authentication/wrong"],
    how: ({ request, kept }) =>
      request.headers.has("authorization") ? kept({ authorization: `Bearer ${token}` }) : kept(),
  },
  {
    what: "parses before it asks who is there",
    theme: "authentication/",
    found: ["authentication/before-the-body"],
    how: ({ sent, kept }) => (sent.method === undefined ? error({ sent, code: -32700 }) : kept()),
  },
];
