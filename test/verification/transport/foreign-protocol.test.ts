/** Responses of other protocols, and others that are not taken for one. */
import { describe, expect, it } from "@jest/globals";
import {
  type ForeignProtocol,
  recognizeResponse,
} from "@sekisho/verification/transport/foreign-protocol.ts";
import { createResponseProblem } from "@sekisho/verification/transport/peer-problem.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

type Row = [string, number, unknown, ForeignProtocol | undefined];

/** How FastAPI refuses a body: it names each missing member, and repeats the body. */
const fastApi = (...names: string[]) => ({
  detail: names.map((name) => ({
    ...{ type: "missing", loc: ["body", name], msg: "Field required" },
    input: { jsonrpc: "2.0", method: "execute_task", params: { text: "is runId a prompt?" } },
  })),
});
const openAiError = { message: "no model", type: "invalid_request_error", param: null };
const a2aError = { code: 404, details: [{ reason: "NO", domain: "a2a-protocol.org" }] };
const card = { name: "Far", skills: [], supportedInterfaces: [] };

const rows: Row[] = [
  ["FastAPI of AG-UI", 422, fastApi("threadId", "runId", "messages"), "ag-ui"],
  ["Python of AG-UI", 422, fastApi("thread_id"), "ag-ui"],
  ["Express of AG-UI", 400, { error: "Invalid input: runId" }, "ag-ui"],
  ["AWS's server of AG-UI", 400, { error: "Invalid", details: "threadId: required" }, "ag-ui"],
  ["a run that fails", 200, 'data: {"type":"RUN_ERROR","message":"x"}\n\n', "ag-ui"],
  ["a run that begins", 200, ': hi\n\ndata: {"threadId":"t","type": "RUN_STARTED"}', "ag-ui"],
  ["A2A over HTTP+JSON", 404, { error: a2aError }, "a2a"],
  ["an agent card, which no request of ours gets", 200, card, undefined],
  ["OpenAI", 400, { error: openAiError }, "openai-compatible"],
  ["vLLM", 400, { object: "error", ...openAiError, type: "BadRequestError" }, "openai-compatible"],
  ["vLLM of FastAPI", 422, fastApi("messages", "model"), undefined],
  ["AgentCore in Python", 400, { error: "Invalid JSON" }, "http"],
  ["an agent without its prompt", 500, { error: "'prompt' is missing" }, "http"],
  ["FastAPI of one's own", 422, fastApi("question"), "http"],
  ["a result", 200, { result: "hello" }, "http"],
  ["a text", 200, "hello", "http"],
  ["a person's text that FastAPI repeats", 422, fastApi("params"), undefined],
  ["Anthropic", 400, { type: "error", error: { type: "x", message: "no model" } }, undefined],
  ["a gateway", 403, { message: "Forbidden" }, undefined],
  ["a broken envelope", 200, { jsonrpc: "1.0", id: "1", result: {} }, undefined],
  ["an id without an envelope", 200, { id: "1", result: {} }, undefined],
  ["a run's id in a success", 200, { run_id: "r", status: "queued" }, undefined],
  ["a result in a refusal", 404, { result: "hello" }, undefined],
  ["null", 200, null, undefined],
  ["a list", 200, [{ result: "x" }], undefined],
  ["an error that is null", 400, { error: null, detail: null }, undefined],
  ["inherited names", 400, { error: { __proto__: { param: 1, message: "x" } } }, undefined],
];

const toBody = (value: unknown) =>
  typeof value === "string" && value !== "hello" ? value : JSON.stringify(value);

describe("a response that is no JSON-RPC", () => {
  it.each(rows.map(([what, status, value, protocol]) => [what, status, protocol, value] as const))(
    "reads %s (HTTP %i) as %s",
    (_what, status, protocol, value) => {
      expect(recognizeResponse({ status, body: Buffer.from(toBody(value)) })).toBe(protocol);
    },
  );

  it("explains it to operators by a name, and shows nothing of it", () => {
    const problems = rows.map(([, status, value]) =>
      createResponseProblem({ status, body: Buffer.from(toBody(value)) }),
    );
    const names = problems.map(({ name }) => name);
    expect(new Set(names)).toEqual(
      new Set([
        ...["ResponseIsAgUi", "ResponseIsA2a", "ResponseIsChatCompletions", "ResponseIsPlain"],
        ...["ResponseStatus", "ResponseIsNotJsonRpc"],
      ]),
    );
    const texts = problems.map(({ message }) => message).join("\n");
    expect(texts).toContain('"NAME": { "type": "ag-ui", … }');
    expect(texts).not.toMatch(/hello|no model|Field required|Invalid|Far\b/);
  });

  it("tells a refusal from a failure as before", () => {
    const isRefusal = (status: number) =>
      createResponseProblem({ status, body: Buffer.from(JSON.stringify(fastApi("runId"))) })
        .isRefusal;
    expect([422, 404, 500, 400].map(isRefusal)).toEqual([true, true, false, false]);
  });

  it("takes any JSON and any text without an error", () => {
    forAll(fc.json(), fc.integer({ min: 200, max: 599 })).hold((body, status) => {
      expect(() => recognizeResponse({ status, body })).not.toThrow();
    });
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(recognizeResponse({ status: 422, body: deep })).toBeUndefined();
  });
});
