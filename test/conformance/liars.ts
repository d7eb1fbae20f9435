// biome-ignore-all format: one lie per row
/**
 * Endpoints that lie, each in one way. The test of the tester: each lie must be caught by the cases that are meant for it.
 */
import { gzipSync } from "node:zlib";
import { json, raw } from "../doubles/answers.ts";
import { jwt, otherToken, token } from "./honest-endpoint.ts";
import {
  answers, asFirst, bearer, cancels, changing, changingError, collectLies, type Exchange, error, executes, gets, type How, type Json,
  type Lie, method, parse, plain, result, says, success, where,
} from "./lie.ts";

const { lies, lie } = collectLies();

// Callers.
for (const name of ["execute_task", "get_task", "cancel_task", "answer_task", "feedback", "rpc.discover"]) {
  lie(`runs ${name} without credentials`, "authentication/nobody", where((x) => method(name)(x) && bearer(x) === "", asFirst));
}
lie("takes any token", "authentication/wrong", where((x) => bearer(x) !== "" && bearer(x) !== otherToken, asFirst));
lie("compares as many characters as came", "authentication/truncated", where((x) => bearer(x) !== "" && token.startsWith(bearer(x)), asFirst));
lie("compares as many characters as it knows", "authentication/extended", where((x) => bearer(x).startsWith(token), asFirst));
lie("compares tokens without their case", "authentication/case-flipped", where((x) => bearer(x).toLowerCase() === token.toLowerCase(), asFirst));
lie("looks for the token at the end", "authentication/prefixed", where((x) => bearer(x).endsWith(token), asFirst));
lie("compares the length of tokens", "authentication/changed", where((x) => bearer(x).length === token.length, asFirst));
lie("looks at the ends of a token only", "authentication/changed", where((x) => bearer(x).length === token.length && bearer(x).slice(0, 8) === token.slice(0, 8) && bearer(x).slice(-8) === token.slice(-8), asFirst));
lie("takes an empty token", "authentication/empty", where(({ request }) => request.headers.get("authorization") === "Bearer", asFirst));
lie("compares with a token that it does not have", "authentication/null", where((x) => bearer(x) === "null", asFirst));
lie("checks one scheme only", "authentication/other-scheme", where(({ request }) => request.headers.get("authorization")?.startsWith("Basic "), asFirst));
lie(
  "takes tokens that nobody signed",
  "authentication/unsigned",
  async (x) => {
    const [header = "", claims = ""] = bearer(x).split(".").map((part) => Buffer.from(part, "base64url").toString());
    return parse(header)?.alg === "none" && parse(claims)?.sub === "first" ? asFirst(x) : bearer(x) === jwt ? asFirst(x) : x.honest();
  },
  { token: jwt },
);
lie(
  "shows tasks that exist to everyone",
  "authentication/own-tasks",
  where(
    (x) => bearer(x) === "" && gets(x),
    async (x) => {
      const answer = await asFirst(x);
      return (await answer.clone().text()).includes('"error"') ? x.honest() : answer;
    },
  ),
);
lie("parses before it asks who is there", "authentication/before-the-body", where((x) => x.text === "{", (x) => error(x, -32700)));
lie(
  "refuses a stranger and runs the task all the same",
  "isolation/unknown-caller-runs-nothing",
  where(
    (x) => executes(x) && bearer(x) === "",
    async (x) => {
      await asFirst(x);
      return x.honest();
    },
  ),
);
lie("shows tasks to other callers", "isolation/another-caller-reads", where((x) => gets(x) && bearer(x) === otherToken, asFirst));
lie("lets other callers cancel", "isolation/another-caller-reads", where((x) => cancels(x) && bearer(x) === otherToken, asFirst));
lie("shows tasks that are over to other callers", "isolation/another-caller-reads-the-end", where((x) => gets(x) && bearer(x) === otherToken, async (x) => {
  const answer = await asFirst(x);
  return (await answer.clone().text()).includes('"success"') ? answer : x.honest();
}));
lie("lets the first caller read everything", "isolation/task-of-another-caller", where((x) => gets(x) && bearer(x) === token, async (x) => {
  const answer = await x.honest();
  return (await answer.clone().text()).includes("-32061") ? x.honest({ authorization: `Bearer ${otherToken}` }) : answer;
}));
lie("lets the first caller cancel everything", "isolation/task-of-another-caller", where((x) => cancels(x) && bearer(x) === token, async (x) => {
  const answer = await x.honest();
  return (await answer.clone().text()).includes("-32061") ? x.honest({ authorization: `Bearer ${otherToken}` }) : answer;
}));
lie("remembers a conversation under the session id alone", "isolation/session-of-another-caller", where(plain, async (x) => {
  const session = x.sent.params.session_id;
  const before = x.memory.get(session) ?? "";
  x.memory.set(session, x.sent.params.text);
  return x.changed(({ result: given }) => {
    if (given?.response_text) given.response_text += ` Before that: ${before}`;
  });
}));
lie("knows requests by their id alone", "isolation/another-caller-repeats", where((x) => executes(x) && bearer(x) === otherToken, asFirst));
lie(
  "keeps the text in a variable of all requests",
  "isolation/side-by-side",
  where(plain, async (x) => {
    x.memory.set("text", x.sent.params.text);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return success(x, x.memory.get("text"));
  }),
);
lie(
  "mentions the task before in its answers",
  "isolation/marks",
  where(plain, (x) =>
    x.changed(({ result: given }) => {
      const before = x.memory.get("text") ?? "";
      x.memory.set("text", x.sent.params.text);
      if (given?.response_text) given.response_text += ` Before that: ${before}`;
    }),
  ),
);
lie("mentions somebody's text in an error", "isolation/marks", (x) => {
  if (executes(x) && bearer(x) === token) x.memory.set("text", x.sent.params?.text);
  return changingError(-32061, (given) => (given.message = `not found, unlike ${x.memory.get("text")}`))(x);
});

