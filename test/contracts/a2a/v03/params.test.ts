/** The params of clients of A2A 0.3: how doubtful ones are read, and bad ones refused. */
import { describe, expect, it } from "@jest/globals";
import { operations } from "@sekisho/contracts/a2a/operations.ts";
import {
  paramsToV03,
  type V03OperationName,
  v03Operations,
} from "@sekisho/contracts/a2a/v03/params.ts";
import fc from "fast-check";
import { issuesOf, params, spoil, wire } from "../arbitraries.ts";

/** The example of a message in the specification of 0.3.0, section 9.2, which has no kind. */
const message = {
  role: "user",
  parts: [{ kind: "text", text: "tell me a joke" }],
  messageId: "9229e770-767c-417b-a0b0-f0741243c589",
};
const messageFields = {
  messageId: message.messageId,
  role: "ROLE_USER",
  parts: [{ text: "tell me a joke" }],
};

describe("a message of 0.3", () => {
  it.each<[string, object, object]>([
    [
      "of the specification's example",
      { message, metadata: {} },
      { message: messageFields, metadata: {} },
    ],
    [
      "that names its kind",
      { message: { ...message, kind: "message" } },
      { message: messageFields },
    ],
    [
      "with unknown members",
      { message: { ...message, mood: 1 }, urgent: true },
      { message: messageFields },
    ],
    [
      "with null members",
      {
        message: { ...message, contextId: "", taskId: null, extensions: [], metadata: null },
        configuration: null,
      },
      { message: messageFields },
    ],
  ])("accepts a message of 0.3 %s", (_name, params, v1Params) => {
    expect(wire(v03Operations.SendMessage.parse(params))).toEqual(v1Params);
  });

  it.each<[string, object, object]>([
    ["text", { kind: "text", text: "" }, { text: "" }],
    ["data", { kind: "data", data: { a: [1] } }, { data: { a: [1] } }],
    [
      "a file by its address",
      { kind: "file", file: { uri: "https://a.test/x" } },
      { url: "https://a.test/x" },
    ],
    [
      "a file's bytes, name and media type",
      {
        kind: "file",
        file: { bytes: "YQ", mimeType: "text/plain", name: "a.txt" },
        metadata: { a: 1 },
      },
      { raw: "YQ==", mediaType: "text/plain", filename: "a.txt", metadata: { a: 1 } },
    ],
    ["an empty file", { kind: "file", file: { bytes: "", uri: null } }, { raw: "" }],
    ["wrapped data", wrapped({ value: [1] }), { data: [1] }],
    [
      "wrapped data with metadata",
      { ...wrapped({ value: null }), metadata: { data_part_compat: true, a: 1 } },
      { data: null, metadata: { a: 1 } },
    ],
    [
      "data that only claims to be wrapped",
      wrapped({ a: 1 }),
      { ...wrapped({ a: 1 }), kind: undefined },
    ],
  ])("reads a part of 0.3 with %s", (_name, part, expected) => {
    const params = v03Operations.SendMessage.parse({ message: { ...message, parts: [part] } });
    expect(wire(params.message.parts)).toEqual([wire(expected)]);
  });

  it.each<[string, object | undefined, boolean | undefined]>([
    ["waits without a configuration", undefined, undefined],
    ["waits for a configuration without blocking", {}, undefined],
    ["waits if blocking is true", { blocking: true }, false],
    ["does not wait if blocking is false", { blocking: false }, true],
  ])("reads the configuration of 0.3: %s", (_name, configuration, returnImmediately) => {
    const params = v03Operations.SendMessage.parse({ message, configuration });
    expect(params.configuration?.returnImmediately).toBe(returnImmediately);
  });

  it("uses the first authentication scheme of push notifications", () => {
    const authentication = { schemes: ["Bearer", "Basic"], credentials: "c" };
    const params = v03Operations.SendMessage.parse({
      message,
      configuration: {
        pushNotificationConfig: { url: "https://a.test", token: "", authentication },
      },
    });
    expect(wire(params.configuration?.taskPushNotificationConfig)).toEqual({
      url: "https://a.test",
      authentication: { scheme: "Bearer", credentials: "c" },
    });
  });
});

