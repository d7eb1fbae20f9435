/** Cases that sum up: they judge the bytes, the status and the texts of every answer of the run. */
import { listErrorCodes } from "@sekisho/contracts/dialects.ts";
import { reasonSchema } from "@sekisho/contracts/error-data.ts";
import { isRetryable } from "@sekisho/contracts/errors.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { hasReason, isSet, readPeerError, readPeerResult } from "../expect.ts";
import { findLeak } from "../leaks.ts";
import { listForms, maskTokens } from "../mask.ts";
import { markPattern, type Observation, type PeerAnswer } from "../peer.ts";
import { listStrings, type RawProblem } from "../raw-json.ts";
import { botToken } from "./execute.ts";

type Judge = (observation: Observation, run: CaseRun) => string | undefined;
type Sum = Omit<ConformanceCase, "check" | "sumsUp"> & { judge: Judge };

/** Fails with the first answer that `judge` objects to. */
function sumUp({ judge, ...sum }: Sum): ConformanceCase {
  return {
    ...sum,
    sumsUp: true,
    async check(run) {
      const answers = run.observations.filter(({ answer }) => answer.failure === undefined);
      for (const observation of answers) {
        const problem = judge(observation, run);
        if (problem === undefined) continue;
        run.step(`${observation.caseName}, ${observation.method ?? "a body that is no Request"}`);
        throw new Deviation(`${observation.answer.came}; ${problem}`);
      }
      const isRead = answers.some(({ answer }) => answer.response !== undefined);
      if (!isRead) throw new NotApplicable("no JSON-RPC answer came");
      return `${answers.length} answers, none of which breaks this`;
    },
  };
}

function raw(problem: RawProblem, expects: string, says: string, advice: string): ConformanceCase {
  return sumUp({
    name: `raw/${problem}`,
    level: "required",
    section: "Transport",
    expects,
    advice,
    judge: ({ answer }) =>
      answer.json !== undefined && answer.problems.includes(problem) ? says : undefined,
  });
}

const isResult = (answer: PeerAnswer) => readPeerResult(answer) !== undefined;
const jsonType = /^application\/(([a-z0-9.-]+\+)?json|json-rpc)\s*(;\s*charset="?utf-?8"?\s*)?$/i;
/** The statuses of errors, beside 200, that say the same as the error. */
const statuses = {
  401: ["unauthenticated"],
  403: ["permission_denied", "asker_unverified"],
  413: ["payload_too_large"],
  429: ["rate_limited"],
  503: ["unavailable"],
} as const;