// Bytes, headers and statuses.
lie("begins with a byte order mark", "raw/byte-order-mark", (x) => x.rewritten((text) => `\ufeff${text}`));
lie("writes a key twice", "raw/duplicate-key", where(executes, (x) => x.rewritten((text) => text.replace('{"jsonrpc"', '{"jsonrpc":"2.0","jsonrpc"'))));
lie(
  "writes a key twice, once with an escape",
  "raw/duplicate-key",
  where(executes, (x) =>
    x.rewritten((text) => text.replace('"status":"success"', '"st\\u0061tus":"accepted","status":"success"')),
  ),
);
lie("cuts within a character", "raw/half-character", where(says(/🏯/), (x) => x.rewritten((text) => text.replace("🏯", "\\ud83c"))));
lie("calls its JSON a page", "raw/content-type", async (x) => new Response((await x.honest()).body, { headers: { "content-type": "text/html" } }));
lie("calls its JSON Latin-1", "raw/content-type", async (x) => new Response((await x.honest()).body, { headers: { "content-type": "application/json; charset=iso-8859-1" } }));
lie(
  "compresses what nobody asked it to",
  "raw/encoding execute/answers",
  where(executes, async (x) => {
    const zipped = gzipSync(await (await x.honest()).text());
    return new Response(zipped, { headers: { "content-type": "application/json", "content-encoding": "gzip" } });
  }),
);
lie("redirects", "raw/encoding", where(executes, () => new Response(null, { status: 307, headers: { location: "/elsewhere" } })));
lie("sends results with HTTP 500", "raw/result-status", where(executes, async (x) => raw(await (await x.honest()).text(), { status: 500 })));
lie("sends results with HTTP 404", "raw/result-status", where(gets, async (x) => raw(await (await x.honest()).text(), { status: 404 })));
lie("sends errors with HTTP 400", "raw/error-status", async (x) => {
  const response = await x.honest();
  const text = await response.text();
  return raw(text, { status: text.includes('"error"') && response.status === 200 ? 400 : response.status });
});
lie("says that a failure may be repeated", "raw/error-data", changingError(-32064, (given) => (given.data.retryable = true)));
lie("gives another reason than its number", "raw/error-data errors/unknown-method", changingError(-32601, (given) => (given.data.reason = "internal")));
lie("asks for a year of patience", "raw/error-data", changingError(-32061, (given) => (given.data.retry_after_ms = 31_536_000_000)));
lie("answers two documents", "execute/answers", where(executes, (x) => x.rewritten((text) => text + text)));
lie("answers a list of responses", "execute/answers", where(executes, (x) => x.rewritten((text) => `[${text}]`)));
lie("answers with result and error", "execute/answers", where(executes, (x) => x.changed((answer) => (answer.error = { code: -32603, message: "no" }))));
lie("answers with white space", "execute/answers", where(executes, () => raw(" \n")));
lie("writes Latin-1", "execute/unicode", where(says(/🏯/), (x) => x.rewritten((text) => Buffer.from(text, "latin1"))));

// Envelopes and params.
const bodies: readonly (readonly [name: string, applies: (x: Exchange) => unknown, how?: How])[] = [
  ["envelope/parse-error", (x) => x.text === '{"jsonrpc": "2.0", "id"'],
  [
    "envelope/trailing-bytes",
    (x) => x.text.endsWith("}{}"),
    (x) => error({ ...x, sent: parse(x.text.slice(0, -2)) }, -32601),
  ],
  ["envelope/empty-body", (x) => x.text === "" && x.request.method === "POST"],
  ["envelope/utf-8", (x) => x.text.includes('"x":"\ufffd')],
  ["envelope/deep-nesting", (x) => x.text.startsWith("[[")],
  [
    "envelope/batch",
    (x) => x.text.startsWith("[{"),
    (x) => json([{ jsonrpc: "2.0", id: x.sent[0].id, error: { code: -32601, message: "no" } }]),
  ],
  ["envelope/empty-batch", (x) => x.text === "[]", () => raw("[]")],
  ["envelope/no-object", (x) => x.text === "42", () => new Response(null, { status: 500 })],
  ["envelope/null", (x) => x.text === "null", () => new Response(null, { status: 500 })],
  [
    "envelope/missing-id",
    ({ sent }) => sent.method && sent.id === undefined,
    () => new Response(null, { status: 204 }),
  ],
  ["envelope/null-id", ({ sent }) => sent.method && sent.id === null, (x) => error(x, -32601)],
  ["envelope/wrong-version", ({ sent }) => sent.jsonrpc === "1.0", (x) => error(x, -32601)],
  [
    "envelope/missing-method",
    ({ sent }) => sent.id && sent.method === undefined && sent.jsonrpc,
    (x) => error(x, -32601),
  ],
  [
    "envelope/any-id",
    ({ sent }) => String(sent.id).length === 128,
    (x) => x.changed((answer) => (answer.id = answer.id.slice(0, 36))),
  ],
  [
    "envelope/integer-id",
    ({ sent }) => typeof sent.id === "number",
    (x) => x.changed((answer) => (answer.id = String(answer.id))),
  ],
  [
    "envelope/digits-id",
    ({ sent }) => sent.id === "0012",
    (x) => x.changed((answer) => (answer.id = Number(answer.id))),
  ],
  ["errors/unknown-method", ({ sent }) => sent.method === "sekisho.no_such_method", success],
  ["errors/inherited-method", ({ sent }) => sent.method === "constructor"],
  ["errors/method-case", ({ sent }) => sent.method === "Execute_Task", success],
  ["errors/missing-params", (x) => executes(x) && x.sent.params === undefined],
  ["errors/missing-text", (x) => executes(x) && x.sent.params?.text === undefined, success],
  ["errors/params-array", (x) => executes(x) && Array.isArray(x.sent.params), success],
  ["errors/wrong-type", (x) => executes(x) && x.sent.params?.text === 42, success],
  ["errors/null-text", (x) => executes(x) && x.sent.params?.text === null, success],
  ["errors/empty-text", (x) => executes(x) && x.sent.params?.text === "", success],
  ["errors/long-text", (x) => executes(x) && x.sent.params?.text?.length > 40_000, success],
  ["errors/hostile-params", (x) => executes(x) && x.sent.params?.attachments === "a"],
  ["execute/nul", (x) => executes(x) && x.sent.params?.text?.includes("\u0000")],
  ["limits/too-large", (x) => x.bytes > 262_144 && !x.sent.method, (x) => error(x, -32700)],
  ["limits/too-large-request", (x) => x.bytes > 262_144 && x.sent.method, (x) => error(x, -32601)],
  ["headers/charset", ({ request }) => request.headers.get("content-type")?.includes("charset")],
  ["headers/json-rpc-type", ({ request }) => request.headers.get("content-type")?.includes("rpc")],
  ["headers/trace", ({ request }) => request.headers.has("tracestate")],
  ["headers/malformed-trace", ({ request }) => request.headers.get("traceparent") === "not-a-trace"],
  [
    "headers/session",
    ({ request }) => request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id")?.length === 100,
  ],
  ["https/get", ({ request }) => request.method === "GET", success],
  ["discover/document", method("rpc.discover"), (x) => result(x, { openrpc: "1.3.2", methods: [] })],
  [
    "execute/every-param",
    (x) => executes(x) && x.sent.params?.history && x.sent.params.bot_token,
    (x) => error(x, -32602),
  ],
  ["execute/context", (x) => executes(x) && x.sent.params?.context, (x) => error(x, -32602)],
  [
    "execute/attachments",
    (x) => plain(x) && x.sent.params.attachments?.length === 1,
    (x) => error(x, -32602),
  ],
  ["execute/unknown-params", ({ sent }) => sent.params?.x_unknown, (x) => error(x, -32602)],
  ["execute/largest-request", (x) => x.bytes > 65_536, () => raw("", { status: 413 })],
];
for (const [name, applies, how = (x: Exchange) => error(x, -32603)] of bodies) {
  lie(`handles wrongly what ${name} sends`, name, where((x) => bearer(x) === token && applies(x), how));
}
lie(
  "says values of bad params aloud",
  "errors/issues",
  changingError(-32602, (given, { sent }) => {
    for (const issue of given.data.issues ?? []) issue.message = `is ${JSON.stringify(sent.params)}`;
  }),
);
lie("has texts for error codes", "errors/unknown-method", (x) => method("sekisho.no_such_method")(x) ? error(x, "METHOD_NOT_FOUND") : x.honest());
lie("answers with an id of its own", "execute/answers errors/unknown-method", (x) => bearer(x) === token ? x.changed((answer) => (answer.id = "1")) : x.honest());
lie("wants a param that is optional", "execute/least-params", where((x) => plain(x) && x.sent.params.session_id === undefined && !x.sent.params.x_padding, (x) => error(x, -32602)));
lie("has another name for the text of its answer", "execute/answers", where(plain, (x) => result(x, { status: "success", text: "hello" })));