describe("invalid params of 0.3", () => {
  it.each<[string, V03OperationName, unknown, string[]]>([
    ["no params", "SendMessage", undefined, [""]],
    ["params by position", "GetTask", [], [""]],
    ["no message", "SendMessage", {}, ["message"]],
    [
      "an agent's message",
      "SendMessage",
      { message: { ...message, role: "agent" } },
      ["message.role"],
    ],
    ["1.0's role", "SendMessage", { message: { ...message, role: "ROLE_USER" } }, ["message.role"]],
    ["no parts", "SendMessage", { message: { ...message, parts: [] } }, ["message.parts"]],
    [
      "a part of 1.0",
      "SendMessage",
      { message: { ...message, parts: [{ text: "a" }] } },
      ["message.parts.0.kind"],
    ],
    [
      "a part of another kind",
      "SendMessage",
      { message: { ...message, parts: [{ kind: "toString" }] } },
      ["message.parts.0.kind"],
    ],
    [
      "a text that is not a string",
      "SendMessage",
      withPart({ kind: "text", text: 1 }),
      ["message.parts.0.text"],
    ],
    [
      "data that is not an object",
      "SendMessage",
      withPart({ kind: "data", data: [1] }),
      ["message.parts.0.data"],
    ],
    [
      "a file without content",
      "SendMessage",
      withPart({ kind: "file", file: {} }),
      ["message.parts.0.file"],
    ],
    [
      "a file with both contents",
      "SendMessage",
      withPart({ kind: "file", file: { uri: "https://a.test", bytes: "YQ==" } }),
      ["message.parts.0.file"],
    ],
    [
      "bytes that are not base64",
      "SendMessage",
      withPart({ kind: "file", file: { bytes: "é" } }),
      ["message.parts.0.file.bytes"],
    ],
    [
      "a flag that is a string",
      "SendMessage",
      { message, configuration: { blocking: "false" } },
      ["configuration.blocking"],
    ],
    [
      "push without a scheme",
      "SendMessage",
      {
        message,
        configuration: { pushNotificationConfig: { url: "u", authentication: { schemes: [] } } },
      },
      ["configuration.pushNotificationConfig.authentication.schemes"],
    ],
    [
      "a push configuration without a task",
      "CreateTaskPushNotificationConfig",
      { taskId: "t" },
      ["pushNotificationConfig"],
    ],
    [
      "a deletion without an id",
      "DeleteTaskPushNotificationConfig",
      { id: "t" },
      ["pushNotificationConfigId"],
    ],
    ["a task without an id", "GetTask", { id: "" }, ["id"]],
    ["a negative history", "GetTask", { id: "t", historyLength: -1 }, ["historyLength"]],
  ])("refuses invalid params of 0.3: %s", (_name, operation, params, paths) => {
    expect(issuesOf(v03Operations[operation].safeParse(params)).map(({ path }) => path)).toEqual(
      paths,
    );
  });

  it("reports invalid params without the text that was sent", () => {
    const params = {
      message: { ...message, role: "hunter2", parts: [{ kind: "hunter2" }, "hunter2"] },
    };
    const issues = issuesOf(v03Operations.SendMessage.safeParse(params));
    expect(issues).toHaveLength(3);
    expect(JSON.stringify(issues)).not.toContain("hunter2");
  });
});

describe("any params of 0.3", () => {
  const operationNames = Object.keys(v03Operations) as V03OperationName[];

  it("reads any params of 0.3 as valid params of 1.0, or refuses them", () => {
    const sentValue = fc.constantFrom(...operationNames).chain((operation) =>
      fc.record({
        operation: fc.constant(operation),
        value: spoil(
          (params[operation] as fc.Arbitrary<never>).map((of) =>
            paramsToV03({ operation, params: of }),
          ),
        ),
      }),
    );
    fc.assert(
      fc.property(sentValue, ({ operation, value }) => {
        const result = v03Operations[operation].safeParse(value);
        if (result.success)
          expect(wire(operations[operation].parse(wire(result.data)))).toEqual(wire(result.data));
        else expect(result.error.issues.length).toBeGreaterThan(0);
      }),
      { numRuns: 200 },
    );
  });
});

it("finds a push configuration by the task id if it has no id of its own", () => {
  expect(v03Operations.GetTaskPushNotificationConfig.parse({ id: "t" })).toEqual({
    taskId: "t",
    id: "t",
  });
});

it("drops the tenant in 0.3", () => {
  const output = paramsToV03({ operation: "GetTask", params: { tenant: "blue", id: "t" } });
  expect(wire(output)).toEqual({ id: "t" });
});

function withPart(part: object) {
  return { message: { ...message, parts: [part] } };
}

function wrapped(data: object) {
  return { kind: "data", data, metadata: { data_part_compat: true } };
}
