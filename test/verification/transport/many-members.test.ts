/** Answers under 1 MB with many thousand members: only the members that the contract knows are visited. */
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { answerBytesMember } from "@sekisho/verification/task/events.ts";
import { readResult } from "@sekisho/verification/transport/a2a/post-operation.ts";
import { readResponse } from "@sekisho/verification/transport/read-response.ts";
import { type CountedValue, countVisits } from "../../doubles/count-visits.ts";

const id = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`m${index}`, 1]));
const entries = Array.from({ length: 20_000 }, () => ({}));
const maxVisits = 1000;
/** The names of one object are listed once to find the first ones. JavaScript has no other way, and does it natively. */
const maxNames = 20_010;

afterEach(() => {
  jest.restoreAllMocks();
});

/** Reads the response, and counts what is visited of everything that JSON.parse returns. */
function countReading(response: object, dialect: Dialect = "zone") {
  const countedValues: CountedValue[] = [];
  const parse = JSON.parse;
  jest.spyOn(JSON, "parse").mockImplementation((text) => {
    const countedValue = countVisits(parse(text));
    countedValues.push(countedValue);
    return countedValue.value;
  });
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, ...response }));
  const call = { method: "get_task", params: {}, id, requestId: id, dialect } as const;
  let outcome: unknown;
  try {
    outcome = readResponse({ response: { body, status: 200 }, ...call });
  } catch (error) {
    outcome = error;
  }
  jest.restoreAllMocks();
  return { outcome, visits: countedValues.reduce((sum, { visits }) => sum + visits(), 0) };
}

const success = { status: "success", response_text: "Done." };
const acceptance = { status: "accepted", task_id: "t" };
const question = { status: "input_required", task_id: "t", prompt: "Which?" };
const step = { id: "s", title: "Look", status: "pending" };
const field = { id: "f", label: "F", type: "choice", options: [{ id: "a", label: "A" }] };

describe("an answer with many members or entries", () => {
  it.each<[string, object, object]>([
    ["a result", { ...success, ...many }, success],
    [
      "progress",
      { ...acceptance, progress: { text: "Soon.", ...many } },
      { ...acceptance, progress: { text: "Soon." } },
    ],
    [
      "a step",
      { ...acceptance, progress: { steps: [{ ...step, ...many }] } },
      { ...acceptance, progress: { steps: [step] } },
    ],
    [
      "steps",
      { ...acceptance, progress: { text: "Soon.", steps: entries } },
      { ...acceptance, progress: { text: "Soon." } },
    ],
    [
      "an artifact",
      { ...success, artifacts: [{ text: "a", ...many }] },
      { ...success, artifacts: [{ text: "a" }] },
    ],
    [
      "the data of an artifact",
      { ...success, artifacts: [{ data: many }] },
      { ...success, artifacts: [{ data: many }] },
    ],
    ["an attachment", { ...success, attachments: [many] }, success],
    ["attachments", { ...success, attachments: entries }, success],
    [
      "an option",
      { ...question, options: [{ id: "a", label: "A", ...many }] },
      { ...question, options: [{ id: "a", label: "A" }] },
    ],
    ["a field", { ...question, fields: [{ ...field, ...many }] }, { ...question, fields: [field] }],
    ["fields", { ...question, fields: entries }, question],
    ["the options of a field", { ...question, fields: [{ ...field, options: entries }] }, question],
    ["a text", { ...acceptance, progress: { text: many } }, { ...acceptance, progress: {} }],
  ])("visits only a few members of %s", (_place, result, readResult) => {
    const { outcome, visits } = countReading({ result });
    const { [answerBytesMember]: _bytes, ...resultMembers } = outcome as Record<string, unknown>;
    expect(resultMembers).toEqual(readResult);
    expect(visits).toBeLessThan(maxVisits);
  });

  it("keeps the first hundred members of the usage", () => {
    const { outcome, visits } = countReading({
      result: { ...success, usage: { input_tokens: 7, ...many } },
    });
    expect(outcome).toMatchObject({ usage: { input_tokens: 7, m0: 1, m98: 1 } });
    expect(Object.keys((outcome as { usage: object }).usage)).toHaveLength(100);
    expect(visits).toBeLessThan(maxNames + maxVisits);
  });

  it("bounds the visits to an answer with half a character and too deep nesting", () => {
    const deep = JSON.parse("[".repeat(150) + "]".repeat(150));
    const result = { ...success, artifacts: [{ data: many }, { text: "\ud800", data: deep }] };
    const { outcome, visits } = countReading({ result });
    expect(outcome).toMatchObject({ artifacts: [{ data: many }, { text: "\ufffd" }] });
    expect(visits).toBeLessThan(2 * maxNames + maxVisits);
  });
});

describe("an error with many members or entries", () => {
  it.each<[string, object, Dialect]>([
    ["the error", { code: -32000, message: "No.", ...many }, "zone"],
    ["its issues", { code: -32602, message: "No.", data: { issues: entries } }, "zone"],
  ])("visits only a few members of %s", (_place, error, dialect) => {
    const { outcome, visits } = countReading({ error }, dialect);
    expect(outcome).toMatchObject({ name: "SekishoError" });
    expect(visits).toBeLessThan(maxVisits);
  });

  it.each<[string, object, Dialect]>([
    ["its data", { code: -32000, message: "No.", data: many }, "zone"],
    ["a detail of A2A", { code: -32000, message: "No.", data: [many] }, "a2a"],
  ])("visits a bounded number of members of %s", (_place, error, dialect) => {
    expect(countReading({ error }, dialect).visits).toBeLessThan(maxNames + 2 * maxVisits);
  });
});

describe("an A2A task with many members", () => {
  const task = { id: "t", status: { state: "TASK_STATE_WORKING" } };
  it.each<[string, object]>([
    ["the task", { ...task, ...many }],
    ["its metadata", { ...task, metadata: many }],
    ["a part", { ...task, artifacts: [{ parts: [{ text: "a", ...many }] }] }],
    [
      "the metadata of a part",
      { ...task, artifacts: [{ parts: [{ text: "a", metadata: many }] }] },
    ],
    [
      "the metadata of a message",
      { ...task, history: [{ parts: [{ text: "a" }], metadata: many }] },
    ],
  ])("visits only a few members of %s", (_place, result) => {
    const countedResult = countVisits(result);
    readResult({ operation: "GetTask", result: countedResult.value });
    expect(countedResult.visits()).toBeLessThan(maxVisits);
  });
});
