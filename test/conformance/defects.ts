/** Endpoints with one defect each, for the test of the tester: the case that names a defect must fail. */
import { createPublicKey, hash, verify } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import { json, raw } from "../doubles/answers.ts";
import {
  accepted,
  answers,
  asFirst,
  bearer,
  cancels,
  changing,
  changingError,
  type Defect,
  type Exchange,
  error,
  executes,
  first,
  gets,
  type How,
  type Json,
  method,
  overlooking,
  parse,
  plain,
  refusing,
  repeated,
  result,
  rewriting,
  says,
  session,
  success,
  votes,
  where,
} from "./defect.ts";
import { askerZone, jwt, otherToken, token } from "./honest-endpoint.ts";

const slow = says(/^slow/);
const asks = says(/^ask/);
const fails = says(/^fail/);
const readsFiles = says(/^read files/);
const isSecond = (x: Exchange) => bearer(x) === otherToken;
const isNobody = ({ request }: Exchange) => request.headers.get("authorization") === null;
/** Takes tokens of which `isTaken` says so. */
const taking = (isTaken: (result: string) => boolean) =>
  where((x) => bearer(x) !== "" && isTaken(bearer(x)), asFirst);
/** Takes callers without a token that send this header with this value. */
const trusting = (header: string, value: string) =>
  where(({ request }) => request.headers.get(header) === value, asFirst);
/** Takes the JWT, and those of which `isTaken` says so. */
const takingJwt = (isTaken: (header: Json, claims: Json, signature: string) => boolean) =>
  where((x) => {
    const [header, claims, signature = ""] = bearer(x).split(".");
    const [decodedHeader, decodedClaims] = [header, claims].map((part = "") =>
      parse(Buffer.from(part, "base64url").toString()),
    );
    return bearer(x) === jwt || isTaken(decodedHeader, decodedClaims, signature);
  }, asFirst);
/** Serves strangers where the task exists. */
const servingIfFound = async (x: Exchange) => {
  const answer = await asFirst(x);
  return (await answer.clone().text()).includes('"error"') ? x.honest() : answer;
};
const withParam = (isWrong: (params: Json) => unknown) => (x: Exchange) =>
  executes(x) && x.sentRequest.params && isWrong(x.sentRequest.params);

const callers: readonly Defect[] = [
  [
    "authentication/nobody",
    "accepts votes of any caller",
    where((x) => votes(x) && isNobody(x), asFirst),
  ],
  ["authentication/wrong", "accepts any token", taking((result) => result !== otherToken)],
  [
    "authentication/truncated",
    "accepts the beginning of the token",
    taking((bearer) => token.startsWith(bearer)),
  ],
  [
    "authentication/extended",
    "accepts characters after the token",
    taking((bearer) => bearer.startsWith(token)),
  ],
  [
    "authentication/prefixed",
    "accepts characters before the token",
    taking((bearer) => bearer.endsWith(token)),
  ],
  [
    "authentication/changed",
    "compares eight characters at both ends",
    taking(
      (bearer) => bearer.slice(0, 8) + bearer.slice(-8) === token.slice(0, 8) + token.slice(-8),
    ),
  ],
  [
    "authentication/changed-at-the-end",
    "compares all but the last two characters",
    taking((bearer) => bearer.length === token.length && bearer.startsWith(token.slice(0, -2))),
  ],
  [
    "authentication/case-flipped",
    "compares without case",
    taking((bearer) => bearer.toLowerCase() === token.toLowerCase()),
  ],
  ["authentication/empty", "accepts an empty token", trusting("authorization", "Bearer")],
  ["authentication/null", "accepts the token null", taking((bearer) => bearer === "null")],
  [
    "authentication/undefined",
    "accepts the token undefined",
    taking((bearer) => bearer === "undefined"),
  ],
  ["authentication/wildcard", "accepts the token *", taking((bearer) => bearer === "*")],
  [
    "authentication/injected",
    "accepts a token with an SQL injection",
    taking((bearer) => bearer === "' OR '1'='1"),
  ],
  [
    "authentication/other-scheme",
    "accepts any Basic credentials",
    taking((bearer) => bearer.startsWith("Basic ")),
  ],
  [
    "authentication/forwarded",
    "trusts the address in a header",
    trusting("x-real-ip", "127.0.0.1"),
  ],
  [
    "authentication/named",
    "trusts the user name in a header",
    trusting("x-original-user", "admin"),
  ],
  [
    "authentication/rewritten",
    "trusts the method in a header",
    trusting("x-http-method-override", "OPTIONS"),
  ],
  [
    "authentication/unsigned",
    "accepts unsigned tokens",
    takingJwt((header) => header?.alg === "none"),
    { token: jwt },
  ],
  [
    "authentication/oddly-unsigned",
    "refuses the algorithm none only in lower case",
    takingJwt(({ alg } = {}) => alg !== "none" && alg?.toLowerCase() === "none"),
    { token: jwt },
  ],
  [
    "authentication/without-signature",
    "accepts an empty signature",
    takingJwt((header, _claims, signature) => header?.alg === "HS256" && signature === ""),
    { token: jwt },
  ],
  [
    "authentication/other-claims",
    "reads claims without their signature",
    takingJwt((header, claims) => header?.alg === "HS256" && claims?.sub !== undefined),
    { token: jwt },
  ],
  [
    "authentication/own-tasks",
    "lets any caller answer open questions",
    where((x) => answers(x) && isNobody(x), servingIfFound),
  ],
  [
    "authentication/elsewhere",
    "does not check PATCH",
    where(
      ({ request }) => request.method === "PATCH",
      (x) => x.insteadOf(x.sentRequest, { authorization: `Bearer ${token}` }),
    ),
  ],
  [
    "authentication/get",
    "lists its tasks to any caller",
    (x) => {
      if (executes(x)) x.memory.set(x.sentRequest.id, 1);
      return x.request.method === "GET" ? json([...x.memory.keys()]) : x.honest();
    },
  ],
  [
    "authentication/before-the-body",
    "parses the body before it authenticates the caller",
    refusing((x) => x.text === "{", -32700),
  ],
  [
    "isolation/unknown-caller-runs-nothing",
    "refuses an unknown caller and runs the task nevertheless",
    where(
      (x) => executes(x) && isNobody(x),
      async (x) => {
        const { attachments: _files, ...params } = x.sentRequest.params;
        await x.insteadOf({ ...x.sentRequest, params }, { authorization: `Bearer ${token}` });
        return x.honest();
      },
    ),
  ],
  [
    "isolation/another-caller-reads",
    "lets another caller hold a poll",
    where((x) => gets(x) && x.sentRequest.params.wait_ms > 0 && isSecond(x), asFirst),
  ],
  [
    "isolation/another-caller-reads-the-end",
    "shows tasks that are over to other callers",
    where((x) => gets(x) && isSecond(x), servingIfFound),
  ],
  [
    "isolation/task-of-another-caller",
    "lets the first caller cancel everything",
    where(
      (x) => cancels(x) && first(x),
      async (x) => {
        const answer = await x.honest();
        const isUnknown = (await answer.clone().text()).includes("-32061");
        return isUnknown ? x.honest({ authorization: `Bearer ${otherToken}` }) : answer;
      },
    ),
  ],
  [
    "isolation/session-of-another-caller",
    "remembers a conversation by its thread without its caller",
    where(
      (x) => plain(x) && x.sentRequest.params.thread_ts,
      (x) => {
        const { thread_ts: thread, text } = x.sentRequest.params;
        const previous = x.memory.get(thread);
        x.memory.set(thread, text);
        return rewriting((answer) => `${answer} Before that: ${previous}`)(x);
      },
    ),
  ],
  [
    "isolation/another-caller-answers",
    "lets another caller fill in a form",
    where((x) => answers(x) && x.sentRequest.params.fields && isSecond(x), asFirst),
  ],
  [
    "isolation/another-caller-repeats",
    "identifies requests by their id without their caller",
    where((x) => executes(x) && isSecond(x), asFirst),
  ],
  [
    "isolation/another-caller-votes",
    "accepts votes of other callers",
    where(
      (x) => votes(x) && isSecond(x),
      (x) => result(x, { status: "recorded", task_id: "1" }),
    ),
  ],
  [
    "isolation/files-of-another-caller",
    "keeps files under their ids for all callers",
    where(readsFiles, (x) => {
      const attachments = x.sentRequest.params.attachments?.map((file: Json) => {
        if (!x.memory.has(file.id)) x.memory.set(file.id, file);
        return x.memory.get(file.id);
      });
      return x.withParams({ attachments });
    }),
  ],
];

