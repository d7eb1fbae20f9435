/** Cases of a body that the peer must refuse, with the right error and the right id. */
import { randomUUID } from "node:crypto";
import type { RequestId } from "../../../../contracts/envelope.ts";
import type { Reason } from "../../../../contracts/errors.ts";
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import { type ConformanceCase, Deviation, NotApplicable, optional, required } from "../case.ts";
import { expectError, expectResult, hasReason, readPeerError } from "../expect.ts";
import type { PeerRequest } from "../peer.ts";
import { channel, runTask } from "../run-task.ts";

type Expected = {
  reasons: readonly Reason[];
  /** The error, for a person. */
  says: string;
  /** The ids that the answer may have. It is null where the peer cannot know the id. */
  ids: readonly ("null" | "own")[];
};

const noJson: Expected = { reasons: ["parse_error"], says: "error -32700 with id null", ids: ["null"] };
const noRequest: Expected = { reasons: ["invalid_request"], says: "error -32600 with id null", ids: ["null"] };
const tooDeep: Expected = {
  reasons: ["parse_error", "invalid_request"],
  says: "error -32700 or -32600 with id null",
  ids: ["null"],
};
const badVersion: Expected = { reasons: ["invalid_request"], says: "error -32600", ids: ["null", "own"] };
const badParams = ownId("invalid_params", "error -32602 with the id that was sent");

function ownId(reason: Reason, says: string): Expected {
  return { reasons: [reason], says, ids: ["own"] };
}

/** Each row: a description for a person, the body that is sent, and the id in it. */
type Refusal = readonly [
  name: string,
  level: ConformanceCase["level"],
  what: string,
  expected: Expected,
  body: (id: RequestId) => PeerRequest["body"],
  id?: RequestId,
];

function toCase([name, level, what, { reasons, says, ids }, body, given]: Refusal): ConformanceCase {
  return {
    name,
    level,
    expects: `${what}: ${says}`,
    async check({ peer }) {
      const id = given ?? randomUUID();
      const allowed = ids.map((one) => (one === "own" ? id : null));
      return expectError(await peer.send({ id, body: body(id) }), reasons, allowed);
    },
  };
}

const method = "sekisho.no_such_method";
const request = (over: object) => JSON.stringify({ jsonrpc: "2.0", method, ...over });
const withId = (id: RequestId) => request({ id });
const execute = (params: unknown) => (id: RequestId) => request({ id, method: "execute_task", params });
const nestedDeep = 50_000;
const nested = "[".repeat(nestedDeep) + "]".repeat(nestedDeep);
const longId = "関-1/".padEnd(128, "x");
const echoed = ownId("method_not_found", "it is echoed unchanged");
const echoedInteger = ownId("method_not_found", "it is echoed as an integer");
const unknownMethod = ownId("method_not_found", "error -32601 with the id that was sent");

function notUtf8(id: RequestId): Uint8Array {
  const head = `{"jsonrpc":"2.0","method":"${method}","id":"${id}","x":"`;
  return Buffer.concat([Buffer.from(head), Buffer.from([0xff]), Buffer.from('"}')]);
}

const envelopeRefusals: readonly Refusal[] = [
  ["envelope/parse-error", "required", "JSON that breaks off", noJson, () => '{"jsonrpc": "2.0", "id"'],
  ["envelope/empty-body", "optional", "an empty body", noJson, () => ""],
  ["envelope/utf-8", "optional", "a body that is not UTF-8", noJson, notUtf8],
  ["envelope/deep-nesting", "optional", `an array ${nestedDeep} levels deep`, tooDeep, () => nested],
  ["envelope/batch", "required", "an array of Requests", noRequest, (id) => `[${request({ id })}]`],
  ["envelope/no-object", "required", "a number", noRequest, () => "42"],
  ["envelope/missing-id", "required", "a Request without id", noRequest, () => request({})],
  [
    "envelope/wrong-version",
    "required",
    'a Request whose jsonrpc is "1.0"',
    badVersion,
    (id) => request({ jsonrpc: "1.0", id }),
  ],
  ["envelope/any-id", "optional", "an id of 128 characters that is no UUID", echoed, withId, longId],
  ["envelope/integer-id", "optional", "an id that is an integer", echoedInteger, withId, 9_007_199_254_740_991],
];