// Texts.
lie("drops characters beyond ASCII", "execute/unicode", where(says(/🏯/), (x) => x.rewritten((text) => text.replace(/[\u0080-\u{10ffff}]/gu, ""))));
lie("writes question marks beyond ASCII", "execute/unicode", where(says(/🏯/), (x) => x.rewritten((text) => text.replace(/[\u0080-\u{10ffff}]/gu, "?"))));
lie("cuts texts at 4,000 characters", "execute/long-text", changing("success", (given) => (given.response_text = given.response_text.slice(0, 4000))));
lie("escapes texts as HTML", "execute/special-characters", changing("success", (given) => (given.response_text = given.response_text.replaceAll("<", "&lt;"))));
lie("joins lines", "execute/special-characters", where(says(/שלום/), changing("success", (given) => (given.response_text = given.response_text.replaceAll("\r\n", "\n")))));
lie("does not look at timeout_ms", "execute/timeout-ms", (x) => {
  const slow = { ...x.sent, params: { ...x.sent.params, timeout_ms: undefined } };
  return executes(x) && x.sent.params?.timeout_ms === 50
    ? new Promise((resolve) => setTimeout(() => resolve(success({ ...x, sent: slow })), 1100))
    : x.honest();
});

// Tasks that are not known, failures and questions.
for (const verb of ["get", "cancel", "answer"]) {
  lie(`takes ${verb}_task of an unknown task for a task`, `tasks/unknown-${verb}`, (x) =>
    x.changed((answer) => {
      if (x.sent.method !== `${verb}_task` || answer.error?.code !== -32061) return;
      delete answer.error;
      answer.result =
        verb === "cancel" ? { status: "canceled", task_id: "1" } : { status: "success", response_text: "a" };
    }),
  );
}
lie("breaks down at a quote in an id", "tasks/unknown-get", where((x) => gets(x) && String(x.sent.params.task_id).includes("'"), (x) => error(x, -32603)));
lie("breaks down with its agent", "failure/error", where(says(/^fail/), () => new Response("oops", { status: 500 })));
lie("says that it is not available when its agent fails", "failure/reason", where(says(/^fail/), (x) => error(x, -32071)));
lie("says that there are too many requests when its agent fails", "failure/reason", where(says(/^fail/), (x) => error(x, -32070, "no", { reason: "rate_limited", retryable: true })));
for (const [reason, code] of Object.entries({ agent_not_found: -32062, task_not_found: -32061, already_exists: -32068, unauthenticated: -32066, invalid_params: -32602 })) {
  lie(`says ${reason} when its agent fails`, "failure/reason", where(says(/^fail/), (x) => error(x, code)));
}
lie("says that it failed itself when its agent fails", "failure/execution-failed", where(says(/^fail/), (x) => error(x, -32603)));
lie("shows tasks that ask to a token that is cut short", "authentication/own-tasks", where((x) => gets(x) && token.startsWith(bearer(x)) && bearer(x) !== "", async (x) => {
  const answer = await asFirst(x);
  return (await answer.clone().text()).includes('"error"') ? x.honest() : answer;
}));
lie("lets other callers answer", "isolation/another-caller-answers", where((x) => answers(x) && bearer(x) === otherToken, asFirst));
lie("asks nothing", "question/asks", changing("input_required", (given) => (given.prompt = " ")));
lie("gives two options one id", "question/asks", changing("input_required", (given) => (given.options[1].id = given.options[0].id)));
lie("has another id for its question at each read", "question/read-again", where(gets, changing("input_required", (given, { sent }) => (given.question_id = `q-${sent.id}`))));
lie("changes the question that it asks", "question/read-again", where(gets, changing("input_required", (given) => (given.prompt += "?"))));
lie(
  "takes an answer that says nothing",
  "question/bad-answers",
  where(
    (x) =>
      answers(x) && x.sent.params.text === undefined && x.sent.params.option_id === undefined && bearer(x) === token,
    (x) => result(x, { status: "accepted", task_id: x.sent.params.task_id }),
  ),
);
lie(
  "takes an option that was not offered",
  "question/bad-answers",
  where(
    (x) => /-[0-9a-f]{8}$/.test(x.sent.params?.option_id),
    (x) => result(x, { status: "accepted", task_id: x.sent.params.task_id }),
  ),
);
lie("does not look at which question an answer is to", "question/another-question", (x) =>
  x.changed((answer) => {
    if (!answers(x) || answer.error?.code !== -32063 || !x.sent.params.question_id) return;
    delete answer.error;
    answer.result = { status: "accepted", task_id: x.sent.params.task_id };
  }),
);
const toQuestion = (x: Exchange) => answers(x) && x.sent.params.option_id === "yes";
lie("gives the agent the first option, whatever was chosen", "question/chosen-option", where((x) => answers(x) && x.sent.params.option_id === "no", (x) => {
  const { sent } = x;
  return x.insteadOf({ ...sent, params: { ...sent.params, option_id: "yes" } });
}));
lie("takes another answer each time", "question/answer", where(toQuestion, (x) => success(x, `answer ${x.count("answers")}`)));
lie("refuses an answer that it knows", "question/repeated-answer", where((x) => toQuestion(x) && x.count(x.sent.id) > 1, (x) => error(x, -32063)));
lie("takes one more answer", "question/other-answer", where((x) => x.sent.params?.text === "something else altogether", (x) => success(x)));
lie("takes another answer under a known id", "question/id-used-before", where((x) => x.sent.params?.text === "something else under the same id", (x) => success(x)));
lie("goes on with a canceled question", "question/canceled", (x) =>
  x.changed((answer) => {
    if (!answers(x) || answer.error?.data?.current !== "canceled") return;
    delete answer.error;
    answer.result = { status: "success", response_text: "a" };
  }),
);