/** Where the endpoint errs. It says then that it failed itself, or what stands in the row. */
const requests: readonly (readonly [name: string, applies: (x: Exchange) => unknown, how?: How])[] =
  [
    ["envelope/parse-error", ({ text }) => text === '{"jsonrpc": "2.0", "id"'],
    [
      "envelope/trailing-bytes",
      ({ text }) => text.endsWith("}{}"),
      (x) => error({ ...x, sentRequest: parse(x.text.slice(0, -2)) }, -32601),
    ],
    ["envelope/empty-body", ({ text, request }) => text === "" && request.method === "POST"],
    ["envelope/utf-8", ({ text }) => text.includes('"x":"\ufffd')],
    [
      "envelope/byte-order-mark",
      ({ text }) => text.startsWith("\ufeff"),
      (x) => error({ ...x, sentRequest: parse(x.text.slice(1)) }, -32601),
    ],
    [
      "envelope/repeated-key",
      ({ text }) => text.startsWith('{"method":"rpc.discover"'),
      (x) => error(x, -32601),
    ],
    ["envelope/deep-nesting", ({ text }) => text.startsWith("[[")],
    [
      "envelope/batch",
      ({ text }) => text.startsWith("[{"),
      (x) =>
        json([{ jsonrpc: "2.0", id: x.sentRequest[0].id, error: { code: -32601, message: "no" } }]),
    ],
    ["envelope/empty-batch", ({ text }) => text === "[]", () => raw("[]")],
    ["envelope/no-object", ({ text }) => text === "42", () => new Response(null, { status: 500 })],
    ["envelope/null", ({ text }) => text === "null", () => new Response(null, { status: 500 })],
    [
      "envelope/unknown-fields",
      ({ sentRequest }) => sentRequest.x_unknown,
      (x) => error(x, -32600),
    ],
    [
      "envelope/missing-id",
      ({ sentRequest }) => sentRequest.method && sentRequest.id === undefined,
      () => new Response(null, { status: 204 }),
    ],
    [
      "envelope/null-id",
      ({ sentRequest }) => sentRequest.method && sentRequest.id === null,
      (x) => error(x, -32601),
    ],
    [
      "envelope/wrong-version",
      ({ sentRequest }) => sentRequest.jsonrpc === "1.0",
      (x) => error(x, -32601),
    ],
    [
      "envelope/missing-method",
      ({ sentRequest }) =>
        sentRequest.jsonrpc && sentRequest.id && sentRequest.method === undefined,
      (x) => error(x, -32601),
    ],
    [
      "envelope/any-id",
      ({ sentRequest }) => String(sentRequest.id).length === 128,
      (x) => x.changed((answer) => (answer.id = answer.id.slice(0, 36))),
    ],
    [
      "envelope/integer-id",
      ({ sentRequest }) => typeof sentRequest.id === "number",
      (x) => x.changed((answer) => (answer.id = String(answer.id))),
    ],
    [
      "envelope/digits-id",
      ({ sentRequest }) => sentRequest.id === "0012",
      (x) => x.changed((answer) => (answer.id = Number(answer.id))),
    ],
    [
      "errors/unknown-method",
      ({ sentRequest }) => sentRequest.method === "sekisho.no_such_method",
      (x) => error(x, "METHOD_NOT_FOUND"),
    ],
    ["errors/inherited-method", method("constructor")],
    ["errors/method-case", method("Execute_Task"), success],
    ["errors/missing-params", (x) => executes(x) && x.sentRequest.params === undefined],
    ["errors/missing-text", withParam(({ text }) => text === undefined), success],
    ["errors/params-array", withParam(Array.isArray), success],
    ["errors/wrong-type", withParam(({ text }) => text === 42), success],
    ["errors/null-text", withParam(({ text }) => text === null), success],
    ["errors/empty-text", withParam(({ text }) => text === ""), success],
    ["errors/long-text", withParam(({ text }) => text?.length > 40_000), success],
    ["errors/hostile-params", withParam(({ attachments }) => attachments === "a")],
    [
      "limits/too-large",
      (x) => x.bytes > 262_144 && !x.sentRequest.method,
      (x) => error(x, -32700),
    ],
    [
      "limits/too-large-request",
      (x) => x.bytes > 262_144 && x.sentRequest.method,
      (x) => error(x, -32601),
    ],
    ["headers/charset", ({ request }) => /charset/.test(request.headers.get("content-type") ?? "")],
    [
      "headers/json-rpc-type",
      ({ request }) => /rpc/.test(request.headers.get("content-type") ?? ""),
    ],
    ["headers/trace", ({ request }) => request.headers.has("tracestate")],
    [
      "headers/malformed-trace",
      ({ request }) => request.headers.get("traceparent") === "not-a-trace",
    ],
    ["headers/session", (x) => session(x).length === 100],
    ["https/get", ({ request }) => request.method === "GET", success],
    [
      "discover/document",
      method("rpc.discover"),
      (x) => result(x, { openrpc: "1.3.2", methods: [] }),
    ],
    ["execute/nul", withParam(({ text }) => text?.includes?.("\u0000"))],
    ["execute/context", withParam(({ context }) => context)],
    ["execute/unknown-params", withParam(({ x_unknown }) => x_unknown)],
    ["execute/largest-request", ({ bytes }) => bytes > 65_536, () => raw("", { status: 413 })],
  ];