const errorRefusals: readonly Refusal[] = [
  [
    "errors/unknown-method",
    "required",
    "a method that does not exist",
    unknownMethod,
    (id) => request({ id, params: {} }),
  ],
  ["errors/missing-params", "required", "execute_task without params", badParams, execute(undefined)],
  ["errors/missing-text", "required", "execute_task without text", badParams, execute({ channel })],
  ["errors/params-array", "required", "params by position", badParams, execute([channel, "hello"])],
  ["errors/wrong-type", "required", "a text that is a number", badParams, execute({ channel, text: 42 })],
  ["errors/empty-text", "optional", "an empty text without attachments", badParams, execute({ channel, text: "" })],
  [
    "errors/long-text",
    "optional",
    "a text of 40,001 characters",
    badParams,
    execute({ channel, text: "x".repeat(40_001) }),
  ],
];

export const envelopeCases: readonly ConformanceCase[] = envelopeRefusals.map(toCase);

/** A value in bad params, which must not come back. */
const marker = "a-value-of-the-sender";

export const errorCases: readonly ConformanceCase[] = [
  ...errorRefusals.map(toCase),
  optional("errors/issues", "data.issues of bad params names each path, and no value", async ({ peer }) => {
    const answer = await peer.call({ method: "execute_task", params: { channel, text: [marker] } });
    const came = expectError(answer, ["invalid_params"]);
    const error = readPeerError(answer);
    if (JSON.stringify(error).includes(marker)) throw new Deviation(`${came}; the value came back`);
    const { issues } = Object(error?.data);
    const isNamed = Array.isArray(issues) && issues.some(({ path }) => String(path).includes("text"));
    if (!isNamed) throw new Deviation(came);
    return came;
  }),
  required(
    "errors/failed-task",
    "an agent that fails: a JSON-RPC error such as -32064, or a result whose status is error",
    async (run) => {
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
  ),
  optional(
    "errors/status",
    "HTTP 200 for errors of the application (AgentCore replaces the body of any other status)",
    async ({ peer }) => {
      const { status, came } = await peer.call({ method });
      if (status !== undefined && status !== 200) throw new Deviation(came);
      return came;
    },
  ),
];

export const limitCases: readonly ConformanceCase[] = [
  required(
    "limits/too-large",
    "300 KiB that are no JSON: refused for their size before they are parsed, by HTTP 413 or error -32075",
    async ({ peer }) => {
      const answer = await peer.send({ body: "x".repeat(maxRequestBytes + 44 * 1024) });
      if (answer.status !== 413 && !hasReason(answer, ["payload_too_large"])) throw new Deviation(answer.came);
      return answer.came;
    },
  ),
];

/** Patterns of stack traces, paths and exceptions in common languages. */
const innards =
  /Traceback|^\s+at .+:\d+|File "[^"]+", line \d+|\b[A-Z][A-Za-z]+(Error|Exception)\b|goroutine \d+|node_modules|site-packages|\/(home|usr|var|app|opt)\/|\barn:aws/m;

/** Looks at the errors of all other cases, so it runs last. */
export const internalsCase = optional(
  "errors/innards",
  "no error holds a stack trace, a path or an exception's text",
  async ({ peer: { errors } }) => {
    if (errors.length === 0) throw new NotApplicable("no error came");
    const revealing = errors.find((error) => listTexts(error).some((text) => innards.test(text)));
    if (revealing !== undefined) throw new Deviation(`error ${revealing.code} reveals its cause`);
    return `${errors.length} errors, none of which reveals its cause`;
  },
);

function listTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(listTexts);
}
