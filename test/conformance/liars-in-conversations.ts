// biome-ignore-all format: one lie per row
/** Endpoints that lie about several tasks of one conversation, about what they store, and to those who have other ways in. */
import { setTimeout as delay } from "node:timers/promises";
import { json } from "../doubles/answers.ts";
import { otherToken, token } from "./honest-endpoint.ts";
import {
  answers, asFirst, bearer, cancels, changing, changingError, collectLies, type Exchange, error, executes, gets, type How, type Json,
  type Lie, method, parse, plain, result, says, success, where,
} from "./lie.ts";

const { lies, lie } = collectLies();

const asks = says(/^ask/);
const first = (x: Exchange) => bearer(x) === token;
const nobody = (x: Exchange) => x.request.headers.get("authorization") === null;
const readsFiles = says(/^read files/);
/** Changes every text of the honest answer. */
const rewriting = (status: string, change: (text: string) => string): How => changing(status, (given) => Object.assign(given, { response_text: change(given.response_text) }));

// Callers.
lie("lets another caller hold a poll", "isolation/another-caller-reads", where((x) => gets(x) && x.sent.params.wait_ms > 0 && bearer(x) === otherToken, asFirst));
lie("lets another caller press a button", "isolation/another-caller-answers", where((x) => answers(x) && x.sent.params.option_id && bearer(x) === otherToken, asFirst));
lie("tells everyone who knows a request its outcome", "authentication/own-tasks", (x) => {
  if (executes(x) && first(x)) x.memory.set(x.sent.id, 1);
  return executes(x) && nobody(x) && x.memory.has(x.sent.id) ? asFirst(x) : x.honest();
});
lie("takes votes of strangers on tasks that exist", "authentication/own-tasks", where((x) => method("feedback")(x) && nobody(x), async (x) => {
  const answer = await asFirst(x);
  return (await answer.clone().text()).includes('-32061') ? x.honest() : answer;
}));
lie("checks no list", "authentication/elsewhere", where((x) => x.text.startsWith("[{") && nobody(x), async (x) => json([await (await x.insteadOf(x.sent[0], { authorization: `Bearer ${token}` })).json()])));
lie("checks no list of several requests", "authentication/elsewhere", where((x) => parse(x.text)?.length > 1 && nobody(x), async (x) => json([await (await x.insteadOf(x.sent[0], { authorization: `Bearer ${token}` })).json()])));
lie("does not check PATCH", "authentication/elsewhere", where(({ request }) => request.method === "PATCH", (x) => x.insteadOf(x.sent, { authorization: `Bearer ${token}` })));
lie("serves the path of its probe to everyone", "authentication/elsewhere", where(({ request }) => new URL(request.url).pathname === "/healthz" && request.method === "POST", (x) => success(x)));
lie("trusts the user that a proxy had before", "authentication/named", where(({ request }) => request.headers.has("x-original-user"), asFirst));
lie("lets another caller fill in a form", "isolation/another-caller-answers", where((x) => answers(x) && x.sent.params.fields && bearer(x) === otherToken, asFirst));
lie("checks POST only", "authentication/elsewhere", where(({ request }) => request.method === "PUT", (x) => x.insteadOf(x.sent, { authorization: `Bearer ${token}` })));
lie("serves its health path to everyone", "authentication/elsewhere", where(({ request }) => new URL(request.url).pathname === "/health" && request.method === "POST", (x) => success(x)));
lie("lets in who names its own address", "authentication/forwarded", where(({ request }) => request.headers.get("x-real-ip") === "127.0.0.1", asFirst));
lie("trusts the user that a proxy names", "authentication/named", where(({ request }) => request.headers.has("x-forwarded-user"), asFirst));

lie("looks for open paths where a proxy names the path", "authentication/rewritten", where(({ request }) => request.headers.get("x-original-url") === "/ping", asFirst));
lie("lets in every OPTIONS, whoever names it", "authentication/rewritten", where(({ request }) => request.headers.get("x-http-method-override") === "OPTIONS", asFirst));
lie("checks no path with a slash at its end", "authentication/elsewhere", where(({ request }) => request.url.endsWith("/invocations/"), (x) => success(x)));

