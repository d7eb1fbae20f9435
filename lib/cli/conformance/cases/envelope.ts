/** Cases of one body that the peer has to refuse: what is a Request, which error it gets, and which id the answer has. */
import { randomUUID } from "node:crypto";
import type { RequestId } from "../../../../contracts/envelope.ts";
import type { Reason } from "../../../../contracts/errors.ts";
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import { type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, hasReason, readPeerError } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";
import { channel, runTask } from "../run-task.ts";

type Refusal = {
  name: string;
  level?: ConformanceCase["level"];
  /** What is refused, for a person. */
  of: string;
  /** The error, for a person. */
  says: string;
  reason: Reason | readonly Reason[];
  /** The id of the answer. It is null where the peer cannot know the id. */
  ids?: "null" | "own" | "either";
  id?: RequestId;
  body: (id: RequestId) => PeerRequest["body"];
};

function refusal({
  name,
  level = "required",
  of,
  says,
  reason,
  ids = "null",
  body,
  ...given
}: Refusal): ConformanceCase {
  return {
    name,
    level,
    expects: `${of}: ${says}`,
    async check({ peer }) {
      const id = given.id ?? randomUUID();
      const answer = await peer.send({ id, body: body(id) });
      return expectError(answer, [reason].flat(), { null: [null], own: [id], either: [null, id] }[ids]);
    },
  };
}

const method = "sekisho.no_such_method";
const request = (over: object) => JSON.stringify({ jsonrpc: "2.0", method, ...over });
const execute = (params: unknown) => (id: RequestId) => request({ id, method: "execute_task", params });
const noRequest = { reason: "invalid_request", says: "error -32600 with id null" } as const;
const noJson = { reason: "parse_error", says: "error -32700 with id null" } as const;
const badParams = { reason: "invalid_params", says: "error -32602 with the id that was sent", ids: "own" } as const;
const nestedDeep = 50_000;

export const envelopeCases: readonly ConformanceCase[] = [
  refusal({
    name: "envelope/parse-error",
    of: "JSON that breaks off",
    ...noJson,
    body: () => '{"jsonrpc": "2.0", "id"',
  }),
  refusal({ name: "envelope/empty-body", level: "optional", of: "an empty body", ...noJson, body: () => "" }),
  refusal({
    name: "envelope/utf-8",
    level: "optional",
    of: "a body that is not UTF-8",
    ...noJson,
    body: (id) => {
      const head = `{"jsonrpc":"2.0","method":"${method}","id":"${id}","x":"`;
      return Buffer.concat([Buffer.from(head), Buffer.from([0xff]), Buffer.from('"}')]);
    },
  }),
  refusal({
    name: "envelope/deep-nesting",
    level: "optional",
    of: `an array ${nestedDeep} levels deep`,
    reason: ["parse_error", "invalid_request"],
    says: "error -32700 or -32600 with id null",
    body: () => "[".repeat(nestedDeep) + "]".repeat(nestedDeep),
  }),
  refusal({
    name: "envelope/batch",
    of: "an array of Requests",
    ...noRequest,
    body: (id) => `[${request({ id })}]`,
  }),
  refusal({ name: "envelope/no-object", of: "a number", ...noRequest, body: () => "42" }),
  refusal({ name: "envelope/missing-id", of: "a Request without id", ...noRequest, body: () => request({}) }),
  refusal({
    name: "envelope/wrong-version",
    of: 'a Request whose jsonrpc is "1.0"',
    reason: "invalid_request",
    says: "error -32600",
    ids: "either",
    body: (id) => request({ jsonrpc: "1.0", id }),
  }),
  refusal({
    name: "envelope/any-id",
    level: "optional",
    of: "an id of 128 characters that is no UUID",
    reason: "method_not_found",
    says: "it is echoed unchanged",
    ids: "own",
    id: "関-1/".padEnd(128, "x"),
    body: (id) => request({ id }),
  }),
  refusal({
    name: "envelope/integer-id",
    level: "optional",
    of: "an id that is an integer",
    reason: "method_not_found",
    says: "it is echoed as an integer",
    ids: "own",
    id: 9_007_199_254_740_991,
    body: (id) => request({ id }),
  }),
];

/** A value in bad params, which must not come back. */
const marker = "a-value-of-the-sender";

