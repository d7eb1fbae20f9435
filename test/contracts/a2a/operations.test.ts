/** The operations of A2A: their names in both versions, and the params of 1.0. */
import { describe, expect, it } from "@jest/globals";
import {
  type OperationName,
  type OperationParams,
  operations,
  toA2aMethod,
  toA2aOperation,
} from "@sekisho/contracts/a2a/operations.ts";
import type { V03OperationName } from "@sekisho/contracts/a2a/v03/params.ts";
import fc from "fast-check";
import { issuesOf, params, spoil, wire } from "./arbitraries.ts";

const operationNames = Object.keys(operations) as OperationName[];
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "a" }] };

describe("a method", () => {
  it.each(operationNames)(
    "maps the operation %s to its methods of both versions and back",
    (operation) => {
      for (const version of ["1.0", "0.3"] as const) {
        const method = toA2aMethod({ operation, version });
        if (method !== undefined) expect(toA2aOperation(method)).toEqual({ operation, version });
      }
    },
  );

  it("lists tasks only in 1.0", () => {
    expect(toA2aMethod({ operation: "ListTasks", version: "0.3" })).toBeUndefined();
    expect(
      operationNames.filter(
        (operation) => toA2aMethod({ operation, version: "0.3" }) === undefined,
      ),
    ).toHaveLength(1);
  });

  it.each(["execute_task", "tasks/list", "sendmessage", "toString", "__proto__", ""])(
    "maps the non-A2A method %p to no operation",
    (method) => {
      expect(toA2aOperation(method)).toBeUndefined();
    },
  );
});

describe("params", () => {
  it.each<[OperationName, unknown, unknown]>([
    ["SendMessage", { tenant: "", message, configuration: null, metadata: null }, { message }],
    [
      "SendMessage",
      {
        message,
        configuration: { acceptedOutputModes: [], historyLength: 0, returnImmediately: false },
      },
      { message, configuration: { historyLength: 0, returnImmediately: false } },
    ],
    ["GetTask", { id: "t", historyLength: null, urgent: true }, { id: "t" }],
    ["ListTasks", {}, { pageSize: 50 }],
    [
      "ListTasks",
      { status: "TASK_STATE_UNSPECIFIED", pageToken: "", pageSize: null },
      { pageSize: 50 },
    ],
    [
      "ListTasks",
      { statusTimestampAfter: "2026-01-01T00:00:00+01:00", pageSize: 100 },
      { statusTimestampAfter: "2026-01-01T00:00:00+01:00", pageSize: 100 },
    ],
    [
      "CreateTaskPushNotificationConfig",
      { taskId: "t", url: "u", id: "" },
      { taskId: "t", url: "u" },
    ],
    ["GetExtendedAgentCard", {}, {}],
  ])("accepts params of %s: %p", (operation, params, wireParams) => {
    expect(wire(operations[operation].parse(params))).toEqual(wireParams);
  });

  it.each([undefined, null])("accepts missing params of the extended card: %p", (params) => {
    expect(operations.GetExtendedAgentCard.safeParse(params).success).toBe(true);
  });

  it.each<[OperationName, unknown, string]>([
    ["SendMessage", undefined, ""],
    ["SendMessage", [], ""],
    ["SendMessage", {}, "message"],
    ["SendMessage", { message: { ...message, role: "ROLE_AGENT" } }, "message.role"],
    [
      "SendMessage",
      { message, configuration: { returnImmediately: "true" } },
      "configuration.returnImmediately",
    ],
    [
      "SendMessage",
      { message, configuration: { historyLength: -1 } },
      "configuration.historyLength",
    ],
    ["SendMessage", { message, tenant: "x".repeat(257) }, "tenant"],
    ["GetTask", { id: "" }, "id"],
    ["GetTask", { id: "t", historyLength: 1.5 }, "historyLength"],
    ["ListTasks", { pageSize: 0 }, "pageSize"],
    ["ListTasks", { pageSize: 101 }, "pageSize"],
    ["ListTasks", { status: "working" }, "status"],
    ["ListTasks", { statusTimestampAfter: "yesterday" }, "statusTimestampAfter"],
    ["CreateTaskPushNotificationConfig", { url: "u" }, "taskId"],
    ["CreateTaskPushNotificationConfig", { taskId: "t" }, "url"],
    [
      "CreateTaskPushNotificationConfig",
      { taskId: "t", url: "u", authentication: { scheme: "Bearer\r\nX: y" } },
      "authentication.scheme",
    ],
    ["DeleteTaskPushNotificationConfig", { taskId: "t" }, "id"],
  ])("refuses params of %s: %j", (operation, params, path) => {
    expect(issuesOf(operations[operation].safeParse(params)).map((issue) => issue.path)).toEqual([
      path,
    ]);
  });

  it("reads or refuses any params, and reads its own output unchanged", () => {
    const sentValue = fc
      .constantFrom(...(Object.keys(params) as V03OperationName[]))
      .chain((operation) =>
        fc.record({
          operation: fc.constant(operation),
          value: spoil(params[operation] as fc.Arbitrary<OperationParams<typeof operation>>),
        }),
      );
    fc.assert(
      fc.property(sentValue, ({ operation, value }) => {
        const { data, success } = operations[operation].safeParse(value);
        if (success) expect(wire(operations[operation].parse(wire(data)))).toEqual(wire(data));
      }),
      { numRuns: 100 },
    );
  });
});
