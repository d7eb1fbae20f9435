/** The states of a task: the allowed transitions, and the error of a refused one in each protocol. */
import { describe, expect, it } from "@jest/globals";
import { a2aStateSchema, fromA2aState, toA2aState } from "@sekisho/contracts/a2a/task.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import {
  canTransition,
  isTerminal,
  taskStateSchema,
  transitionError,
} from "@sekisho/contracts/methods.ts";
import {
  a2aNames,
  a2aState,
  refusal,
  stateNames,
  transitions,
  zoneState,
} from "./transition-table.ts";

function wireError({ from, to, dialect }: { from: string; to: string; dialect: Dialect }) {
  const error = transitionError({ taskId: "t-1", from: zoneState(from), to: zoneState(to) });
  return JSON.parse(JSON.stringify(encodeError({ error, dialect })));
}

describe("the states of a task", () => {
  it("the table covers all states, from each to each, in both protocols", () => {
    expect(transitions).toHaveLength(stateNames.length ** 2);
    expect(new Set(stateNames.map(zoneState))).toEqual(new Set(taskStateSchema.options));
    expect(new Set(stateNames.map(a2aState))).toEqual(new Set(a2aStateSchema.options));
  });

  it("only terminal states allow no further transition", () => {
    const ends = stateNames.filter(
      (name) => !transitions.some(({ from, may }) => from === name && may),
    );
    expect(taskStateSchema.options.filter(isTerminal)).toEqual(ends);
  });

  it.each(Object.entries(a2aNames))("maps the state %s to %s in A2A, and back", (name, inA2a) => {
    const kind = name === "auth" ? ({ kind: "auth" } as const) : {};
    expect(toA2aState({ state: zoneState(name), ...kind })).toBe(inA2a);
    expect(fromA2aState(a2aState(name))).toEqual({ state: zoneState(name), ...kind });
  });

  it.each(transitions)(
    "decides as the contract whether a task may go from $from to $to: $may",
    ({ from, to, may }) => {
      expect(canTransition({ from: zoneState(from), to: zoneState(to) })).toBe(may);
    },
  );
});

describe("a refused transition", () => {
  it.each(refusal)(
    "refuses a transition from $from to $to as invalid_state, and names both states",
    ({ from, to }) => {
      expect(wireError({ from, to, dialect: "zone" })).toMatchObject({
        code: -32063,
        data: {
          reason: "invalid_state",
          retryable: false,
          current: zoneState(from),
          target: zoneState(to),
        },
      });
    },
  );

  it.each(refusal)(
    "refuses a transition from $from to $to with the number and the name of A2A",
    ({ from, to }) => {
      const [code, name] =
        to === "canceled" ? [-32002, "TASK_NOT_CANCELABLE"] : [-32004, "UNSUPPORTED_OPERATION"];
      const wire = wireError({ from, to, dialect: "a2a" });
      expect(wire.code).toBe(code);
      expect(wire.data[0]).toMatchObject({
        domain: "a2a-protocol.org",
        reason: name,
        metadata: { taskId: "t-1" },
      });
      expect(wireError({ from, to, dialect: "a2a-0.3" }).code).toBe(code);
    },
  );
});