const texts: readonly Defect[] = [
  [
    "execute/answers",
    "names the text of its answer differently",
    where(plain, (x) => result(x, { status: "success", text: "hello" })),
  ],
  [
    "execute/least-params",
    "requires a session id",
    refusing(
      (x) => plain(x) && !x.sentRequest.params.session_id && !x.sentRequest.params.x_padding,
    ),
  ],
  [
    "execute/no-channel",
    "requires a channel",
    refusing(withParam(({ text, channel }) => text && channel === undefined)),
  ],
  [
    "execute/unset-params",
    "does not know null",
    refusing(withParam(({ thread_ts }) => thread_ts === null)),
  ],
  [
    "execute/unset-members",
    "refuses an empty text in the history",
    refusing(withParam(({ history }) => history?.[0]?.ts === "")),
  ],
  [
    "execute/every-param",
    "accepts messages of the history only up to 1,000 characters",
    refusing(withParam(({ history }) => history?.[0]?.text?.length > 1000)),
  ],
  [
    "execute/attachments",
    "loses the text of a message with files",
    where(
      (x) => plain(x) && x.sentRequest.params.attachments?.length === 1,
      (x) => x.withParams({ text: "" }),
    ),
  ],
  [
    "execute/longest-lists",
    "accepts only ten attachments",
    refusing(withParam(({ attachments }) => attachments?.length > 10)),
  ],
  ["execute/unicode", "joins letters and accents", rewriting((text) => text.normalize("NFC"))],
  [
    "execute/special-characters",
    "joins lines",
    where(
      says(/שלום/),
      rewriting((text) => text.replaceAll("\r\n", "\n")),
    ),
  ],
  [
    "execute/long-text",
    "cuts answers at 65,535 bytes",
    rewriting((text) => cutBytes(text, 65_535)),
  ],
  [
    "execute/timeout-ms",
    "ignores timeout_ms",
    where(
      withParam(({ timeout_ms }) => timeout_ms === 50),
      async (x) => {
        await delay(1100);
        return success(x);
      },
    ),
  ],
  [
    "execute/every-file",
    "distinguishes files by their names only",
    where(
      (x) => readsFiles(x) && first(x) && x.sentRequest.params.attachments,
      (x) => {
        const { attachments } = x.sentRequest.params;
        const byName = new Map<string, Json>(attachments.map((file: Json) => [file.name, file]));
        return x.withParams({ attachments: [...byName.values()] });
      },
    ),
  ],
  [
    "execute/files",
    "repeats an answer without its files",
    where(
      repeated(readsFiles),
      changing("success", (result) => delete result.artifacts),
    ),
  ],
  [
    "errors/issues",
    "repeats the values of bad params",
    changingError(-32602, ({ data }, { sentRequest }) => {
      for (const issue of data.issues ?? [])
        issue.message = `is ${JSON.stringify(sentRequest.params)}`;
    }),
  ],
  ["failure/error", "breaks down with its agent", where(fails, () => raw("oops", { status: 500 }))],
  ["failure/reason", "reports already_exists when its agent fails", refusing(fails, -32068)],
  ["failure/execution-failed", "reports internal when its agent fails", refusing(fails, -32603)],
];

function cutBytes(text: string, bytes: number): string {
  return Buffer.from(text)
    .subarray(0, bytes)
    .toString()
    .replace(/\ufffd+$/, "");
}

const toQuestion = (x: Exchange) => answers(x) && x.sentRequest.params.option_id === "yes";
const toFields = (x: Exchange) => answers(x) && x.sentRequest.params.fields && first(x);
/** Lets the host take the reply for one to the question that is open. */
const withoutQuestionId = (x: Exchange) => x.withParams({ question_id: undefined });