lie("gives two fields one id", "question/fields", changing("input_required", (given) => given.fields && Object.assign(given.fields[1], { id: given.fields[0].id })));
lie("changes the fields that it asks for", "question/fields", where(gets, changing("input_required", (given) => given.fields?.reverse())));
lie("forgets the fields that it asked for", "question/fields", where(gets, changing("input_required", (given) => delete given.fields)));
const toFields = (x: Exchange) => answers(x) && x.sent.params.fields !== undefined && bearer(x) === token;
const formIds = ["road", "luggage", "travellers", "day", "reason"];
const accepting = (x: Exchange) => result(x, { status: "accepted", task_id: x.sent.params.task_id });
lie("takes any values", "question/bad-fields", where(toFields, accepting));
lie("takes values for fields that there are not", "question/bad-fields", where((x) => toFields(x) && Object.keys(x.sent.params.fields).some((id) => !formIds.includes(id)), accepting));
lie("does not mind what is required", "question/bad-fields", where((x) => toFields(x) && x.sent.params.fields.road === null, accepting));
lie("takes choices that were not offered", "question/bad-fields", where((x) => toFields(x) && /-[0-9a-f]{8}$/.test(x.sent.params.fields.road), accepting));
lie("takes numbers of any size", "question/bad-fields", where((x) => toFields(x) && x.sent.params.fields.travellers > 20, accepting));
lie("takes days that there are not", "question/bad-fields", where((x) => toFields(x) && x.sent.params.fields.day === "2026-02-30", accepting));
lie("does not say which field is wrong", "question/names-field", where(toFields, changingError(-32602, (given) => delete given.data.issues)));
lie("takes no values at all", "question/answers-fields", where(toFields, (x) => error(x, -32602)));
lie("takes values only once", "question/answers-fields", where(toFields, (x) => x.changed((answer) => {
  if (answer.error || x.count("good values") < 2) return;
  delete answer.result;
  answer.error = { code: -32063, message: "no" };
})));
lie("wants every field where somebody answers in words", "question/fields-in-words", async (x) => {
  if (says(/^ask form/)(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id, 1));
  return answers(x) && x.sent.params.text && x.memory.has(x.sent.params.task_id) ? error(x, -32602) : x.honest();
});
lie("changes the options that it offers", "question/read-again", where(gets, changing("input_required", (given) => given.options.reverse())));
lie("takes an answer and never goes on", "question/goes-on", (x) => {
  if (toQuestion(x)) x.memory.set(x.sent.params.task_id, 1);
  const isStuck = (gets(x) || toQuestion(x)) && x.memory.has(x.sent.params.task_id) && bearer(x) === token;
  return isStuck ? result(x, { status: "accepted", task_id: x.sent.params.task_id }) : x.honest();
}, { budgetMs: 20_000 });
lie("loses a task with its answer", "question/goes-on", (x) => {
  if (toQuestion(x)) x.memory.set(x.sent.params.task_id, 1);
  return gets(x) && x.memory.has(x.sent.params.task_id) ? error(x, -32061) : x.honest();
});
lie("takes options only", "question/free-text", where((x) => answers(x) && x.sent.params.text && x.sent.params.user_id, (x) => error(x, -32602)));
lie("lets everyone answer questions that are open", "authentication/own-tasks", where((x) => answers(x) && bearer(x) === "", async (x) => {
  const answer = await asFirst(x);
  return (await answer.clone().text()).includes('"error"') ? x.honest() : answer;
}));
lie("refuses fields that it does not know", "envelope/unknown-fields", where(({ sent }) => sent.x_unknown, (x) => error(x, -32600)));
lie("refuses params of get_task that it does not know", "tasks/unknown-get", where((x) => gets(x) && x.sent.params.x_unknown, (x) => error(x, -32602)));
lie("takes ten attachments", "execute/longest-lists", where((x) => executes(x) && x.sent.params?.attachments?.length > 10, (x) => error(x, -32602)));
lie("refuses the reason of a cancel", "cancel/by-request-id", where((x) => cancels(x) && x.sent.params.reason, (x) => error(x, -32602)));
lie("does not mind two keys", "accepted/keys", where((x) => gets(x) && x.sent.params.task_id && x.sent.params.request_id, (x) => result(x, { status: "accepted", task_id: x.sent.params.task_id })));
lie("names another task in its errors", "raw/same-task", changingError(-32063, (given) => (given.data.task_id = "another")));
lie("names another task in its results", "raw/same-task", where((x) => gets(x) && x.sent.params.task_id, changing("success", (given) => (given.task_id = "another"))));
lie("counts tokens below zero", "bounds/usage", where(plain, changing("success", (given) => (given.usage = { input_tokens: -5 }))));
lie("tells a stack trace as its answer", "leaks/innards", where(says(/^fail/), (x) => success(x, 'Traceback (most recent call last):\n  File "agent.py", line 3')));

