/** The JSON-RPC envelope: valid requests, and the responses that a client takes. */
import { describe, expect, it } from "@jest/globals";
import {
  errorObjectSchema,
  requestSchema,
  responseSchema,
  uuidPattern,
} from "@sekisho/contracts/envelope.ts";
import fc from "fast-check";

const id = "0189d2c4-7a5e-5000-8000-000000000001";
const request = { jsonrpc: "2.0", method: "get_task", id };
const response = { jsonrpc: "2.0", id };
const error = { code: -32603, message: "x" };

describe("a Request", () => {
  it.each<[string, unknown]>([
    ["without params", request],
    ["with params by name", { ...request, params: {} }],
    [
      "with params by position, which the method refuses, not the envelope",
      { ...request, params: [] },
    ],
    ["with an id of one character", { ...request, id: "1" }],
    ["with an id of 128 characters", { ...request, id: "x".repeat(128) }],
    ["with an integer as its id", { ...request, id: -7 }],
    ["of an unknown method", { ...request, method: "no_such_method" }],
    ["of rpc.discover", { ...request, method: "rpc.discover" }],
  ])("accepts a request %s", (_name, value) => {
    expect(requestSchema.parse(value)).toEqual(value);
  });

  it.each<[string, unknown]>([
    ["a batch", [request]],
    ["an empty batch", []],
    ["a notification", { jsonrpc: "2.0", method: "get_task" }],
    ["a null id", { ...request, id: null }],
    ["an empty id", { ...request, id: "" }],
    ["an id of 129 characters", { ...request, id: "x".repeat(129) }],
    ["an id with a fraction", { ...request, id: 1.5 }],
    ["an id that is not a safe integer", { ...request, id: 2 ** 53 }],
    ["an id that is an object", { ...request, id: {} }],
    ["JSON-RPC 1.0", { method: "get_task", id }],
    ["a version that is a number", { ...request, jsonrpc: 2 }],
    ["no method", { jsonrpc: "2.0", id }],
    ["an empty method", { ...request, method: "" }],
    ["a reserved method", { ...request, method: "rpc.other" }],
    ["a response", { ...response, result: 1 }],
    ["a wrapper key", { request }],
    ["null", null],
    ["a text", "get_task"],
  ])("refuses %s as a request", (_name, value) => {
    expect(requestSchema.safeParse(value).success).toBe(false);
  });
});

describe("a Response", () => {
  it.each<[string, unknown, unknown]>([
    ["with a result", { ...response, result: { a: 1 } }, { ...response, result: { a: 1 } }],
    [
      "with a null result, which is a result",
      { ...response, result: null },
      { ...response, result: null },
    ],
    [
      "with a null error beside a result",
      { ...response, result: 1, error: null },
      { ...response, result: 1 },
    ],
    [
      "with a null result beside an error",
      { ...response, result: null, error },
      { ...response, error },
    ],
    ["with an error", { ...response, error }, { ...response, error }],
    [
      "with a null id beside an error",
      { ...response, id: null, error },
      { ...response, id: null, error },
    ],
    [
      "without an id beside an error",
      { jsonrpc: "2.0", error },
      { jsonrpc: "2.0", id: null, error },
    ],
    [
      "with members unknown to JSON-RPC",
      { ...response, result: 0, server: "x" },
      { ...response, result: 0 },
    ],
    [
      "with any error data",
      { ...response, error: { ...error, data: [1] } },
      { ...response, error: { ...error, data: [1] } },
    ],
  ])("accepts a response %s", (_name, value, envelope) => {
    expect(responseSchema.parse(value)).toEqual(envelope);
  });

  it.each<[string, unknown]>([
    ["both result and error", { ...response, result: 1, error }],
    ["neither", response],
    ["no version", { id, result: 1 }],
    ["another version", { ...response, jsonrpc: "1.0", result: 1 }],
    ["no id beside a result", { jsonrpc: "2.0", result: 1 }],
    ["a text as the error code", { ...response, error: { code: "-32603", message: "x" } }],
    ["a fraction as the error code", { ...response, error: { code: 1.5, message: "x" } }],
    ["an error without a message", { ...response, error: { code: 1 } }],
    ["an error that is a text", { ...response, error: "x" }],
    ["a list of responses", [{ ...response, result: 1 }]],
  ])("refuses a response with %s", (_name, value) => {
    expect(responseSchema.safeParse(value).success).toBe(false);
  });

  it("accepts a response only with exactly one of result and error", () => {
    fc.assert(
      fc.property(
        fc.option(fc.jsonValue(), { nil: undefined }),
        fc.boolean(),
        (result, withError) => {
          const value = {
            ...response,
            ...(result === undefined ? {} : { result }),
            ...(withError ? { error } : {}),
          };
          const hasResult =
            result !== undefined && !(withError && (result === null || result === ""));
          expect(responseSchema.safeParse(value).success).toBe(hasResult !== withError);
        },
      ),
    );
  });
});

describe("ids and codes", () => {
  it("validates a request id as a lower-case UUID", () => {
    fc.assert(fc.property(fc.uuid(), (uuid) => uuidPattern.test(uuid)));
    expect(uuidPattern.test(id.toUpperCase())).toBe(false);
    expect(uuidPattern.test(`${id}\n`)).toBe(false);
  });

  it("drops unknown members of an error object", () => {
    expect(errorObjectSchema.parse({ ...error, name: "X" })).toEqual(error);
  });
});