// Several tasks of one conversation.
const answersByKey = (keyOf: (x: Exchange) => string | undefined): How => where((x) => executes(x) && keyOf(x) !== undefined && first(x), async (x) => {
  const key = String(keyOf(x));
  const stored = x.memory.get(key);
  if (stored !== undefined) return result(x, stored);
  const answer: Json = await (await x.honest()).json();
  if (answer.result?.status === "success") x.memory.set(key, { ...answer.result, correlation_id: undefined });
  return json(answer);
});
lie("answers a thread with its first answer", "isolation/one-thread", answersByKey((x) => x.sent.params?.thread_ts));
lie("takes a text for one that it has answered", "isolation/one-thread", answersByKey((x) => x.sent.params?.text));
lie("cancels the whole session", "isolation/session-of-tasks", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
  if (cancels(x) && first(x)) x.memory.set(session, 1);
  return gets(x) && x.memory.has(session) ? error(x, -32076) : x.honest();
});
lie("gives an answer to the latest question of the session", "isolation/session-of-questions", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
  if (asks(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(session, given.task_id));
  const latest = x.memory.get(session);
  if (!answers(x) || latest === undefined || latest === x.sent.params.task_id || !first(x)) return x.honest();
  const { question_id: _id, ...params } = x.sent.params;
  await x.insteadOf({ ...x.sent, params: { ...params, task_id: latest } });
  return x.honest();
});
lie("takes a second task of the session for the first", "isolation/session-of-tasks", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
  if (!first(x)) return x.honest();
  if (says(/^slow/)(x)) return x.changed(({ result: given }) => given?.status === "accepted" && x.memory.set(session, given.task_id));
  const { task_id, request_id } = x.sent.params ?? {};
  const latest = x.memory.get(session);
  return gets(x) && request_id && latest && task_id !== latest ? x.insteadOf({ ...x.sent, params: { task_id: latest } }) : x.honest();
});
lie("cancels every question of the session", "isolation/session-of-questions", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
  if (cancels(x) && first(x)) x.memory.set(session, 1);
  return gets(x) && x.memory.has(session) ? error(x, -32076) : x.honest();
});

/** Answers an equal request with the first answer to it. `isEqual` names what is compared. */
const answersEqual = (namesOf: (x: Exchange) => unknown): How => where((x) => executes(x) && first(x) && x.sent.params?.thread_ts, async (x) => {
  const key = JSON.stringify(namesOf(x));
  const stored = x.memory.get(key);
  if (stored !== undefined && stored.id !== x.sent.id) return result(x, (await stored.answer).result);
  const answer: Promise<Json> = x.honest().then((response) => response.json());
  x.memory.set(key, { id: x.sent.id, answer: answer.then((all) => all.result && { result: { ...all.result, correlation_id: undefined } }) });
  return json(await answer);
});
lie("takes an equal message for the one before", "isolation/one-thread", answersEqual(({ sent: { params } }) => [params.text, params.attachments?.map(({ id }: Json) => id)]));
lie("takes an equal message for the one that runs", "isolation/session-of-tasks", where(says(/^slow/), answersEqual(({ sent: { params } }) => [params.text])));
lie("remembers a conversation under its thread alone", "isolation/session-of-another-caller", where((x) => plain(x) && x.sent.params.thread_ts, async (x) => {
  const thread = x.sent.params.thread_ts;
  const before = x.memory.get(thread) ?? "";
  x.memory.set(thread, x.sent.params.text);
  return rewriting("success", (text) => `${text} Before that: ${before}`)(x);
}));
lie("takes a message for an answer where its session has an open question", "isolation/session-of-questions", async (x) => {
  const session = x.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id") ?? "";
  const open = x.memory.get(session);
  if (asks(x) && first(x) && open !== undefined) {
    const answer: Json = await (await x.insteadOf({ ...x.sent, method: "answer_task", params: { task_id: open, text: x.sent.params.text } })).json();
    delete answer.result?.correlation_id;
    return json(answer);
  }
  return asks(x) ? x.changed(({ result: given }) => given?.task_id && x.memory.set(session, given.task_id)) : x.honest();
});
lie("busies a thread with its first task", "isolation/one-thread", where((x) => executes(x) && first(x) && x.sent.params?.thread_ts && x.count(x.sent.params.thread_ts) > 1, (x) => error(x, -32063)));