const questions: readonly Defect[] = [
  [
    "tasks/unknown-get",
    "accepts % as the id of every task",
    where((x) => gets(x) && x.sentRequest.params.task_id === "%", success),
  ],
  [
    "tasks/unknown-cancel",
    "cancels unknown tasks",
    overlooking(-32061, cancels, () => ({ status: "canceled", task_id: "1" })),
  ],
  [
    "tasks/unknown-answer",
    "accepts replies to unknown tasks",
    overlooking(-32061, answers, () => ({ status: "success", response_text: "a" })),
  ],
  [
    "question/asks",
    "gives two options one id",
    changing("input_required", ({ options }) => (options[1].id = options[0].id)),
  ],
  [
    "question/read-again",
    "moves the end of a question at each read",
    changing("input_required", (result) => {
      result.expires_at = new Date(Date.now() + 3600_000).toISOString();
    }),
  ],
  [
    "question/bad-answers",
    "accepts an option that was not offered",
    where((x) => /-[0-9a-f]{8}$/.test(x.sentRequest.params?.option_id), accepted),
  ],
  [
    "question/another-question",
    "ignores which question a reply answers",
    overlooking(
      -32063,
      (x) => answers(x) && x.sentRequest.params.question_id,
      (x) => ({ status: "accepted", task_id: x.sentRequest.params.task_id }),
    ),
  ],
  [
    "question/answer",
    "refuses the click of a second person",
    refusing((x) => toQuestion(x) && first(x) && x.sentRequest.params.user_id, -32063),
  ],
  ["question/repeated-answer", "refuses a repeated reply", refusing(repeated(toQuestion), -32063)],
  [
    "question/goes-on",
    "repeats a question that was answered",
    (x) =>
      x.changed(({ result: bearer, error: refusal }) => {
        if (bearer?.status === "input_required") x.memory.set(bearer.task_id, bearer);
        const question = x.memory.get(x.sentRequest.params?.task_id);
        if (answers(x) && !refusal && question) question.answered = true;
        if (gets(x) && bearer && question?.answered) Object.assign(bearer, question);
      }),
  ],
  [
    "question/chosen-option",
    "gives the agent the first option instead of the chosen one",
    where(
      (x) => answers(x) && x.sentRequest.params.option_id === "no",
      (x) => x.withParams({ option_id: "yes" }),
    ),
  ],
  [
    "question/other-answer",
    "accepts another option after the first",
    overlooking(
      -32063,
      (x) => answers(x) && x.sentRequest.params.option_id === "no",
      () => ({ status: "success", response_text: "done" }),
    ),
  ],
  [
    "question/answers-at-the-same-time",
    "accepts two concurrent replies",
    overlooking(
      -32063,
      (x) => answers(x) && x.sentRequest.params.option_id === "no",
      () => ({ status: "success", response_text: "done" }),
    ),
  ],
  [
    "question/id-used-before",
    "accepts a different reply under a known id",
    where((x) => x.sentRequest.params?.text === "something else under the same id", success),
  ],
  [
    "question/canceled",
    "goes on with a canceled question",
    where(answers, (x) =>
      x.changed((answer) => {
        if (answer.error?.data?.current !== "canceled") return;
        delete answer.error;
        answer.result = { status: "success", response_text: "a" };
      }),
    ),
  ],
  [
    "question/free-text",
    "drops emoji from replies",
    where(
      (x) => answers(x) && x.sentRequest.params.text,
      (x) =>
        x.withParams({ text: x.sentRequest.params.text.replace(/[\u{10000}-\u{10ffff}]/gu, "") }),
    ),
  ],
  [
    "question/second",
    "uses a second click as the reply to the next question",
    where(
      (x) =>
        toQuestion(x) &&
        x.count(`${x.sentRequest.params.task_id} ${x.sentRequest.params.question_id}`) > 1,
      withoutQuestionId,
    ),
  ],
  [
    "question/ends-wait",
    "keeps a poll waiting when a new question is open",
    where(
      (x) => gets(x) && x.sentRequest.params.wait_ms > 100,
      async (x) => {
        const answer = await x.honest();
        await delay(5000);
        return answer;
      },
    ),
  ],
  [
    "question/fields",
    "changes the order of the fields of its form",
    where(
      gets,
      changing("input_required", ({ fields }) => fields?.reverse()),
    ),
  ],
  [
    "question/bad-fields",
    "accepts a choice twice",
    where(
      (x) =>
        toFields(x) &&
        Object.values<Json>(x.sentRequest.params.fields).some(
          (value) => Array.isArray(value) && new Set(value).size < value.length,
        ),
      accepted,
    ),
  ],
  [
    "question/names-field",
    "does not say which field is wrong",
    where(
      toFields,
      changingError(-32602, ({ data }) => delete data.issues),
    ),
  ],
  [
    "question/answers-fields",
    "gives the agent the first choice of a form",
    where(
      (x) => toFields(x) && x.sentRequest.params.fields.road === "nakasendo",
      (x) => x.withParams({ fields: { ...x.sentRequest.params.fields, road: "tokaido" } }),
    ),
  ],
  [
    "question/approvals",
    "lets one person approve for two",
    where(
      (x) => answers(x) && x.sentRequest.params.option_id === "go",
      (x) => x.withParams({ approved_by: ["U1", x.sentRequest.params.user_id] }),
    ),
  ],
  [
    "question/fields-in-words",
    "requires every field of a reply in free text",
    (x) => {
      if (says(/^ask form/)(x)) return x.changed(({ result }) => x.memory.set(result?.task_id, 1));
      const isInWords =
        answers(x) && x.sentRequest.params.text && x.memory.has(x.sentRequest.params.task_id);
      return isInWords ? error(x, -32602) : x.honest();
    },
  ],
];

/** The host's answers, in which every task that was accepted is remembered. */
const remembering = (x: Exchange, key: (taskId: string) => string = String) =>
  x.changed(({ result }) => {
    if (result?.task_id) x.memory.set(key(result.task_id), result.task_id);
  });

/** The parts of the token that says who asked. */
function readAskerToken({ request }: Exchange) {
  const token = request.headers.get(askerHeader) ?? "";
  const [header, claims] = token
    .split(".")
    .map((part) => parse(Buffer.from(part, "base64url").toString()));
  return { token, header, claims };
}
type AskerToken = ReturnType<typeof readAskerToken>;
/** Serves tasks with a token of which `isTaken` says so. */
const takingAsker = (isTaken: (token: AskerToken, x: Exchange) => unknown) =>
  where((x) => {
    const token = readAskerToken(x);
    return executes(x) && token.token !== "" && isTaken(token, x);
  }, success);
const isForOtherBody = ({ claims }: AskerToken, { text }: Exchange) =>
  claims.body_sha256 !== hash("sha256", text);
function isForged({ token, header }: AskerToken): boolean {
  const [, signature = ""] = /\.([\w-]*)$/.exec(token) ?? [];
  const signedText = Buffer.from(token.slice(0, -signature.length - 1));
  const key = { key: createPublicKey(askerZone.key), dsaEncoding: "ieee-p1363" as const };
  const isSigned = verify("sha256", signedText, key, Buffer.from(signature, "base64url"));
  return header.alg !== "none" && !isSigned;
}

const askers = (
  [
    ["asker/accepted", "takes no token", refusing(executes, -32078)],
    [
      "asker/missing",
      "breaks down without a token",
      refusing((x) => executes(x) && readAskerToken(x).token === "", -32603),
    ],
    [
      "asker/expired",
      "takes an expired token",
      takingAsker(({ claims }) => claims.exp * 1000 < Date.now()),
    ],
    [
      "asker/early",
      "takes a token of the future",
      takingAsker(({ claims }) => claims.iat * 1000 > Date.now() + 60_000),
    ],
    [
      "asker/other-audience",
      "takes a token for anybody",
      takingAsker(({ claims }) => claims.aud !== askerZone.audience),
    ],
    [
      "asker/other-issuer",
      "takes a token of any issuer",
      takingAsker(({ claims }) => claims.iss !== askerZone.issuer),
    ],
    ["asker/other-key", "verifies no signature", takingAsker(isForged)],
    [
      "asker/unsigned",
      "takes the algorithm that the token names",
      takingAsker(({ header }) => header.alg === "none"),
    ],
    ["asker/other-body", "compares no digest", takingAsker(isForOtherBody)],
    [
      "asker/replayed",
      "takes a token twice",
      takingAsker(({ claims }, x) => x.count(claims.jti) > 1),
    ],
    [
      "asker/answer",
      "verifies the token of tasks only",
      where((x) => answers(x) && isForOtherBody(readAskerToken(x), x), success),
    ],
  ] as const
).map(([name, what, how]): Defect => [name, what, how, { asker: askerZone }]);