export const errorCases: readonly ConformanceCase[] = [
  refusal({
    name: "errors/unknown-method",
    of: "a method that does not exist",
    reason: "method_not_found",
    says: "error -32601 with the id that was sent",
    ids: "own",
    body: (id) => request({ id, params: {} }),
  }),
  refusal({
    name: "errors/missing-params",
    of: "execute_task without params",
    ...badParams,
    body: execute(undefined),
  }),
  refusal({ name: "errors/missing-text", of: "execute_task without text", ...badParams, body: execute({ channel }) }),
  refusal({ name: "errors/params-array", of: "params by position", ...badParams, body: execute([channel, "hello"]) }),
  refusal({
    name: "errors/wrong-type",
    of: "a text that is a number",
    ...badParams,
    body: execute({ channel, text: 42 }),
  }),
  refusal({
    name: "errors/empty-text",
    level: "optional",
    of: "an empty text without attachments",
    ...badParams,
    body: execute({ channel, text: "" }),
  }),
  refusal({
    name: "errors/long-text",
    level: "optional",
    of: "a text of 40,001 characters",
    ...badParams,
    body: execute({ channel, text: "x".repeat(40_001) }),
  }),
  {
    name: "errors/issues",
    level: "optional",
    expects: "data.issues of bad params names each path, and no value",
    async check({ peer }) {
      const answer = await peer.call({ method: "execute_task", params: { channel, text: [marker] } });
      const came = expectError(answer, ["invalid_params"]);
      const error = readPeerError(answer);
      if (JSON.stringify(error).includes(marker)) throw new Deviation(`${came}; the value came back`);
      const { issues } = Object(error?.data);
      const isNamed = Array.isArray(issues) && issues.some(({ path }) => String(path).includes("text"));
      if (!isNamed) throw new Deviation(came);
      return came;
    },
  },
  {
    name: "errors/failed-task",
    level: "required",
    expects: "an agent that fails: a JSON-RPC error such as -32064, or a result whose status is error",
    async check(run) {
      const text = run.texts.fail;
      const answer = await runTask(run, { text });
      const { response, came, id } = answer;
      if (response === undefined) throw new Deviation(came);
      if ("error" in response) {
        if (response.id !== id) throw new Deviation(`${came}; its id is not the one that was sent`);
        return came;
      }
      if (Object(response.result).status === "error") return came;
      const { status } = expectResult(answer, "execute_task");
      throw new NotApplicable(`the agent did not fail at "${text}" (${status})`);
    },
  },
  {
    name: "errors/status",
    level: "optional",
    expects: "HTTP 200 for errors of the application (AgentCore replaces the body of any other status)",
    async check({ peer }) {
      const { status, came } = await peer.call({ method });
      if (status !== undefined && status !== 200) throw new Deviation(came);
      return came;
    },
  },
];

export const limitCases: readonly ConformanceCase[] = [
  {
    name: "limits/too-large",
    level: "required",
    expects: "300 KiB that are no JSON: refused for their size before they are parsed, by HTTP 413 or error -32075",
    async check({ peer }) {
      const answer = await peer.send({ body: "x".repeat(maxRequestBytes + 44 * 1024) });
      if (answer.status !== 413 && !hasReason(answer, ["payload_too_large"])) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];

/** What stack traces, paths and exceptions of common languages look like. */
const innards =
  /Traceback|^\s+at .+:\d+|File "[^"]+", line \d+|\b[A-Z][A-Za-z]+(Error|Exception)\b|goroutine \d+|node_modules|site-packages|\/(home|usr|var|app|opt)\/|\barn:aws/m;

/** Looks at the errors of all other cases, so it runs last. */
export const internalsCase: ConformanceCase = {
  name: "errors/innards",
  level: "optional",
  expects: "no error holds a stack trace, a path or an exception's text",
  async check({ peer: { errors } }) {
    if (errors.length === 0) throw new NotApplicable("no error came");
    const telling = errors.find((error) => listTexts(error).some((text) => innards.test(text)));
    if (telling !== undefined) throw new Deviation(`error ${telling.code} tells of its cause`);
    return `${errors.length} errors, none of which tells of its cause`;
  },
};

function listTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(listTexts);
}