// Accepted tasks.
const slow = says(/^slow/);
lie("neither answers nor accepts in time", "accepted/in-time", where(slow, () => new Promise(() => {})), { callTimeoutMs: 10_000 });
lie("fails at everything that is slow", "accepted/in-time", where(slow, (x) => error(x, -32603)));
lie("accepts without a task id", "accepted/result", where(executes, changing("accepted", (given) => delete given.task_id)));
lie("gives two tasks one id", "accepted/own-ids", where(executes, changing("accepted", (given) => (given.task_id = "the-task"))));
lie("changes the task id", "accepted/by-task-id accepted/by-request-id", where(gets, changing("accepted", (given) => (given.task_id = "another"))));
lie("accepts a task and does not know it", "accepted/by-task-id", where((x) => gets(x) && bearer(x) === token, (x) => error(x, -32061)));
lie("does not find tasks by their request id", "accepted/by-request-id", where((x) => gets(x) && x.sent.params.request_id, (x) => error(x, -32061)));
lie("forgets a task when its caller hangs up", "accepted/lost-response", (x) => {
  if (slow(x)) x.request.signal.addEventListener("abort", () => x.memory.set(x.sent.id, "gone"));
  return gets(x) && x.memory.has(x.sent.params.request_id) ? error(x, -32061) : x.honest();
});
lie("does not know long polls", "accepted/long-poll", where((x) => gets(x) && x.sent.params.wait_ms === 100, (x) => error(x, -32602)));
lie("holds a poll for as long as it likes", "accepted/long-poll", where((x) => gets(x) && x.sent.params.wait_ms === 100, () => new Promise(() => {})), { callTimeoutMs: 10_000 });
lie(
  "tells more of its answer beforehand than anybody reads",
  "accepted/partial-text",
  where(
    gets,
    changing("accepted", (given) => (given.progress = { partial_text: "x".repeat(12_001) })),
  ),
);
lie("finds a task without being told which", "accepted/keys", where((x) => gets(x) && Object.keys(x.sent.params).length === 0, (x) => success(x)));
lie("waits for hours", "accepted/keys", where((x) => x.sent.params?.wait_ms === 25_001, (x) => result(x, { status: "accepted", task_id: x.sent.params.task_id })));
lie("cancels another task", "cancel/running", where(cancels, changing("canceled", (given) => (given.task_id = "another"))));
lie("cancels only once", "cancel/again", where((x) => cancels(x) && bearer(x) === token && x.count(x.sent.params.task_id) > 1, (x) => error(x, -32063)));
lie("does not cancel by request id", "cancel/by-request-id", where((x) => cancels(x) && x.sent.params.request_id, (x) => error(x, -32061)));
lie("says canceled and goes on", "cancel/then-read", (x) => {
  if (executes(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id, 1));
  const { task_id } = x.sent.params ?? {};
  return cancels(x) && x.memory.has(task_id) ? result(x, { status: "canceled", task_id }) : x.honest();
});
lie("loses the result", "ended/success", where(gets, changing("success", (given) => delete given.response_text)));
lie("answers for another request", "ended/success", where(gets, changing("success", (given) => (given.correlation_id = "another"))));
lie(
  "begins anew at the second read",
  "ended/stays",
  where(gets, (x) =>
    x.changed((answer) => {
      if (answer.result?.status !== "success" || !x.sent.params.task_id || x.count(x.sent.params.task_id) < 2) return;
      answer.result = { status: "accepted", task_id: x.sent.params.task_id };
    }),
  ),
);
lie("tells a result only once", "ended/stays", where((x) => gets(x) && x.sent.params.request_id, changing("success", (given) => (given.response_text = "else"))));
lie("cancels what is over", "ended/cancel", (x) =>
  x.changed((answer) => {
    if (!cancels(x) || answer.error?.code !== -32063) return;
    delete answer.error;
    answer.result = { status: "canceled", task_id: x.sent.params.task_id };
  }),
);
lie("stores nothing that it answers at once", "ended/answered-at-once", (x) => {
  if (executes(x)) return x.changed((answer) => answer.result?.status === "success" && x.memory.set(x.sent.id, 1));
  return gets(x) && x.memory.has(x.sent.params.request_id) ? error(x, -32061) : x.honest();
});

// Repetitions.
lie(
  "runs every copy of a request",
  "idempotency/same-outcome idempotency/at-the-same-time idempotency/not-run-again idempotency/files-read-once",
  where(executes, ({ anew }) => anew()),
);
lie("runs a copy that comes after the end", "idempotency/same-outcome", where((x) => plain(x) && x.count(x.sent.id) > 1, ({ anew }) => anew()));
lie(
  "runs copies that come at the same time",
  "idempotency/at-the-same-time",
  where(
    (x) => plain(x) && x.count(x.sent.id) > 1 && !x.memory.has(`over ${x.sent.id}`),
    ({ anew }) => anew(),
  ),
);
const other = (x: Exchange, change: (params: Json) => boolean) => {
  const first = x.memory.get(x.sent.id);
  if (executes(x) && first === undefined) x.memory.set(x.sent.id, x.sent.params);
  return executes(x) && first !== undefined && change(x.sent.params) ? first : undefined;
};
for (const name of ["channel", "thread_ts", "user_id"]) {
  lie(`does not look at another ${name} under a known id`, "idempotency/other-content", where((x) => other(x, (params) => params[name] !== x.memory.get(x.sent.id)[name]), (x) => success(x)));
}
const isOtherFile = (x: Exchange) => other(x, ({ attachments }) => attachments?.[0] && attachments[0].id !== x.memory.get(x.sent.id).attachments?.[0].id);
lie("does not look at another file under a known id", "idempotency/other-content", where(isOtherFile, (x) => success(x)));
lie("compares the length of texts under a known id", "idempotency/other-content", where((x) => other(x, ({ text }) => text.length === x.memory.get(x.sent.id).text.length), (x) => {
  const { sent } = x;
  return x.insteadOf({ ...sent, params: { ...sent.params, text: x.memory.get(sent.id).text } });
}));
lie("does not look at a missing file under a known id", "idempotency/other-content", where((x) => other(x, (params) => !params.attachments)?.attachments, (x) => success(x)));
lie("compares what changes by itself", "idempotency/changing-params", where((x) => other(x, (params) => params.history), (x) => error(x, -32068)));
lie("compares the addresses of files", "idempotency/changing-params", where((x) => executes(x) && /signature=b/.test(x.text), (x) => error(x, -32068)));
lie(
  "runs the agent twice and tells one result",
  "idempotency/files-read-once",
  where(says(/^read files/), async (x) => {
    const { url } = x.sent.params.attachments[0];
    if (x.count(x.sent.id) > 1) await fetch(url);
    return x.honest();
  }),
);
lie("runs a canceled task again", "idempotency/canceled", (x) => {
  if (cancels(x)) x.memory.set("canceled", 1);
  return slow(x) && x.count(x.sent.id) > 1 && x.memory.has("canceled")
    ? x.changed((answer) => {
        if (answer.error?.code !== -32076) return;
        delete answer.error;
        answer.result = { status: "accepted", task_id: "again" };
      })
    : x.honest();
});
lie("runs a failed task again", "idempotency/failed", where((x) => says(/^fail/)(x) && x.count(x.sent.id) > 1, (x) => success(x)));
lie("stores refusals", "idempotency/refusals-are-not-stored", (x) => {
  if (executes(x) && x.sent.params && x.sent.params.text === undefined) x.memory.set(x.sent.id, 1);
  return x.memory.has(x.sent.id) ? error(x, -32602) : x.honest();
});

lie("starts a slow task twice", "idempotency/accepted-twice", where((x) => slow(x) && x.count(x.sent.id) > 1 && !x.memory.has("over"), ({ anew }) => anew()));
lie("asks a repeated request anew", "idempotency/asking", where((x) => says(/^ask/)(x) && x.count(x.sent.id) > 1, ({ anew }) => anew()));