const acceptedTasks: readonly Defect[] = [
  [
    "accepted/in-time",
    "responds neither with a result nor with accepted in time",
    where(slow, () => new Promise(() => {})),
    { callTimeoutMs: 10_000 },
  ],
  [
    "accepted/result",
    "accepts without a task id",
    where(
      executes,
      changing("accepted", (result) => delete result.task_id),
    ),
  ],
  [
    "accepted/own-ids",
    "gives all tasks one id",
    where(
      executes,
      changing("accepted", (bearer) => (bearer.task_id = "the-task")),
    ),
  ],
  [
    "accepted/by-task-id",
    "changes the task id",
    where(
      gets,
      changing("accepted", (bearer) => (bearer.task_id = "another")),
    ),
  ],
  [
    "accepted/by-request-id",
    "does not find tasks by their request id",
    refusing((x) => gets(x) && x.sentRequest.params.request_id, -32061),
  ],
  [
    "accepted/lost-response",
    "forgets a task when its caller hangs up",
    (x) => {
      if (slow(x))
        x.request.signal.addEventListener("abort", () => x.memory.set(x.sentRequest.id, 1));
      return gets(x) && x.memory.has(x.sentRequest.params.request_id)
        ? error(x, -32061)
        : x.honest();
    },
  ],
  [
    "accepted/long-poll",
    "does not know long polls",
    refusing((x) => gets(x) && x.sentRequest.params.wait_ms === 100),
  ],
  [
    "accepted/partial-text",
    "cuts the answer so far at 1,000 bytes",
    where(
      gets,
      changing("accepted", ({ progress }) => {
        if (progress?.partial_text)
          progress.partial_text = Buffer.from(progress.partial_text).subarray(0, 1000).toString();
      }),
    ),
  ],
  [
    "accepted/timeout-ms",
    "does not stop an accepted task at its deadline",
    where(
      withParam(({ timeout_ms }) => timeout_ms === 50),
      (x) => x.withParams({ timeout_ms: undefined }),
    ),
  ],
  [
    "accepted/step-ids",
    "names its steps anew at each read",
    where(gets, (x) =>
      changing("accepted", ({ progress }) => {
        for (const step of progress?.steps ?? []) step.id = `${x.count("read")}-${step.id}`;
      })(x),
    ),
  ],
  [
    "accepted/keys",
    "accepts a repeated key",
    where(
      (x) => gets(x) && x.sentRequest.params.task_id && x.sentRequest.params.request_id,
      accepted,
    ),
  ],
  [
    "cancel/running",
    "cancels another task",
    where(
      cancels,
      changing("canceled", (bearer) => (bearer.task_id = "another")),
    ),
  ],
  [
    "cancel/again",
    "cancels only once",
    refusing((x) => cancels(x) && first(x) && x.count(x.sentRequest.params.task_id) > 1, -32063),
  ],
  [
    "cancel/by-request-id",
    "accepts only short reasons",
    refusing((x) => cancels(x) && x.sentRequest.params.reason?.length > 255),
  ],
  [
    // That case gives no reason. A defect that looked at the clock would depend on the machine's speed.
    "cancel/at-once",
    "loses an early cancel, and reports that it was done",
    where(
      (x) => cancels(x) && x.sentRequest.params.request_id && !x.sentRequest.params.reason,
      (x) => result(x, { status: "canceled", task_id: x.sentRequest.params.request_id }),
    ),
  ],
  [
    "cancel/similar-ids",
    "compares the first 32 characters of a task id",
    (x) => {
      if (executes(x)) return remembering(x, (taskId) => taskId.slice(0, 32));
      const taskId = x.memory.get(String(x.sentRequest.params?.task_id).slice(0, 32));
      return taskId === undefined ? x.honest() : x.withParams({ task_id: taskId });
    },
  ],
  [
    "cancel/then-read",
    "reports a task as canceled and continues it",
    (x) => {
      if (executes(x)) return remembering(x);
      const { task_id } = x.sentRequest.params ?? {};
      const isKnown = cancels(x) && x.memory.has(task_id);
      return isKnown ? result(x, { status: "canceled", task_id }) : x.honest();
    },
  ],
  [
    "ended/success",
    "sends the response to another request",
    where(
      gets,
      changing("success", (bearer) => (bearer.correlation_id = "another")),
    ),
  ],
  [
    "ended/ends-wait",
    "holds a poll after its task ended",
    where(
      (x) => gets(x) && x.sentRequest.params.wait_ms > 100,
      async (x) => {
        const answer = await x.honest();
        await delay(6500);
        return answer;
      },
    ),
  ],
  [
    "ended/whole-text",
    "stores 50,000 bytes of a text",
    where(
      gets,
      rewriting((text) => cutBytes(text, 50_000)),
    ),
  ],
  [
    "ended/stays",
    "shows a result five times",
    // The poll that sees the end is the first read.
    where(gets, (x) => afterEnd(x, "success", 6, forget)),
  ],
  [
    "ended/cancel",
    "cancels what is over",
    overlooking(-32063, cancels, (x) => ({
      status: "canceled",
      task_id: x.sentRequest.params.task_id,
    })),
  ],
  [
    "ended/answered-at-once",
    "finds a request id only in its exact letter case",
    refusing((x) => gets(x) && /[A-F]/.test(x.sentRequest.params?.request_id), -32061),
  ],
  [
    "feedback/unknown",
    "accepts votes on unknown tasks",
    where(votes, (x) => result(x, { status: "recorded", task_id: "1" })),
  ],
  [
    "feedback/recorded",
    "counts two votes of one person",
    refusing((x) => votes(x) && x.count(x.sentRequest.params.voter_id) > 2, -32063),
  ],
  [
    "feedback/canceled",
    "accepts votes on canceled tasks",
    overlooking(-32063, votes, (x) => ({
      status: "recorded",
      task_id: x.sentRequest.params.task_id,
    })),
  ],
  [
    "feedback/bad-params",
    "accepts a vote on two tasks",
    where(
      (x) => votes(x) && x.sentRequest.params.task_id && x.sentRequest.params.request_id,
      (x) => result(x, { status: "recorded", task_id: "1" }),
    ),
  ],
];

/** Changes what is read of an ended task by its task id, from that read on. */
function afterEnd(x: Exchange, status: string, from: number, change: (answer: Json) => void) {
  return x.changed((answer) => {
    const isEnd = answer.result?.status === status || answer.error?.data?.reason === status;
    if (isEnd && x.sentRequest.params.task_id && x.count(x.sentRequest.params.task_id) >= from)
      change(answer);
  });
}

function forget(answer: Json): void {
  delete answer.result;
  answer.error = { code: -32061, message: "no" };
}

function completeAfterAll(answer: Json): void {
  delete answer.error;
  answer.result = { status: "success", response_text: "done after all" };
}

