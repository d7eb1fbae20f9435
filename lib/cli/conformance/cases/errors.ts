/** Cases of errors: the right number for what is wrong with a call, and nothing in it that is nobody's business. */
import type { RequestId } from "../../../../contracts/envelope.ts";
import { type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, readPeerError } from "../expect.ts";
import { createRefusalCase } from "../refusal-case.ts";
import { channel, runTask } from "../run-task.ts";

const badParams = { reason: "invalid_params", says: "error -32602 with the id that was sent", ids: "own" } as const;
const execute = (params: unknown) => (id: RequestId) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params });

/** What a value in bad params must not come back as. */
const marker = "a-value-of-the-sender";
/** What stack traces, paths and exceptions of common languages look like. */
const innards =
  /Traceback|^\s+at .+:\d+|File "[^"]+", line \d+|\b[A-Z][A-Za-z]+(Error|Exception)\b|goroutine \d+|node_modules|site-packages|\/(home|usr|var|app|opt)\/|\barn:aws/m;

export const errorCases: readonly ConformanceCase[] = [
  createRefusalCase({
    name: "errors/unknown-method",
    of: "a method that does not exist",
    reason: "method_not_found",
    says: "error -32601 with the id that was sent",
    ids: "own",
    body: (id) => JSON.stringify({ jsonrpc: "2.0", id, method: "sekisho.no_such_method", params: {} }),
  }),
  createRefusalCase({
    name: "errors/missing-params",
    of: "execute_task without params",
    ...badParams,
    body: execute(undefined),
  }),
  createRefusalCase({
    name: "errors/missing-text",
    of: "execute_task without text",
    ...badParams,
    body: execute({ channel }),
  }),
  createRefusalCase({
    name: "errors/params-array",
    of: "params by position",
    ...badParams,
    body: execute([channel, "hello"]),
  }),
  createRefusalCase({
    name: "errors/wrong-type",
    of: "a text that is a number",
    ...badParams,
    body: execute({ channel, text: 42 }),
  }),
  createRefusalCase({
    name: "errors/empty-text",
    level: "optional",
    of: "an empty text without attachments",
    ...badParams,
    body: execute({ channel, text: "" }),
  }),
  createRefusalCase({
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
    async check({ peer, newId }) {
      const id = newId();
      const answer = await peer.call({ method: "execute_task", params: { channel, text: [marker] }, id });
      const came = expectError({ answer, reasons: ["invalid_params"], ids: [id], dialect: peer.dialect });
      const error = readPeerError(answer);
      if (JSON.stringify(error).includes(marker)) throw new Deviation(`${came}; the value came back`);
      const { issues } = Object(error?.data);
      const named = Array.isArray(issues) && issues.some(({ path }) => String(path).includes("text"));
      if (!named) throw new Deviation(came);
      return came;
    },
  },
  {
    name: "errors/failed-task",
    level: "required",
    expects: "an agent that fails: a JSON-RPC error such as -32064, or a result whose status is error",
    async check(run) {
      const text = run.texts.fail;
      const { answer, id } = await runTask({ run, params: { text }, id: run.newId() });
      const { response, came } = answer;
      if (response === undefined) throw new Deviation(came);
      if ("error" in response) {
        if (response.id !== id) throw new Deviation(`${came}; its id is not the one that was sent`);
        return came;
      }
      if (Object(response.result).status === "error") return came;
      const { status } = expectResult({ answer, method: "execute_task", id });
      throw new NotApplicable(`the agent did not fail at "${text}" (${status})`);
    },
  },
  {
    name: "errors/status",
    level: "optional",
    expects: "HTTP 200 for errors of the application (AgentCore replaces the body of any other status)",
    async check({ peer, newId }) {
      const answer = await peer.call({ method: "sekisho.no_such_method", id: newId() });
      if (answer.status !== undefined && answer.status !== 200) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];

/** About everything that came before, so it stands last. */
export const internalsCase: ConformanceCase = {
  name: "errors/innards",
  level: "optional",
  expects: "no error holds a stack trace, a path or an exception's text",
  async check({ peer: { errors } }) {
    if (errors.length === 0) throw new NotApplicable("no error came");
    const told = errors.find((error) => textsIn(error).some((text) => innards.test(text)));
    if (told !== undefined) throw new Deviation(`error ${told.code} tells of its cause`);
    return `${errors.length} errors, none of which tells of its cause`;
  },
};

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