// Votes.
const votes = method("feedback");
const recorded = (x: Exchange, task_id = x.sent.params?.task_id ?? x.sent.params?.request_id) => result(x, { status: "recorded", task_id });
lie("records votes on tasks that it does not know", "feedback/unknown", where(votes, (x) => recorded(x)));
lie("records votes on tasks of other callers", "isolation/another-caller-votes", where((x) => votes(x) && bearer(x) === otherToken, (x) => recorded(x)));
lie("says a task id of its own of a vote", "feedback/recorded", changing("recorded", (given) => (given.task_id = "another")));
lie("takes each vote once", "feedback/recorded", where((x) => votes(x) && x.count(JSON.stringify(x.sent.params)) > 1, (x) => error(x, -32068)));
lie("takes one vote of a person", "feedback/recorded", where((x) => votes(x) && x.count(x.sent.params.voter_id) > 2, (x) => error(x, -32063)));
lie("answers a vote as it answers a task", "feedback/recorded", changing("recorded", (given) => (given.status = "accepted")));
lie("records votes on canceled tasks", "feedback/canceled", where(votes, (x) => x.changed((answer) => { if (answer.error?.code === -32063) { delete answer.error; answer.result = { status: "recorded", task_id: x.sent.params.task_id }; } })));
for (const [what, wrong] of Object.entries({
  "another vote": (params: Json) => params.vote === "sideways",
  "a vote of nobody": (params: Json) => params.voter_id === undefined,
  "a vote without a time": (params: Json) => params.voted_at === undefined,
  "a vote on two tasks": (params: Json) => params.task_id && params.request_id,
})) {
  lie(`takes ${what}`, "feedback/bad-params", where((x) => votes(x) && wrong(x.sent.params), (x) => recorded(x)));
}

// The second look.
lie("runs a slow task again some seconds after its end", "second-look/repeated-slow", where((x) => slow(x) && x.count(x.sent.id) > 2, ({ anew }) => anew()));
lie("runs a canceled task again after a while", "second-look/repeated-cancel", where((x) => slow(x) && x.count(x.sent.id) > 2, ({ anew }) => anew()));
lie("asks a repeated request again after its answer", "second-look/repeated-question", where((x) => says(/^ask/)(x) && x.count(x.sent.id) > 1, ({ anew }) => anew()));
/** Lies from that read of an ended task by its task id on. The poll that sees the end is the first one, and `ended/stays` reads it five times. */
const later = (x: Exchange, status: string, change: (answer: Json) => void, from: number): Promise<Response> =>
  x.changed((answer) => {
    const isEnd = answer.result?.status === status || answer.error?.data?.reason === status;
    if (isEnd && x.sent.params.task_id && x.count(x.sent.params.task_id) >= from) change(answer);
  });
const notFound = (answer: Json) => {
  delete answer.result;
  answer.error = { code: -32061, message: "no" };
};
lie("forgets a task some seconds after its end", "second-look/success", where(gets, (x) => later(x, "success", notFound, 7)));
lie("shows a result five times", "ended/stays", where(gets, (x) => later(x, "success", notFound, 6)));
lie("changes a result after a while", "second-look/success", where(gets, (x) => later(x, "success", ({ result: given }) => (given.response_text += "."), 7)));
lie(
  "completes what was canceled",
  "second-look/canceled",
  where(gets, (x) =>
    later(
      x,
      "canceled",
      (answer) => {
        delete answer.error;
        answer.result = { status: "success", response_text: "done after all" };
      },
      2,
    ),
  ),
);
lie("forgets a canceled task", "second-look/canceled", where(gets, (x) => later(x, "canceled", notFound, 2)));
lie("asks again what was answered", "question/goes-on", (x) =>
  x.changed(({ result: given, error: refused }) => {
    if (given?.status === "input_required") x.memory.set(given.task_id, given);
    const before = x.memory.get(x.sent.params?.task_id);
    if (answers(x) && !refused && before) before.answered = true;
    if (gets(x) && given && before?.answered) Object.assign(given, before);
  }),
);
lie("forgets an answer", "second-look/answered", where((x) => toQuestion(x) && x.count(x.sent.id) > 3, (x) => error(x, -32063)));
lie(
  "forgets a failure",
  "second-look/failed",
  where(
    (x) => gets(x) && bearer(x) === token,
    (x) => x.changed((answer) => answer.error?.data?.reason === "execution_failed" && notFound(answer)),
  ),
);
lie(
  "runs a request again some seconds after its end",
  "second-look/repeated",
  where(
    (x) => plain(x) && bearer(x) === token && x.count(x.sent.id) > 2 && x.sent.params.text.includes('"quoted"'),
    (x) => success(x, "again"),
  ),
);
lie("runs a failed task again after a while", "second-look/repeated-failure", where((x) => says(/^fail/)(x) && x.count(x.sent.id) > 2, (x) => success(x)));

// Values in results.
lie("wants to be polled in a year", "bounds/poll-after", changing("accepted", (given) => (given.poll_after_ms = 31_536_000_000)));
lie("keeps a task for a second", "bounds/expires-at", changing("accepted", (given) => (given.expires_at = new Date(Date.now() + 1000).toISOString())));
lie("keeps a task for ever", "bounds/expires-at", changing("accepted", (given) => (given.expires_at = "9999-12-31T23:59:59Z")));
lie("asks a question that is over", "bounds/question-expires-at", changing("input_required", (given) => (given.expires_at = "2020-01-01T00:00:00Z")));
lie("answers nothing", "bounds/empty-answer", where(plain, changing("success", (given) => (given.response_text = "\u200b \n"))));
lie("answers with half a megabyte", "bounds/result-size", where(plain, changing("success", (given) => (given.response_text += "x".repeat(300_000)))));
lie("answers with 101 files", "bounds/result-size", where(plain, changing("success", (given) => (given.artifacts = Array(101).fill({ text: "a" })))));
for (const [what, artifact] of Object.entries({
  "a file by ftp": { url: "ftp://files.sekisho.invalid/a" },
  "a file of its own disk": { url: "file:///etc/passwd" },
  "a file behind a password": { url: "https://user:word@files.sekisho.invalid/a" },
  "a file of a private network": { url: "https://10.0.0.1/a" },
  "a file by plain http": { url: "http://files.sekisho.invalid/a" },
  "a file with two contents": { text: "a", base64: "YQ==" },
})) {
  lie(`answers with ${what}`, "bounds/artifacts", where(plain, changing("success", (given) => (given.artifacts = [artifact]))));
}
const step = { id: "a", title: "Read", status: "pending" };
for (const [what, steps] of [
  ["51 steps", Array.from({ length: 51 }, (_, id) => ({ ...step, id: String(id) }))],
  ["a step twice", [step, step]],
  ["a step with a status of its own", [{ ...step, status: "doing" }]],
] as const) {
  lie(`tells ${what}`, "bounds/steps", where(gets, changing("accepted", (given) => (given.progress = { steps }))));
}
lie("offers 101 options", "bounds/lists", changing("input_required", (given) => { given.options = Array.from({ length: 101 }, (_, id) => ({ id: String(id), label: "a" })); }));