const repetitions: readonly Defect[] = [
  [
    "idempotency/same-outcome",
    "recognizes a repeated request id only in its exact letter case",
    where(
      (x) => plain(x) && /[A-F]/.test(x.sentRequest.id),
      ({ anew }) => anew(),
    ),
  ],
  [
    "idempotency/changing-params",
    "compares the names of files",
    refusing(
      withParam(({ attachments }) => attachments?.[0]?.name === "b.txt"),
      -32068,
    ),
  ],
  [
    "idempotency/other-content",
    "compares the length of texts under a known id",
    where(plain, (x) => {
      const { text } = x.memory.get(x.sentRequest.id) ?? x.sentRequest.params;
      x.memory.set(x.sentRequest.id, { text });
      return text.length === x.sentRequest.params.text.length ? x.withParams({ text }) : x.honest();
    }),
  ],
  [
    "idempotency/at-the-same-time",
    "runs concurrent copies of a request",
    where(repeated(plain), ({ anew }) => anew()),
  ],
  [
    "idempotency/not-run-again",
    "runs every copy of a request",
    where(executes, ({ anew }) => anew()),
  ],
  [
    "idempotency/accepted-twice",
    "starts a slow task twice",
    where(repeated(slow), ({ anew }) => anew()),
  ],
  [
    "idempotency/after-hanging-up",
    "runs a task again whose caller hung up",
    where(repeated(slow), ({ anew }) => anew()),
  ],
  [
    "idempotency/asking",
    "asks the question of a repeated request anew",
    where(repeated(asks), ({ anew }) => anew()),
  ],
  [
    "idempotency/files-read-once",
    "runs the agent twice and returns one result",
    where(repeated(readsFiles), async (x) => {
      await fetch(x.sentRequest.params.attachments[0].url);
      return x.honest();
    }),
  ],
  [
    "idempotency/canceled",
    "runs a canceled task again",
    overlooking(-32076, slow, () => ({ status: "accepted", task_id: "again" })),
  ],
  ["idempotency/failed", "runs a failed task again", where(repeated(fails), success)],
  [
    "idempotency/refusals-are-not-stored",
    "stores refused requests",
    (x) => {
      if (executes(x) && x.sentRequest.params && x.sentRequest.params.text === undefined)
        x.memory.set(x.sentRequest.id, 1);
      return x.memory.has(x.sentRequest.id) ? error(x, -32602) : x.honest();
    },
  ],
];

/** Answers a request with the first answer to an equal one. `nameOf` names what is compared. */
const answeringEqual = (nameOf: (params: Json) => unknown): How =>
  where(
    (x) => executes(x) && first(x) && x.sentRequest.params.thread_ts,
    async (x) => {
      const key = JSON.stringify(nameOf(x.sentRequest.params));
      const stored = x.memory.get(key);
      if (stored !== undefined && stored.id !== x.sentRequest.id)
        return result(x, { ...(await stored.answer).result, correlation_id: undefined });
      const answer: Promise<Json> = x.honest().then((response) => response.json());
      x.memory.set(key, { id: x.sentRequest.id, answer });
      return json(await answer);
    },
  );

const conversations: readonly Defect[] = [
  [
    "isolation/side-by-side",
    "keeps the text in a variable of all requests",
    where(plain, async (x) => {
      x.memory.set("text", x.sentRequest.params.text);
      await delay(20);
      return success(x, x.memory.get("text"));
    }),
  ],
  [
    "isolation/one-session",
    "gives the first of two tasks of a session the answer of the second",
    (x) => {
      if (plain(x))
        return changing("success", (result) => x.memory.set(session(x), result.response_text))(x);
      const latest = x.memory.get(session(x));
      return gets(x) && latest !== undefined ? rewriting(() => latest)(x) : x.honest();
    },
  ],
  [
    "isolation/one-thread",
    "treats an equal message as the previous one",
    answeringEqual(({ text, attachments }) => [text, attachments?.map(({ id }: Json) => id)]),
  ],
  [
    "isolation/session-of-tasks",
    "treats an equal message as the running one",
    where(
      slow,
      answeringEqual(({ text }) => text),
    ),
  ],
  [
    "isolation/session-of-questions",
    "gives an answer to the latest question of the session",
    async (x) => {
      if (asks(x)) return remembering(x, () => session(x));
      const latest = x.memory.get(session(x));
      const isToOther = answers(x) && first(x) && latest && latest !== x.sentRequest.params.task_id;
      if (isToOther) await x.withParams({ question_id: undefined, task_id: latest });
      return x.honest();
    },
  ],
  [
    "second-look/success",
    "changes a result after a while",
    where(gets, (x) =>
      afterEnd(x, "success", 7, ({ result: bearer }) => (bearer.response_text += ".")),
    ),
  ],
  [
    "second-look/canceled",
    "completes a canceled task",
    where(gets, (x) => afterEnd(x, "canceled", 2, completeAfterAll)),
  ],
  [
    "second-look/timed-out",
    "completes a task whose time was over",
    where(
      (x) => gets(x) && x.sentRequest.params.request_id,
      (x) =>
        x.changed((answer) => answer.error?.data?.reason === "timeout" && completeAfterAll(answer)),
    ),
  ],
  [
    "second-look/repeated-timeout",
    "runs a task again whose time was over",
    where(repeated(withParam(({ timeout_ms }) => timeout_ms === 50)), success),
  ],
  [
    "second-look/answered",
    "forgets after a while that a question was answered",
    where(gets, (x) =>
      x.changed(({ result: bearer }) => {
        const isEnd = bearer?.status === "success" && /Shall I go on/.test(bearer.response_text);
        if (isEnd && x.count(x.sentRequest.params.task_id) > 1)
          bearer.response_text = "It is over.";
      }),
    ),
  ],
  [
    "second-look/late-answer",
    "counts the time in which a person thinks",
    (x) => {
      const { task_id, timeout_ms } = x.sentRequest.params ?? {};
      if (asks(x) && timeout_ms)
        return x.changed(({ result }) => x.memory.set(result?.task_id, Date.now() + timeout_ms));
      return Date.now() > x.memory.get(task_id) ? error(x, -32001) : x.honest();
    },
  ],
  [
    "second-look/failed",
    "forgets a failure",
    where(
      (x) => gets(x) && first(x),
      (x) =>
        x.changed((answer) => answer.error?.data?.reason === "execution_failed" && forget(answer)),
    ),
  ],
  [
    "second-look/repeated",
    "runs a request again some seconds after its end",
    where(
      repeated((x) => plain(x) && first(x) && x.sentRequest.params.text.includes('"quoted"'), 3),
      success,
    ),
  ],
  [
    "second-look/repeated-slow",
    "runs a slow task again some seconds after its end",
    where(repeated(slow, 3), ({ anew }) => anew()),
  ],
  [
    "second-look/repeated-cancel",
    "runs a canceled task again after a while",
    where(repeated(slow, 3), ({ anew }) => anew()),
  ],
  [
    "second-look/repeated-question",
    "asks a repeated request again after its answer",
    where(repeated(asks), ({ anew }) => anew()),
  ],
  [
    "second-look/repeated-failure",
    "runs a failed task again after a while",
    where(repeated(fails, 3), success),
  ],
];