// Questions.
lie("forgets an open question after a second", "second-look/late-answer", (x) => {
  if (asks(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id, Date.now() + 1000));
  return gets(x) && Date.now() > x.memory.get(x.sent.params.task_id) ? error(x, -32061) : x.honest();
});
lie("counts the time in which a person thinks", "second-look/late-answer", (x) => {
  if (asks(x) && x.sent.params.timeout_ms) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id, Date.now() + x.sent.params.timeout_ms));
  return (gets(x) || answers(x)) && Date.now() > x.memory.get(x.sent.params.task_id) ? error(x, -32001) : x.honest();
});
lie("takes a second click for the answer to the next question", "question/second", where((x) => answers(x) && first(x) && x.sent.params.option_id && x.count(`${x.sent.params.task_id} ${x.sent.params.question_id}`) > 1, (x) => {
  const { question_id: _id, ...params } = x.sent.params;
  return x.insteadOf({ ...x.sent, params });
}));
lie("repeats a second question without its options", "question/second", where(says(/^ask twice/), (x) => x.count(x.sent.id) < 2 ? x.honest() : changing("input_required", (given) => delete given.options)(x)));
lie("finds a task that asks by its own id only", "question/read-again", where((x) => gets(x) && x.sent.params.request_id, (x) => x.changed((answer) => {
  if (answer.result?.status !== "input_required") return;
  delete answer.result;
  answer.error = { code: -32061, message: "no" };
})));
lie("refuses the click of a second person", "question/answer", where((x) => answers(x) && first(x) && x.sent.params.option_id && x.sent.params.user_id, (x) => error(x, -32063)));
lie("cuts replies at 30,000 bytes", "question/free-text", where(answers, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, ...(x.sent.params.text && { text: Buffer.from(x.sent.params.text).subarray(0, 30_000).toString() }) } })));
lie("gives a late reply to the next question", "question/second", where((x) => answers(x) && first(x), (x) => {
  const { question_id: _id, ...params } = x.sent.params;
  return x.insteadOf({ ...x.sent, params });
}));
lie("loses the id of a second question at a read", "question/second", (x) => changing("input_required", (given) => {
  const stored = x.memory.get(given.task_id) ?? given.question_id;
  x.memory.set(given.task_id, stored);
  if (gets(x) && stored !== given.question_id) delete given.question_id;
})(x));
lie("has one id for all questions of a task", "question/second", changing("input_required", (given) => (given.question_id = `q-${given.task_id}`)));
lie("waits on when there is another question", "question/ends-wait", where((x) => gets(x) && x.sent.params.wait_ms > 100, async (x) => {
  const answer = await x.honest();
  await delay(5000);
  return answer;
}));
lie("forgets at a read that credentials are missing", "question/read-again", (x) => changing("input_required", (given) => Object.assign(given, !gets(x) && { kind: "auth" }))(x));
lie("moves the end of a question at each read", "question/read-again", changing("input_required", (given) => (given.expires_at = new Date(Date.now() + 3600_000).toISOString())));
lie("cuts replies at 255 characters", "question/free-text", where(answers, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, ...(x.sent.params.text && { text: x.sent.params.text.slice(0, 255) }) } })));
lie("drops emoji from replies", "question/free-text", where(answers, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, ...(x.sent.params.text && { text: x.sent.params.text.replace(/[\u{10000}-\u{10ffff}]/gu, "") }) } })));
const withField = (isWrong: (value: Json) => boolean) => (x: Exchange) => answers(x) && first(x) && Object.values(x.sent.params.fields ?? {}).some(isWrong);
lie("takes no greatest number", "question/answers-fields", where(withField((value) => value === 20), (x) => error(x, -32602)));
lie("knows no leap days", "question/answers-fields", where(withField((value) => /02-29$/.test(value)), (x) => error(x, -32602)));
lie("gives the agent the first choice of a form", "question/answers-fields", where((x) => answers(x) && x.sent.params.fields?.road === "nakasendo", (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, fields: { ...x.sent.params.fields, road: "tokaido" } } })));
lie("takes a choice twice", "question/bad-fields", where(withField((value) => Array.isArray(value) && new Set(value).size < value.length), (x) => result(x, { status: "accepted", task_id: x.sent.params.task_id })));