// Leaks.
for (const [what, message] of Object.entries({
  "a stack trace of Python": 'Traceback (most recent call last):\n  File "/app/agent.py", line 3, in run',
  "a stack trace of Node": "TypeError: x is undefined\n    at run (/app/agent.js:3:5)",
  "a stack trace of Java": "java.lang.NullPointerException\n\tat com.example.Agent.run(Agent.java:42)",
  "a panic of Go": "runtime error\n\ngoroutine 7 [running]:\nmain.run()",
  "a path": "cannot read /var/lib/agents/key.pem",
  SQL: "SELECT * FROM tasks WHERE id = 1",
  "an error of its database": 'syntax error at or near "OR"',
  "an error of MySQL": "You have an error in your SQL syntax; check the manual",
  "an error of SQLite": "no such table: tasks",
  "a name of its network": "getaddrinfo ENOTFOUND db.internal",
  "its environment": "AWS_SECRET_ACCESS_KEY=abcdefgh",
  "the address of its database": "connect postgres://db.internal:5432/tasks",
  "an address of its network": "connect ECONNREFUSED 10.0.3.17:5432",
})) {
  lie(`tells ${what} when its agent fails`, "leaks/innards", changingError(-32064, (given) => (given.message = message)));
}
lie("shows a page for developers", "leaks/innards", where((x) => x.text === "null", () => new Response("<h1>NullPointerException at /srv/agent/main.py</h1>", { status: 500 })));
lie("tells the cause in data", "leaks/innards", changingError(-32061, (given) => (given.data.cause = "ER: SELECT id FROM tasks")));
lie("says the token back", "leaks/credentials", changingError(-32601, (given) => (given.message = `no method for ${token}`)));
lie("says the bot token back", "leaks/credentials", where((x) => x.sent.params?.bot_token, (x) => success(x, `with ${x.sent.params.bot_token}`)));
lie(
  "fetches files with the caller's token",
  "leaks/credentials",
  where(
    (x) => says(/^read files/)(x) && bearer(x) === token,
    async (x) => {
      await fetch(x.sent.params.attachments[0].url, { headers: { authorization: `Bearer ${token}` } });
      return x.honest();
    },
  ),
);
for (const [place, url, headers] of [
  ["another header", "", { "x-token": token }],
  ["the address", `?token=${token}`, {}],
] as const) {
  lie(`fetches files with the caller's token in ${place}`, "leaks/credentials", where((x) => says(/^read files/)(x) && bearer(x) === token, async (x) => {
    await fetch(x.sent.params.attachments[0].url + url, { headers });
    return x.honest();
  }));
}

// AgentCore.
const agentcore = { profile: "agentcore" } as const;
const whileSlow = { ...agentcore, texts: { slow: "slow 4s" } };
const pings = ({ request }: Exchange) => request.url.endsWith("/ping");
/** Says that it is busy. */
const busySince = (field: () => object) => where(pings, () => json({ status: "HealthyBusy", ...field() }));
const nowSeconds = () => Math.floor(Date.now() / 1000);
lie("says that it is busy, and not since when", "agentcore/ping-busy", busySince(() => ({})), whileSlow);
lie("is busy since a date in words", "agentcore/ping-time", busySince(() => ({ time_of_last_update: new Date().toISOString() })), whileSlow);
lie("counts the time of its status in milliseconds", "agentcore/ping-time", busySince(() => ({ time_of_last_update: Date.now() })), whileSlow);
lie("is busy since tomorrow", "agentcore/ping-time", busySince(() => ({ time_of_last_update: nowSeconds() + 86_400 })), whileSlow);
lie("has just become busy at each ping", "agentcore/ping-time", busySince(() => ({ time_of_last_update: nowSeconds() })), whileSlow);
lie("has just become idle at each ping", "agentcore/ping-time", where(pings, () => json({ status: "Healthy", time_of_last_update: nowSeconds() })), whileSlow);
lie("is never healthy", "agentcore/ping", where(({ request }) => request.url.endsWith("/ping"), () => raw("ok")), agentcore);
lie("serves another path", "agentcore/path", where(({ request }) => request.url.endsWith("/invocations"), () => raw("", { status: 404 })), { ...agentcore, path: "/" });
lie(
  "sends errors with HTTP 400 on AgentCore",
  "agentcore/status",
  where(method("sekisho.no_such_method"), async (x) => raw(await (await x.honest()).text(), { status: 400 })),
  agentcore,
);

// Texts in the store, sessions, answers and repetitions.
const changingText = (change: (text: string) => string): How =>
  changing("success", (given) => (given.response_text = change(given.response_text)));