const bytes: readonly Defect[] = [
  [
    "raw/byte-order-mark",
    "begins with a byte order mark",
    (x) => x.rewritten((text) => `\ufeff${text}`),
  ],
  [
    "raw/duplicate-key",
    "writes a key twice, once with an escape",
    where(executes, (x) =>
      x.rewritten((text) =>
        text.replace('"status":"success"', '"st\\u0061tus":"accepted","status":"success"'),
      ),
    ),
  ],
  [
    "raw/half-character",
    "cuts within a character",
    where(says(/🏯/), (x) => x.rewritten((text) => text.replace("🏯", "\\ud83c"))),
  ],
  [
    "raw/content-type",
    "calls its JSON Latin-1",
    async (x) =>
      raw(await (await x.honest()).text(), {
        headers: { "content-type": "application/json; charset=iso-8859-1" },
      }),
  ],
  [
    "raw/encoding",
    "compresses a response that the client did not ask to compress",
    where(executes, async (x) => {
      const zipped = gzipSync(await (await x.honest()).text());
      return new Response(zipped, { headers: { "content-encoding": "gzip" } });
    }),
  ],
  [
    "raw/result-status",
    "sends results with HTTP 404",
    where(gets, async (x) => raw(await (await x.honest()).text(), { status: 404 })),
  ],
  [
    "raw/error-status",
    "sends errors with HTTP 400",
    async (x) => {
      const response = await x.honest();
      const text = await response.text();
      const isError = text.includes('"error"') && response.status === 200;
      return raw(text, { status: isError ? 400 : response.status });
    },
  ],
  [
    "raw/error-data",
    "marks a final failure as retryable",
    changingError(-32064, ({ data }) => (data.retryable = true)),
  ],
  [
    "raw/same-task",
    "names another task in its errors",
    changingError(-32063, ({ data }) => (data.task_id = "another")),
  ],
  [
    "isolation/marks",
    "keeps the texts of all in a file",
    where(plain, (x) => {
      x.memory.set("texts", `${x.memory.get("texts") ?? ""}\n${x.sentRequest.params.text}`);
      const base64 = Buffer.from(x.memory.get("texts")).toString("base64");
      return changing("success", (bearer) => (bearer.artifacts = [{ name: "log.txt", base64 }]))(x);
    }),
  ],
  [
    "leaks/innards",
    "shows its environment beside its answers",
    where(
      plain,
      changing("success", (bearer) => (bearer.debug = { host: "10.0.3.17:5432" })),
    ),
  ],
  [
    "leaks/credentials",
    "repeats the token in a header, percent-encoded",
    where(plain, async (x) => {
      const hex = Buffer.from(token).toString("hex");
      const answer = await x.honest();
      return raw(await answer.text(), { headers: { "x-debug": hex.replace(/../g, "%$&") } });
    }),
  ],
];

const step = { id: "a", title: "Read", status: "pending" };
/** Changes what results with this status say. */
type ChangedValue = readonly [name: string, what: string, status: string, (result: Json) => void];
const toDefect = ([name, what, status, change]: ChangedValue): Defect => [
  name,
  what,
  changing(status, change),
];

const values: readonly ChangedValue[] = [
  [
    "bounds/poll-after",
    "asks for the next poll in a year",
    "accepted",
    (result) => (result.poll_after_ms = 31_536_000_000),
  ],
  [
    "bounds/late-poll",
    "asks for polls in two minutes",
    "accepted",
    (result) => (result.poll_after_ms = 120_000),
  ],
  [
    "bounds/expires-at",
    "keeps a task for a second",
    "accepted",
    (result) => (result.expires_at = new Date(Date.now() + 1000).toISOString()),
  ],
  [
    "bounds/question-expires-at",
    "asks a question that has expired",
    "input_required",
    (bearer) => (bearer.expires_at = "2020-01-01T00:00:00Z"),
  ],
  [
    "bounds/empty-answer",
    "answers with an empty text",
    "success",
    (bearer) => (bearer.response_text = "\u200b \n"),
  ],
  [
    "bounds/result-size",
    "answers with 101 files",
    "success",
    (bearer) => (bearer.artifacts = Array(101).fill({ text: "a" })),
  ],
  [
    "bounds/artifacts",
    "answers with a file at an address of its private network",
    "success",
    (bearer) => (bearer.artifacts = [{ name: "a", url: "https://db.internal/a" }]),
  ],
  [
    "bounds/usage",
    "reports a negative token count",
    "success",
    (bearer) => (bearer.usage = { input_tokens: -5 }),
  ],
  [
    "bounds/steps",
    "shows a step twice",
    "accepted",
    (result) => (result.progress = { steps: [step, step] }),
  ],
  [
    "bounds/lists",
    "offers 101 options",
    "input_required",
    (bearer) => {
      bearer.options = Array.from({ length: 101 }, (_, id) => ({ id: String(id), label: "a" }));
    },
  ],
];

const otherValues: readonly ChangedValue[] = [
  [
    "bounds/expires-at",
    "keeps a task for ever",
    "accepted",
    (bearer) => (bearer.expires_at = "9999-12-31T23:59:59Z"),
  ],
  [
    "bounds/result-size",
    "answers with half a megabyte",
    "success",
    (bearer) => (bearer.response_text += "x".repeat(300_000)),
  ],
  [
    "bounds/steps",
    "reports a step with an unknown status",
    "accepted",
    (bearer) => (bearer.progress = { steps: [{ ...step, status: "doing" }] }),
  ],
  ...[
    ["two contents", { text: "a", base64: "YQ==" }] as const,
    ["bytes of another type", { base64: "YQ==", mimetype: "image/png" }] as const,
    ["a password", { url: "https://user:word@files.sekisho.invalid/a" }] as const,
    ["an address of plain http", { url: "http://files.sekisho.invalid/a" }] as const,
  ].map(
    ([what, artifact]): ChangedValue => [
      "bounds/artifacts",
      `answers with a file of ${what}`,
      "success",
      (result) => (result.artifacts = [artifact]),
    ],
  ),
];

const profile = "agentcore";
/** Long enough for three pings on a machine that is busy with other work. */
const whileSlow = { profile, texts: { slow: "slow 15s" } } as const;
const pings = ({ request }: Exchange) => request.url.endsWith("/ping");
/** Answers pings with this. */
const answeringPings = (value: () => object) => where(pings, () => json(value()));
const nowSeconds = () => Math.floor(Date.now() / 1000);