// Stores.
lie("stores 65,535 bytes of a text", "question/goes-on ended/whole-text", where(gets, rewriting("success", (text) => Buffer.from(text).subarray(0, 50_000).toString())));
lie("loses the text of a message with files", "execute/attachments", where((x) => plain(x) && x.sent.params.attachments?.length === 1, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, text: "" } })));
lie("takes names of files of 100 characters", "execute/attachments", where((x) => executes(x) && x.sent.params?.attachments?.[0]?.name?.length > 100, (x) => error(x, -32602)));
lie("takes messages of the history of 1,000 characters", "execute/every-param", where((x) => executes(x) && x.sent.params?.history?.[0]?.text?.length > 1000, (x) => error(x, -32602)));
lie("gives the agent the first file only", "execute/every-file", where((x) => readsFiles(x) && x.sent.params.attachments?.length > 1, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, attachments: x.sent.params.attachments.slice(0, 1) } })));
lie("cuts the answer so far within a character", "accepted/partial-text", where(gets, changing("accepted", (given) => {
  const { partial_text: text } = given.progress ?? {};
  if (text) given.progress.partial_text = Buffer.from(`${text}関`).subarray(0, -1).toString();
})));
lie("names its steps anew at each read", "accepted/step-ids", where(gets, (x) => changing("accepted", (given) => {
  for (const step of given.progress?.steps ?? []) step.id = `${x.count("read")}-${step.id}`;
})(x)));
lie("holds a poll beyond the end of its task", "ended/ends-wait", where((x) => gets(x) && x.sent.params.wait_ms > 100, async (x) => {
  const answer = await x.honest();
  await delay(6500);
  return answer;
}));
lie("tells files apart by their names", "execute/every-file", where((x) => readsFiles(x) && first(x), (x) => {
  const files = [...new Map(x.sent.params.attachments?.map((file: Json) => [file.name, file])).values()];
  return x.insteadOf({ ...x.sent, params: { ...x.sent.params, ...(files.length > 0 && { attachments: files }) } });
}));
lie("shows a wait the first question of a task for ever", "question/second", (x) => changing("input_required", (given) => {
  const stored = x.memory.get(given.task_id) ?? { ...given };
  x.memory.set(given.task_id, stored);
  if (gets(x) && x.sent.params.wait_ms) Object.assign(given, stored);
})(x));
lie("takes a sign for every task", "tasks/unknown-get", where((x) => gets(x) && x.sent.params.task_id === "%", (x) => success(x)));
lie("takes short reasons only", "cancel/by-request-id", where((x) => cancels(x) && x.sent.params.reason?.length > 255, (x) => error(x, -32602)));
lie("finds a request in the case of its letters only", "ended/answered-at-once", where((x) => gets(x) && /[A-F]/.test(x.sent.params?.request_id), (x) => error(x, -32061)));
lie("knows a request by the case of its letters", "idempotency/same-outcome", where((x) => plain(x) && /[A-F]/.test(x.sent.id), ({ anew }) => anew()));
lie("compares the workspace", "idempotency/changing-params", where((x) => executes(x) && x.sent.params?.team_id && x.sent.params.history && x.sent.params.attachments, (x) => error(x, -32068)));
lie("joins letters and accents", "execute/unicode", rewriting("success", (text) => text.normalize("NFC")));
lie("forgets after a while what was answered", "second-look/answered", where(gets, (x) => x.changed((answer) => {
  if (answer.result?.status === "success" && x.count(`${x.sent.params.task_id} read`) > 1 && /Shall I go on/.test(answer.result.response_text)) answer.result.response_text = "It is over.";
})));
const breaking: How = changing("success", (given) => {
  for (const file of given.artifacts ?? []) if (file.base64) file.base64 = Buffer.from(Buffer.from(file.base64, "base64").toString()).toString("base64");
});
lie("sends the bytes of a file as characters", "bounds/artifacts", breaking);
lie("stores the bytes of a file as characters", "execute/files", where(gets, breaking));
lie("tells no files by the request's id", "execute/files", where((x) => gets(x) && x.sent.params.request_id, changing("success", (given) => delete given.artifacts)));
lie("repeats an answer without its files", "execute/files", where((x) => readsFiles(x) && x.count(x.sent.id) > 1, changing("success", (given) => delete given.artifacts)));

