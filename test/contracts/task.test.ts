/** The states of a task: every transition there is, in the zone contract and in A2A, allowed or refused. One table for both. */
import { describe, expect, it } from "@jest/globals";
import { fromA2aState, toA2aState } from "../../contracts/a2a/states.ts";
import { a2aStateSchema } from "../../contracts/a2a/task.ts";
import { decodeError } from "../../contracts/decode-error.ts";
import { type Dialect, dialectSchema } from "../../contracts/dialects.ts";
import { encodeError } from "../../contracts/encode-error.ts";
import { isTerminal, mayFollow, taskStateSchema, transitionRefused } from "../../contracts/task.ts";

/** Rows go to columns. `auth` is the contract's `input_required` of the kind `auth`, which is a state of its own in A2A. */
const table = `
| from           | submitted | working | input_required | auth | completed | failed | canceled | rejected |
| submitted      | -         | may     | -              | -    | -         | may    | may      | may      |
| working        | -         | -       | may            | may  | may       | may    | may      | may      |
| input_required | -         | may     | -              | -    | may       | may    | may      | may      |
| auth           | -         | may     | -              | -    | may       | may    | may      | may      |
| completed      | -         | -       | -              | -    | -         | -      | -        | -        |
| failed         | -         | -       | -              | -    | -         | -      | -        | -        |
| canceled       | -         | -       | -              | -    | -         | -      | -        | -        |
| rejected       | -         | -       | -              | -    | -         | -      | -        | -        |
`;

const a2aStates: Readonly<Record<string, string>> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  input_required: "TASK_STATE_INPUT_REQUIRED",
  auth: "TASK_STATE_AUTH_REQUIRED",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
  rejected: "TASK_STATE_REJECTED",
};

const [head = [], ...rows] = table
  .trim()
  .split("\n")
  .map((line) => line.slice(1, -1).split("|"))
  .map((cells) => cells.map((cell) => cell.trim()));
const transitions = rows.flatMap(([from = "", ...cells]) =>
  cells.map((cell, index) => ({ from, to: head[index + 1] ?? "", may: cell === "may" })),
);
const refused = transitions.filter(({ may }) => !may);

function zoneState(name: string) {
  return taskStateSchema.parse(name === "auth" ? "input_required" : name);
}

function a2aState(name: string) {
  return a2aStateSchema.parse(a2aStates[name]);
}

function wireError({ from, to, dialect }: { from: string; to: string; dialect: Dialect }) {
  const error = transitionRefused({ taskId: "t-1", from: zoneState(from), to: zoneState(to) });
  return JSON.parse(JSON.stringify(encodeError({ error, dialect })));
}

describe("the states of a task", () => {
  it("are all in the table, from each to each, in both protocols", () => {
    const names = head.slice(1);
    expect(transitions).toHaveLength(names.length ** 2);
    expect(new Set(names.map(zoneState))).toEqual(new Set(taskStateSchema.options));
    expect(new Set(names.map(a2aState))).toEqual(new Set(a2aStateSchema.options));
  });

  it("never change once they are terminal, and end nowhere else", () => {
    const ends = rows.filter(([, ...cells]) => !cells.includes("may")).map(([from]) => from);
    expect(taskStateSchema.options.filter(isTerminal)).toEqual(ends);
  });

  it.each(Object.entries(a2aStates))("%s is %s in A2A, and back", (name, inA2a) => {
    const kind = name === "auth" ? ({ kind: "auth" } as const) : {};
    expect(toA2aState({ state: zoneState(name), ...kind })).toBe(inA2a);
    expect(fromA2aState(a2aState(name))).toEqual({ state: zoneState(name), ...kind });
  });

  it.each(transitions)("$from to $to, by the contract: $may", ({ from, to, may }) => {
    expect(mayFollow({ from: zoneState(from), to: zoneState(to) })).toBe(may);
  });

  it.each(transitions)("$from to $to, by A2A: $may", ({ from, to, may }) => {
    expect(mayFollow({ from: fromA2aState(a2aState(from)).state, to: fromA2aState(a2aState(to)).state })).toBe(may);
  });
});

describe("a refused transition", () => {
  it.each(refused)(
    "from $from to $to is invalid_state by the contract, and says from where to where",
    ({ from, to }) => {
      expect(wireError({ from, to, dialect: "zone" })).toMatchObject({
        code: -32063,
        data: { reason: "invalid_state", retryable: false, current: zoneState(from), target: zoneState(to) },
      });
    },
  );

  it.each(refused)(
    "from $from to $to has A2A's own number and name, of a cancel or of any other operation",
    ({ from, to }) => {
      const [code, name] = to === "canceled" ? [-32002, "TASK_NOT_CANCELABLE"] : [-32004, "UNSUPPORTED_OPERATION"];
      const wire = wireError({ from, to, dialect: "a2a" });
      expect(wire.code).toBe(code);
      expect(wire.data[0]).toMatchObject({ domain: "a2a-protocol.org", reason: name, metadata: { taskId: "t-1" } });
      expect(wireError({ from, to, dialect: "a2a-0.3" }).code).toBe(code);
    },
  );

  it.each(refused)("from $from to $to comes back as it was through every dialect", ({ from, to }) => {
    for (const dialect of dialectSchema.options) {
      const { reason, exact, details } = decodeError({ error: wireError({ from, to, dialect }), dialect });
      expect({ dialect, reason, exact, details }).toEqual({
        dialect,
        reason: "invalid_state",
        exact: true,
        details: { task_id: "t-1", current: zoneState(from), target: zoneState(to) },
      });
    }
  });
});