lie("keeps 255 characters of a text", "ended/whole-text question/goes-on", where(gets, changingText((text) => text.slice(0, 255))), { texts: { slow: "slow 1200ms" } });
lie("keeps characters of 16 bits only", "ended/whole-text", where(gets, changingText((text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, "?"))), { texts: { slow: "slow 1200ms" } });
lie("trims what it keeps", "ended/whole-text", where(gets, changingText((text) => text.replace(/\r\n/g, "\n").trim())), { texts: { slow: "slow 1200ms" } });
lie("cuts answers at 65,535 bytes", "execute/long-text", changingText((text) => Buffer.from(text).subarray(0, 65_535).toString().replace(/\ufffd+$/, "")));
lie("normalizes characters", "execute/unicode", changingText((text) => text.normalize("NFKC")));
lie("gives the first of two tasks of a session the answer of the second", "isolation/one-session", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id");
  if (plain(x)) {
    return x.changed(({ result: given }) => {
      if (given?.status === "success") x.memory.set(`last of ${session}`, given.response_text);
    });
  }
  const last = x.memory.get(`last of ${session}`);
  return gets(x) && last !== undefined ? changingText(() => last)(x) : x.honest();
});
lie("ends a canceled task when its agent does", "second-look/canceled", where(gets, (x) => x.changed((answer) => {
  if (answer.error?.data?.reason !== "canceled") return;
  const id = x.sent.params.task_id;
  x.memory.set(id, x.memory.get(id) ?? Date.now());
  if (Date.now() - x.memory.get(id) < 900) return;
  delete answer.error;
  answer.result = { status: "success", response_text: "done after all" };
})));
lie("ends a task whose time was over when its agent does", "second-look/timed-out", where(gets, (x) => x.changed((answer) => {
  if (answer.error?.data?.reason !== "timeout" || !x.sent.params.request_id) return;
  delete answer.error;
  answer.result = { status: "success", response_text: "done after all" };
})));
lie("runs a task again whose time was over", "second-look/repeated-timeout", where((x) => executes(x) && x.sent.params?.timeout_ms === 50 && x.count(x.sent.id) > 1, (x) => success(x)));
lie("takes two answers at the same time", "question/answers-at-the-same-time", where((x) => answers(x) && x.sent.params.option_id === "no", async (x) => {
  const answer = await x.honest();
  return (await answer.clone().text()).includes("-32063") ? success(x, "done") : answer;
}));
lie("takes another option after the first", "question/other-answer", where((x) => answers(x) && x.sent.params.option_id === "no", async (x) => {
  const answer = await x.honest();
  return (await answer.clone().text()).includes("-32063") ? success(x, "done") : answer;
}));
lie("reads words as the first option", "question/free-text", where((x) => answers(x) && x.sent.params.text && x.sent.params.user_id, (x) => {
  const { sent } = x;
  const { text: _text, ...params } = sent.params;
  return x.insteadOf({ ...sent, params: { ...params, option_id: "yes" } });
}));
lie("runs a task again whose caller hung up", "idempotency/after-hanging-up", where((x) => says(/slow/)(x) && x.count(x.sent.id) > 1, ({ anew }) => anew()));
lie("runs a task whose id it knows with other content", "idempotency/files-read-once", where((x) => says(/^read files/)(x) && other(x, ({ channel }) => channel !== x.memory.get(x.sent.id).channel), async (x) => {
  await fetch(x.sent.params.attachments[0].url);
  return x.honest();
}));
lie("keeps the content that it refused", "idempotency/other-content", where((x) => plain(x) && x.sent.params.attachments && x.count(`${x.sent.id} sent`) > 6, ({ anew }) => anew()));
lie("compares bot tokens", "idempotency/changing-params", where((x) => other(x, (params) => params.bot_token), (x) => success(x)));
lie("knows requests by their session as well", "idempotency/files-read-once", where((x) => says(/^read files/)(x) && x.count(`${x.sent.id} elsewhere`) > 3, ({ anew }) => anew()));
lie("compares the names of files", "idempotency/changing-params", where((x) => executes(x) && x.sent.params.attachments?.[0]?.name === "b.txt", (x) => error(x, -32068)));
lie("offers a file of its network", "bounds/artifacts", where(plain, changing("success", (given) => (given.artifacts = [{ name: "a", url: "https://db.internal/a" }]))));
lie("offers a file of a machine without a domain", "bounds/artifacts", where(plain, changing("success", (given) => (given.artifacts = [{ name: "a", url: "https://intranet/a" }]))));
lie("wants a channel", "execute/no-channel", where((x) => executes(x) && x.sent.params?.text && x.sent.params.channel === undefined, (x) => error(x, -32602)));
lie("does not know null", "execute/unset-params", where((x) => executes(x) && x.sent.params?.thread_ts === null, (x) => error(x, -32602)));
lie("skips a byte order mark", "envelope/byte-order-mark", where((x) => x.text.startsWith("\ufeff"), (x) => error({ ...x, sent: parse(x.text.slice(1)) }, -32601)));
lie("takes the last of two keys", "envelope/repeated-key", where((x) => x.text.startsWith('{"method":"rpc.discover"'), (x) => error(x, -32601)));

// More strangers and leaks.
const decoded = (part = "") => parse(Buffer.from(part, "base64url").toString());
/** Takes the JWT itself, and what `isTaken` says of the header, the claims and the signature. */
const takingJwt = (isTaken: (header: Json, claims: Json, signature: string | undefined) => boolean): How => where((x) => {
  const [header, claims, signature] = bearer(x).split(".");
  return bearer(x) === jwt || isTaken(decoded(header), decoded(claims), signature);
}, asFirst);
lie("compares all but the last two characters", "authentication/changed-at-the-end", where((x) => bearer(x).length === token.length && bearer(x).slice(0, -2) === token.slice(0, -2), asFirst));
for (const name of ["undefined", "*", "' OR '1'='1"]) {
  const caught = { undefined: "undefined", "*": "wildcard", "' OR '1'='1": "injected" }[name];
  lie(`takes the token ${name}`, `authentication/${caught}`, where((x) => bearer(x) === name, asFirst));
}
lie("lets this machine in", "authentication/forwarded", where(({ request }) => request.headers.get("x-forwarded-for") === "127.0.0.1", asFirst));
lie("looks for the word none", "authentication/oddly-unsigned", takingJwt((header, claims) => header?.alg?.toLowerCase() === "none" && claims?.sub === "first"), { token: jwt });
lie("takes an empty signature", "authentication/without-signature", takingJwt((header, claims, signature) => header?.alg === "HS256" && claims?.sub === "first" && signature === ""), { token: jwt });
lie("reads the claims without their signature", "authentication/other-claims", takingJwt((header, claims) => header?.alg === "HS256" && claims?.sub !== undefined), { token: jwt });
lie("knows callers by their session", "authentication/own-tasks", where((x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id");
  if (bearer(x) === token && executes(x)) x.memory.set(session ?? "", 1);
  return bearer(x) === "" && executes(x) && x.memory.has(session ?? "");
}, asFirst));
lie("checks callers at one path only", "authentication/elsewhere", where((x) => x.request.url.endsWith("/invocations"), asFirst));
lie("checks callers of JSON only", "authentication/elsewhere", where(({ request }) => request.headers.get("content-type") === "text/plain", (x) => x.insteadOf(x.sent, { authorization: `Bearer ${token}`, "content-type": "application/json" })));
lie("lists its tasks to everybody", "authentication/get", (x) => {
  if (executes(x)) x.memory.set("ids", `${x.memory.get("ids") ?? ""} ${x.sent.id}`);
  return x.request.method === "GET" ? json({ tasks: x.memory.get("ids") }) : x.honest();
});
lie("reads the files of a stranger and refuses afterwards", "isolation/unknown-caller-runs-nothing", where((x) => says(/^read files/)(x) && bearer(x) === "", async (x) => {
  await fetch(x.sent.params.attachments[0].url);
  return x.honest();
}));
lie("says the token back in base64", "leaks/credentials", where(plain, changing("success", (given) => (given.trace = btoa(token)))));
lie("shows its environment beside its answers", "leaks/innards", where(plain, changing("success", (given) => (given.debug = { host: "10.0.3.17:5432" }))));
lie("keeps the texts of all in a file", "isolation/marks", where(plain, (x) => {
  x.memory.set("texts", `${x.memory.get("texts") ?? ""}\n${x.sent.params.text}`);
  return changing("success", (given) => (given.artifacts = [{ name: "log.txt", base64: Buffer.from(x.memory.get("texts")).toString("base64") }]))(x);
}));
lie("fetches files with the bot token", "leaks/credentials", where((x) => says(/^read files/)(x) && x.sent.params.bot_token && bearer(x) === token, async (x) => {
  await fetch(x.sent.params.attachments[0].url, { headers: { authorization: `Bearer ${x.sent.params.bot_token}` } });
  return x.honest();
}));

export const liars: readonly Lie[] = lies;
