/** Cases of a body that the endpoint must refuse, with the right error and the right id. */
import { randomUUID } from "node:crypto";
import type { RequestId } from "@sekisho/contracts/envelope.ts";
import type { Reason } from "@sekisho/contracts/errors.ts";
import { maxRequestBytes } from "@sekisho/contracts/methods.ts";
import type { ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { expectError, hasReason, readPeerError } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";
import { channel } from "../tasks.ts";

type Expected = {
  reasons: readonly Reason[];
  /** The error, for a person. */
  says: string;
  /** The ids that the answer may have. It is null where the endpoint cannot know the id. */
  ids: readonly ("null" | "own")[];
  advice: string;
};

const noJson: Expected = {
  reasons: ["parse_error"],
  says: "error -32700 with id null",
  ids: ["null"],
  advice: "Catch the failure of your JSON parser and answer with parse_error and id null.",
};
const noRequest: Expected = {
  reasons: ["invalid_request"],
  says: "error -32600 with id null",
  ids: ["null"],
  advice:
    "Check that the body is one object with jsonrpc 2.0, a method and an id, before you look at the method.",
};
const tooDeep: Expected = {
  ...noRequest,
  reasons: ["parse_error", "invalid_request"],
  says: "error -32700 or -32600 with id null",
  advice: "Bound the nesting of what you parse (100 levels), and catch the failure of your parser.",
};
const badVersion: Expected = { ...noRequest, says: "error -32600", ids: ["null", "own"] };
const badParams = ownId(
  "invalid_params",
  "error -32602 with the id that was sent",
  "Check the params by the table of execute_task.",
);
const methodAdvice =
  "Answer a method that you do not know with method_not_found, and the id of the request as it came.";

function ownId(reason: Reason, says: string, advice: string): Expected {
  return { reasons: [reason], says, ids: ["own"], advice };
}

type Body = (id: RequestId) => PeerRequest["body"];
/** `required`: R. `strict`: S. Each row: a description for a person, the body that is sent, and the id in it. */
type Refusal = readonly [
  name: string,
  level: "R" | "S",
  what: string,
  expected: Expected,
  body: Body,
  id?: RequestId,
];

const levels = { R: "required", S: "strict" } as const;

function toCase([
  name,
  level,
  what,
  { reasons, says, ids, advice },
  body,
  extras,
]: Refusal): ConformanceCase {
  return {
    name,
    level: levels[level],
    section: name.startsWith("envelope/") ? "Envelope" : "`execute_task`",
    expects: `${what}: ${says}`,
    advice,
    async check({ peer }) {
      const id = extras ?? randomUUID();
      const allowedIds = ids.map((one) => (one === "own" ? id : null));
      return expectError(await peer.send({ id, body: body(id) }), reasons, allowedIds);
    },
  };
}

const method = "sekisho.no_such_method";
const request = (over: object) => JSON.stringify({ jsonrpc: "2.0", method, ...over });
const withId = (id: RequestId) => request({ id });
const callMethod = (name: string) => (id: RequestId) => request({ id, method: name, params: {} });
const execute = (params: unknown) => (id: RequestId) =>
  request({ id, method: "execute_task", params });
const nestedDeep = 50_000;
const nestedArrays = "[".repeat(nestedDeep) + "]".repeat(nestedDeep);
const longId = "関-1/".padEnd(128, "x");
const idAdvice =
  "Take ids that are strings of 1 to 128 characters (not bytes) or integers, and answer with the id as it came.";
const echoRefusal = ownId(
  "method_not_found",
  "it is echoed unchanged",
  `${idAdvice} Read the body as UTF-8.`,
);
const echoedInteger = ownId("method_not_found", "it is echoed as an integer", idAdvice);
const echoedText = ownId("method_not_found", "it is echoed as a string", idAdvice);
const unknownMethod = ownId(
  "method_not_found",
  "error -32601 with the id that was sent",
  methodAdvice,
);

function notUtf8(id: RequestId): Uint8Array {
  const head = `{"jsonrpc":"2.0","method":"${method}","id":"${id}","x":"`;
  return Buffer.concat([Buffer.from(head), Buffer.from([0xff]), Buffer.from('"}')]);
}

// biome-ignore format: one row per case
const envelopeRefusals: readonly Refusal[] = [
  ["envelope/parse-error", "R", "JSON that breaks off", noJson, () => '{"jsonrpc": "2.0", "id"'],
  ["envelope/trailing-bytes", "S", "a Request with more after it", noJson, (id) => `${request({ id })}{}`],
  ["envelope/empty-body", "S", "an empty body", noJson, () => ""],
  ["envelope/utf-8", "S", "a body that is not UTF-8", noJson, notUtf8],
  ["envelope/byte-order-mark", "S", "a Request after a byte order mark", noJson, (id) => `\ufeff${request({ id })}`],
  ["envelope/repeated-key", "S", "a Request with two methods", badVersion, (id) => request({ id }).replace('{', '{"method":"rpc.discover",')],
  ["envelope/deep-nesting", "S", `an array ${nestedDeep} levels deep`, tooDeep, () => nestedArrays],
  ["envelope/batch", "R", "an array of Requests", noRequest, (id) => `[${request({ id })}]`],
  ["envelope/empty-batch", "R", "an empty array", noRequest, () => "[]"],
  ["envelope/no-object", "R", "a number", noRequest, () => "42"],
  ["envelope/null", "R", "null", noRequest, () => "null"],
  ["envelope/unknown-fields", "R", "a Request with a field that is not known", ownId("method_not_found", "error -32601, as without it", "Ignore unknown fields beside method, params and id."), (id) => request({ id, x_unknown: [1] })],
  ["envelope/missing-id", "R", "a Request without id", noRequest, () => request({})],
  ["envelope/null-id", "R", "a Request whose id is null", noRequest, () => request({ id: null })],
  ["envelope/wrong-version", "R", 'a Request whose jsonrpc is "1.0"', badVersion, (id) => request({ jsonrpc: "1.0", id })],
  ["envelope/missing-method", "R", "a Request without method", badVersion, (id) => request({ id, method: undefined })],
  ["envelope/any-id", "R", "an id of 128 characters that is no UUID", echoRefusal, withId, longId],
  ["envelope/integer-id", "R", "an id that is an integer", echoedInteger, withId, 9_007_199_254_740_991],
  ["envelope/digits-id", "R", "an id that is a string of digits", echoedText, withId, "0012"],
];

// biome-ignore format: one row per case
const errorRefusals: readonly Refusal[] = [
  ["errors/unknown-method", "R", "a method that does not exist", unknownMethod, callMethod(method)],
  ["errors/inherited-method", "S", "a method named constructor", unknownMethod, callMethod("constructor")],
  ["errors/method-case", "S", "Execute_Task, in other letters", unknownMethod, callMethod("Execute_Task")],
  ["errors/missing-params", "R", "execute_task without params", badParams, execute(undefined)],
  ["errors/missing-text", "R", "execute_task without text", badParams, execute({ channel })],
  ["errors/params-array", "R", "params by position", badParams, execute([channel, "hello"])],
  ["errors/wrong-type", "R", "a text that is a number", badParams, execute({ channel, text: 42 })],
  ["errors/null-text", "R", "a text that is null", badParams, execute({ channel, text: null })],
  ["errors/empty-text", "S", "an empty text without attachments", badParams, execute({ channel, text: "" })],
  ["errors/long-text", "S", "a text of 40,001 characters", badParams, execute({ channel, text: "x".repeat(40_001) })],
];

/** A value in bad params, which must not come back. */
const marker = "a-value-of-the-sender";

export const envelopeCases: readonly ConformanceCase[] = [
  ...envelopeRefusals.map(toCase),
  ...errorRefusals.map(toCase),
  {
    name: "errors/issues",
    level: "strict",
    section: "Data of an error",
    expects: "data.issues of bad params names each path, and no value",
    advice: "Put { path, message } of each problem into data.issues, and never a value.",
    async check({ peer }) {
      const answer = await peer.call({
        method: "execute_task",
        params: { channel, text: [marker] },
      });
      const came = expectError(answer, ["invalid_params"]);
      const error = readPeerError(answer);
      if (JSON.stringify(error).includes(marker))
        throw new Deviation(`${came}; the value came back`);
      const { issues } = Object(error?.data);
      if (issues === undefined && error?.data === undefined)
        throw new Deviation(`${came}; there is no data`);
      const isNamed =
        Array.isArray(issues) && issues.some(({ path }) => String(path).includes("text"));
      if (!isNamed) throw new Deviation(came);
      return came;
    },
  },
  ...tooLarge("limits/too-large", "300 KiB that are no JSON", () =>
    "x".repeat(maxRequestBytes + 44 * 1024),
  ),
  ...tooLarge("limits/too-large-request", "a Request of 300 KiB", (id) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      method,
      params: { x: "x".repeat(maxRequestBytes + 44 * 1024) },
    }),
  ),
  ...(["application/json; charset=utf-8", "application/json-rpc"] as const).map(
    (type): ConformanceCase => ({
      name: `headers/${type.includes("charset") ? "charset" : "json-rpc-type"}`,
      level: "strict",
      section: "Transport",
      expects: `content-type ${type}: the same answer as for application/json`,
      advice: "Compare the media type without its parameters.",
      async check({ peer }) {
        if (!peer.isHttp) throw new NotApplicable("the transport sets the headers by itself");
        const id = randomUUID();
        const headers = { "content-type": type };
        return expectError(await peer.send({ id, body: withId(id), headers }), [
          "method_not_found",
        ]);
      },
    }),
  ),
];

function tooLarge(name: string, what: string, body: Body): ConformanceCase[] {
  return [
    {
      name,
      level: "required",
      section: "Bounds",
      expects: `${what}: refused for their size before they are parsed, by HTTP 413 or error -32075`,
      advice:
        "Stop reading a body at 256 KiB, by content-length and while it arrives, and answer with 413.",
      async check({ peer }) {
        const id = randomUUID();
        const answer = await peer.send({ id, body: body(id) });
        const isRefused = answer.status === 413 || hasReason(answer, ["payload_too_large"]);
        if (!isRefused) throw new Deviation(answer.came);
        return answer.came;
      },
    },
  ];
}