export const rawCases: readonly ConformanceCase[] = [
  raw(
    "byte-order-mark",
    "no answer begins with a byte order mark",
    "it begins with a byte order mark",
    "Write UTF-8 without a byte order mark (RFC 8259, section 8.1).",
  ),
  raw(
    "duplicate-key",
    "no object in an answer has the same key twice",
    "an object in it has the same key twice",
    "Write each key once. Readers differ in which of them they take.",
  ),
  raw(
    "half-character",
    "no text in an answer holds half a character",
    "a text in it holds half a surrogate pair",
    "Cut texts between characters, not within one.",
  ),
  sumUp({
    name: "raw/content-type",
    level: "required",
    section: "Transport",
    expects: "every JSON-RPC answer has the content type application/json in UTF-8, or none",
    advice: "Send content-type: application/json. The Verification zone reads no other.",
    judge({ answer: { response, headers } }, { peer }) {
      const type = headers?.["content-type"];
      if (response === undefined || !type || jsonType.test(type.trim())) return undefined;
      return `its content type is ${maskTokens(type, peer.sentTokens()).slice(0, 80)}`;
    },
  }),
  sumUp({
    name: "raw/encoding",
    level: "required",
    section: "Transport",
    expects: "no answer is compressed or redirected",
    advice:
      "Send plain bytes: the request says accept-encoding: identity. Serve the contract at the address itself.",
    judge({ answer: { headers, status = 200 } }) {
      const encoding = headers?.["content-encoding"]?.toLowerCase() ?? "identity";
      if (encoding !== "identity") return `it is compressed (${encoding.slice(0, 20)})`;
      return status >= 300 && status < 400 ? "it is a redirect" : undefined;
    },
  }),
  sumUp({
    name: "raw/result-status",
    level: "required",
    section: "Envelope",
    expects: "every result has an HTTP status of success",
    advice:
      "Send results with HTTP 200. Proxies and AgentCore replace the body of an error status.",
    judge({ answer }) {
      return isResult(answer) && (answer.status ?? 200) >= 300
        ? "a result came with an HTTP status of failure"
        : undefined;
    },
  }),
  sumUp({
    name: "raw/error-status",
    level: "strict",
    profile: "https",
    section: "Dialects",
    expects: "errors have HTTP 200; or 401, 403, 413, 429 and 503 where the error says the same",
    advice: "Send errors of the application with HTTP 200.",
    judge({ answer }) {
      const { response, status, dialect } = answer;
      if (status === undefined || status === 200 || response === undefined || dialect === "vapora")
        return undefined;
      const reasons = statuses[status as keyof typeof statuses] ?? [];
      return "error" in response && !hasReason(answer, reasons)
        ? `the error has HTTP status ${status}`
        : undefined;
    },
  }),
  sumUp({
    name: "agentcore/status",
    level: "required",
    profile: "agentcore",
    section: "Transport",
    expects: "every answer of POST /invocations has HTTP 200, errors included",
    advice:
      "Send every JSON-RPC answer with HTTP 200. AgentCore replaces the body of any other status.",
    judge: ({ answer: { response, status } }) =>
      response !== undefined && status !== undefined && status !== 200
        ? `it has HTTP status ${status}`
        : undefined,
  }),
  sumUp({
    name: "raw/error-data",
    level: "required",
    section: "Data of an error",
    expects:
      "data of every error agrees with its number: reason, retryable, and a retry_after_ms of at most 15 minutes",
    advice:
      "Take reason and retryable from the tables of the contract. retryable: true makes the Verification zone repeat the task.",
    // Another path may speak another dialect.
    judge: ({ answer, path }) => (path === undefined ? judgeErrorData(answer) : undefined),
  }),
  sumUp({
    name: "raw/same-task",
    level: "required",
    section: "Envelope",
    expects: "every answer that names a task names the one that was asked about",
    advice: "Put the task_id of the request's task into its answer, or none.",
    judge(observation, run) {
      const { response } = observation.answer;
      const resultOrData = Object(
        response !== undefined && "error" in response ? response.error.data : response?.result,
      );
      const { taskId, correlationId } = findTask(observation, run.observations);
      const isOther = (name: unknown, expectedId: string | undefined) =>
        typeof name === "string" &&
        expectedId !== undefined &&
        name.toLowerCase() !== expectedId.toLowerCase();
      const isOtherTask =
        isOther(resultOrData.task_id, taskId) ||
        isOther(resultOrData.correlation_id, correlationId);
      return isOtherTask ? "it names another task" : undefined;
    },
  }),
  sumUp({
    name: "isolation/marks",
    level: "required",
    section: "Sessions",
    expects: "no answer holds the mark of a text that was sent in another session",
    advice:
      "Keep nothing of a task where another task can see it. Keep memory under the caller and the session id.",
    judge({ sessionId, params, answer }, run) {
      const marks = listMarks(answer);
      const own = String(Object(params).text);
      const isForeign = marks.some(
        (mark) => !own.includes(mark) && (run.findMark(mark) ?? sessionId) !== sessionId,
      );
      return isForeign ? "it holds the text of another task" : undefined;
    },
  }),
];

type Ids = { taskId: string | undefined; correlationId: string | undefined };

/** The task that a request is about, by its own `task_id` or by what the run has seen of its request id. */
function findTask(observation: Observation, observations: readonly Observation[]): Ids {
  const { method, params, as, answer } = observation;
  const { task_id: askedTaskId, request_id: requestId } = Object(params);
  const isExecute = method === "execute_task";
  const executions = observations.filter(
    (one) => one.method === "execute_task" && one.as === as && one.answer.response,
  );
  const key = isExecute ? answer.id : requestId;
  const isStart = (one: Observation) =>
    key === undefined
      ? readTaskId(one) === askedTaskId
      : one.answer.id === key && readTaskId(one) !== undefined;
  const start = executions.find(isStart);
  const { correlation_id: correlationId = isExecute ? key : start?.answer.id } = Object(
    (isExecute ? observation : start)?.params,
  );
  return {
    taskId: typeof askedTaskId === "string" ? askedTaskId : start && readTaskId(start),
    correlationId: typeof correlationId === "string" ? correlationId : undefined,
  };
}

function readTaskId({ answer }: Observation): string | undefined {
  const { task_id } = Object(readPeerResult(answer));
  return typeof task_id === "string" ? task_id : undefined;
}

function listMarks(answer: PeerAnswer): readonly string[] {
  return readEverything(answer).match(markPattern) ?? [];
}

const everything = new WeakMap<PeerAnswer, string>();

/** The body and the headers, and what they hold in percent-encoding, base64 or hexadecimal digits. */
function readEverything(answer: PeerAnswer): string {
  const text =
    everything.get(answer) ??
    decodeParts(`${Buffer.from(answer.body)}\n${JSON.stringify(answer.headers ?? {})}`);
  everything.set(answer, text);
  return text;
}