const agentcore: readonly Defect[] = [
  ["agentcore/ping", "is never healthy", where(pings, () => raw("ok")), { profile }],
  [
    "agentcore/ping-time",
    "has just become busy at each ping",
    answeringPings(() => ({ status: "HealthyBusy", time_of_last_update: nowSeconds() })),
    whileSlow,
  ],
  [
    "agentcore/ping-busy",
    "reports that it is busy without saying since when",
    answeringPings(() => ({ status: "HealthyBusy" })),
    whileSlow,
  ],
  [
    "agentcore/path",
    "serves another path",
    where(
      ({ request }) => request.url.endsWith("/invocations"),
      () => raw("", { status: 404 }),
    ),
    { profile, path: "/" },
  ],
  [
    "agentcore/status",
    "sends errors with HTTP 400",
    where(method("sekisho.no_such_method"), async (x) =>
      raw(await (await x.honest()).text(), { status: 400 }),
    ),
    { profile },
  ],
];

/** One defect per case, the hardest to notice. */
export const defects: readonly Defect[] = [
  ...callers,
  ...requests.map(
    ([name, applies, how = (x: Exchange) => error(x, -32603)]): Defect => [
      name,
      "handles the request of the case wrongly",
      where((x) => first(x) && applies(x), how),
    ],
  ),
  ...texts,
  ...questions,
  ...askers,
  ...acceptedTasks,
  ...repetitions,
  ...conversations,
  ...bytes,
  ...values.map(toDefect),
  ...agentcore,
];

/** Further defects, for the checks of a case that its defect in `defects` does not reach. */
export const otherDefects: readonly Defect[] = [
  [
    "authentication/elsewhere",
    "accepts a batch of requests",
    where(
      (x) => parse(x.text)?.length > 1 && isNobody(x),
      async (x) => {
        const answer = await x.insteadOf(x.sentRequest[0], { authorization: `Bearer ${token}` });
        return json([await answer.json()]);
      },
    ),
  ],
  [
    "execute/answers",
    "answers with an id that it made up",
    where(first, (x) => x.changed((answer) => (answer.id = "1"))),
  ],
  [
    "execute/attachments",
    "accepts file names only up to 100 characters",
    refusing(withParam(({ attachments }) => attachments?.[0]?.name?.length > 100)),
  ],
  [
    "execute/unicode",
    "writes question marks beyond ASCII",
    rewriting((text) => text.replace(/[\u0080-\u{10ffff}]/gu, "?")),
  ],
  [
    "execute/files",
    "stores the bytes of a file as characters",
    where(
      gets,
      changing("success", ({ artifacts = [] }) => {
        for (const file of artifacts) if (file.base64) file.base64 = asCharacters(file.base64);
      }),
    ),
  ],
  [
    "isolation/unknown-caller-runs-nothing",
    "reads the files of an unknown caller before it refuses them",
    where(
      (x) => readsFiles(x) && isNobody(x),
      async (x) => {
        await fetch(x.sentRequest.params.attachments[0].url);
        return x.honest();
      },
    ),
  ],
  ["failure/reason", "reports unavailable when its agent fails", refusing(fails, -32071)],
  ["accepted/in-time", "fails every slow task", refusing(slow, -32603)],
  [
    "question/goes-on",
    "loses a task with its answer",
    (x) => {
      if (toQuestion(x)) x.memory.set(x.sentRequest.params.task_id, 1);
      return gets(x) && x.memory.has(x.sentRequest.params.task_id) ? error(x, -32061) : x.honest();
    },
  ],
  [
    "question/answer",
    "accepts a different reply each time",
    where(toQuestion, (x) => success(x, `answer ${x.count("answers")}`)),
  ],
  [
    "question/free-text",
    "accepts only options as replies",
    refusing((x) => answers(x) && x.sentRequest.params.text && x.sentRequest.params.user_id),
  ],
  [
    "question/free-text",
    "reads any text as the first option",
    where(
      (x) => answers(x) && x.sentRequest.params.text && x.sentRequest.params.user_id,
      (x) => x.withParams({ text: undefined, option_id: "yes" }),
    ),
  ],
  [
    "question/second",
    "gives the second question of a task the id of the first",
    (x) =>
      changing("input_required", (result) => {
        const id = x.memory.get(result.task_id) ?? result.question_id;
        x.memory.set(result.task_id, id);
        result.question_id = id;
      })(x),
  ],
  [
    "question/second",
    "repeats a second question without its options",
    where(
      repeated(says(/^ask twice/)),
      changing("input_required", (result) => delete result.options),
    ),
  ],
  [
    "feedback/recorded",
    "names a task id that it made up for a vote",
    changing("recorded", (bearer) => (bearer.task_id = "another")),
  ],
  [
    "isolation/one-thread",
    "gives every message of a thread the first answer",
    answeringEqual(({ thread_ts }) => thread_ts),
  ],
  [
    "isolation/session-of-questions",
    "cancels every question of the session",
    (x) => {
      if (cancels(x) && first(x)) x.memory.set(session(x), 1);
      return gets(x) && x.memory.has(session(x)) ? error(x, -32076) : x.honest();
    },
  ],
  [
    "second-look/answered",
    "forgets an answer",
    refusing((x) => toQuestion(x) && x.count(x.sentRequest.id) > 3, -32063),
  ],
  [
    "agentcore/ping-time",
    "counts the time of its status in milliseconds",
    answeringPings(() => ({ status: "HealthyBusy", time_of_last_update: Date.now() })),
    whileSlow,
  ],
  [
    "raw/encoding",
    "redirects",
    where(executes, () => new Response(null, { status: 307, headers: { location: "/elsewhere" } })),
  ],
  [
    "raw/error-data",
    "sends a reason that contradicts its error code",
    changingError(-32601, ({ data }) => (data.reason = "internal")),
  ],
  [
    "raw/error-data",
    "asks the client to wait for a year",
    changingError(-32061, ({ data }) => (data.retry_after_ms = 31_536_000_000)),
  ],
  [
    "leaks/innards",
    "shows an error page for developers",
    where(
      ({ text }) => text === "null",
      () => new Response("<h1>NullPointerException at /srv/agent/main.py</h1>", { status: 500 }),
    ),
  ],
  [
    "leaks/credentials",
    "fetches files with the caller's token",
    where(
      (x) => readsFiles(x) && first(x),
      async (x) => {
        const headers = { authorization: `Bearer ${token}` };
        await fetch(x.sentRequest.params.attachments[0].url, { headers });
        return x.honest();
      },
    ),
  ],
  ...otherValues.map(toDefect),
];

/** What is left of bytes that were read as UTF-8, in base64. */
function asCharacters(base64: string): string {
  return Buffer.from(Buffer.from(base64, "base64").toString()).toString("base64");
}