// What no default run noticed before.
lie("does not stop what it has accepted when its time is over", "accepted/timeout-ms", where((x) => executes(x) && x.sent.params?.timeout_ms === 50, (x) => x.insteadOf({ ...x.sent, params: { ...x.sent.params, timeout_ms: undefined } })));
lie("takes no null in an attachment", "execute/unset-members", where((x) => executes(x) && x.sent.params?.attachments?.some((file: Json) => file.sha256 === null), (x) => error(x, -32602)));
lie("takes no empty text in the history", "execute/unset-members", where((x) => executes(x) && x.sent.params?.history?.[0]?.ts === "", (x) => error(x, -32602)));
lie("cuts the answer so far at 1,000 bytes", "accepted/partial-text", where(gets, changing("accepted", (given) => {
  const { partial_text: text } = given.progress ?? {};
  if (text) given.progress.partial_text = Buffer.from(text).subarray(0, 1000).toString();
})));
// The case that cancels early gives no reason. A lie that looked at the clock would depend on the machine's speed.
lie("loses an early cancel, and says that it was done", "cancel/at-once", where((x) => cancels(x) && x.sent.params.request_id && !x.sent.params.reason, (x) => result(x, { status: "canceled", task_id: x.sent.params.request_id })));
lie("answers a task that was canceled at once when its agent is done", "second-look/canceled", where(gets, (x) => x.changed((answer) => {
  if (answer.error?.data?.reason !== "canceled" || x.count(x.sent.params.request_id ?? "") < 2 || x.sent.params.task_id) return;
  delete answer.error;
  answer.result = { status: "success", response_text: "done after all" };
})));
lie("compares the first 32 characters of a task id", "cancel/similar-ids", async (x) => {
  if (executes(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id.slice(0, 32), given.task_id));
  const taskId = x.memory.get(String(x.sent.params?.task_id).slice(0, 32));
  return taskId === undefined ? x.honest() : x.insteadOf({ ...x.sent, params: { ...x.sent.params, task_id: taskId } });
});
lie("cancels the task whose id begins like that", "cancel/similar-ids", async (x) => {
  if (executes(x)) return x.changed(({ result: given }) => given?.task_id && x.memory.set(given.task_id, 1));
  const asked = String(x.sent.params?.task_id);
  const taskId = [...x.memory.keys()].find((one) => one.startsWith(asked));
  return cancels(x) && taskId !== undefined ? x.insteadOf({ ...x.sent, params: { ...x.sent.params, task_id: taskId } }) : x.honest();
});
lie("keeps files under their ids for all callers", "isolation/files-of-another-caller", where(readsFiles, (x) => {
  const attachments = x.sent.params.attachments?.map((file: Json) => {
    if (!x.memory.has(file.id)) x.memory.set(file.id, file);
    return x.memory.get(file.id);
  });
  return x.insteadOf({ ...x.sent, params: { ...x.sent.params, attachments } });
}));

// Ids, marks and secrets in other places.
lie("names somebody's request in its errors", "raw/same-task", (x) => {
  if (plain(x)) x.memory.set("id", x.sent.id);
  return changingError(-32068, (given) => (given.data.correlation_id = x.memory.get("id") ?? "none"))(x);
});
lie("names another task where the caller's is canceled", "raw/same-task", changingError(-32076, (given) => (given.data.task_id = "00000000-0000-4000-8000-000000000000")));
const header = (x: Exchange, value: string) => x.honest().then(async (answer) => new Response(await answer.text(), { status: answer.status, headers: { "content-type": "application/json", "x-debug": value } }));
lie("says the token back in a header, percent-encoded", "leaks/credentials", (x) => first(x) ? header(x, encodeURIComponent(token).replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)) : x.honest());
lie("tells the text of another task in a header", "isolation/marks", (x) => {
  const text = x.memory.get("text") ?? "";
  if (plain(x)) x.memory.set("text", x.sent.params.text);
  return plain(x) ? header(x, encodeURIComponent(text)) : x.honest();
});
lie("asks for polls in two minutes", "bounds/late-poll", changing("accepted", (given) => (given.poll_after_ms = 120_000)));

export const liarsInConversations: readonly Lie[] = lies;