function decodeParts(text: string): string {
  const plain = text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll("%", ""), "hex").toString(),
  );
  const encodedTexts = plain.match(/[\w+/-]{20,}/g) ?? [];
  const decodedTexts = encodedTexts.flatMap((run) => [
    Buffer.from(run, "base64").toString("latin1"),
    ...(/^[0-9a-f]+$/i.test(run) ? [Buffer.from(run, "hex").toString("latin1")] : []),
  ]);
  return [text, plain, ...decodedTexts].join("\n");
}

function judgeErrorData(answer: PeerAnswer): string | undefined {
  const error = readPeerError(answer);
  const { data } = error ?? {};
  if (error === undefined || typeof data !== "object" || data === null || Array.isArray(data))
    return undefined;
  const { reason, retryable, retry_after_ms: afterMs } = data as Record<string, unknown>;
  const knownReason = reasonSchema.safeParse(reason).data;
  if (reason !== undefined && typeof reason !== "string") return "data.reason is no text";
  if (
    knownReason !== undefined &&
    !listErrorCodes({ reason: knownReason, dialect: answer.dialect }).includes(error.code)
  ) {
    return `data.reason says ${knownReason}, and the number ${error.code} something else`;
  }
  if (retryable !== undefined && typeof retryable !== "boolean")
    return "data.retryable is no boolean";
  if (retryable === true && knownReason !== undefined && !isRetryable(knownReason))
    return `${knownReason} is said to be retryable`;
  if (isSet(afterMs) && !isWithin(afterMs, { min: 0, max: maxPollAfterMs })) {
    return "data.retry_after_ms is no integer from 0 to 15 minutes";
  }
  return undefined;
}

/** The longest wait that the Verification zone obeys. */
export const maxPollAfterMs = 15 * 60_000;

export function isWithin(value: unknown, { min, max }: { min: number; max: number }): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

export const leakCases: readonly ConformanceCase[] = [
  sumUp({
    name: "leaks/innards",
    level: "leak",
    section: "Envelope",
    expects:
      "no error holds a stack trace, a path, SQL, the environment or an address inside your network",
    advice:
      "Send a fixed text per reason, never the text of an exception. Turn off the debug pages of your framework.",
    judge({ answer, params }, { texts }) {
      // An agent that was made to fail has nothing to say but that.
      const isFailure = String(Object(params).text).startsWith(texts.fail);
      const receivedTexts = listErrorTexts(answer).concat(
        isFailure ? listResultTexts(answer) : listUnknownTexts(answer),
      );
      const what = receivedTexts.map(findLeak).find((leak) => leak !== undefined);
      return what === undefined ? undefined : `it reveals ${what}`;
    },
  }),
  sumUp({
    name: "leaks/credentials",
    level: "leak",
    section: "Transport",
    expects:
      "no answer holds the caller's token or the bot token, and no file is fetched with them",
    advice:
      "Never write headers or bot_token into answers, and send no credentials to the addresses of files.",
    judge({ answer }, run) {
      const secrets = [...run.peer.secrets(), botToken].flatMap(listForms);
      const text = readEverything(answer);
      if (secrets.some((secret) => text.includes(secret)))
        return "it holds a token that the endpoint was given";
      const reads = decodeParts(run.files?.reads().join("\n") ?? "");
      return secrets.some((secret) => reads.includes(secret))
        ? "a file was fetched with a token"
        : undefined;
    },
  }),
];

function listResultTexts(answer: PeerAnswer): string[] {
  return listStrings(readPeerResult(answer));
}

/** The texts in members of a result that the contract does not know. */
function listUnknownTexts(answer: PeerAnswer): string[] {
  const result = readPeerResult(answer);
  if (typeof result !== "object" || result === null) return [];
  const unknown = Object.entries(result).filter(([name]) => !knownMembers.has(name));
  return listStrings(Object.fromEntries(unknown));
}

const knownMembers: ReadonlySet<string> = new Set([
  ...[
    "status",
    "task_id",
    "correlation_id",
    "response_text",
    "artifacts",
    "file_artifact",
    "usage",
    "metadata",
  ],
  ...[
    "poll_after_ms",
    "expires_at",
    "progress",
    "prompt",
    "options",
    "fields",
    "question_id",
    "kind",
  ],
  ...["error_code", "error_message", "openrpc", "info", "methods", "components"],
]);

/** Answers of agents may hold anything. What an endpoint says of its own may not. */
function listErrorTexts(answer: PeerAnswer): string[] {
  const { response, json, body, status = 200 } = answer;
  const error = readPeerError(answer);
  if (error !== undefined) return listStrings([error.message, error.data]);
  if (response !== undefined && "result" in response) {
    const { status, error_message: message } = Object(response.result);
    return status === "error" ? listStrings([message]) : [];
  }
  if (json !== undefined) return listStrings(json);
  return status >= 400 || body.byteLength > 0
    ? [Buffer.from(body.subarray(0, 65_536)).toString()]
    : [];
}
