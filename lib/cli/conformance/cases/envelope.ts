/** Cases of the envelope: what is one JSON-RPC Request and what is none, and which id an answer has. */
import type { ConformanceCase } from "../case.ts";
import { createRefusalCase } from "../refusal-case.ts";

const method = "sekisho.no_such_method";
const noRequest = { reason: "invalid_request", says: "error -32600 with id null" } as const;
const noJson = { reason: "parse_error", says: "error -32700 with id null" } as const;
const nestedDeep = 50_000;

export const envelopeCases: readonly ConformanceCase[] = [
  createRefusalCase({
    name: "envelope/parse-error",
    of: "JSON that breaks off",
    ...noJson,
    body: () => '{"jsonrpc": "2.0", "id"',
  }),
  createRefusalCase({ name: "envelope/empty-body", level: "optional", of: "an empty body", ...noJson, body: () => "" }),
  createRefusalCase({
    name: "envelope/utf-8",
    level: "optional",
    of: "a body that is not UTF-8",
    ...noJson,
    body: (id) =>
      Buffer.concat([
        Buffer.from(`{"jsonrpc":"2.0","method":"${method}","id":"${id}","x":"`),
        Buffer.from([0xff]),
        Buffer.from('"}'),
      ]),
  }),
  createRefusalCase({
    name: "envelope/deep-nesting",
    level: "optional",
    of: `an array ${nestedDeep} levels deep`,
    reason: ["parse_error", "invalid_request"],
    says: "error -32700 or -32600 with id null",
    body: () => "[".repeat(nestedDeep) + "]".repeat(nestedDeep),
  }),
  createRefusalCase({
    name: "envelope/batch",
    of: "an array of Requests",
    ...noRequest,
    body: (id) => JSON.stringify([{ jsonrpc: "2.0", method, id }]),
  }),
  createRefusalCase({ name: "envelope/no-object", of: "a number", ...noRequest, body: () => "42" }),
  createRefusalCase({
    name: "envelope/missing-id",
    of: "a Request without id",
    ...noRequest,
    body: () => JSON.stringify({ jsonrpc: "2.0", method }),
  }),
  createRefusalCase({
    name: "envelope/wrong-version",
    of: 'a Request whose jsonrpc is "1.0"',
    reason: "invalid_request",
    says: "error -32600",
    ids: "either",
    body: (id) => JSON.stringify({ jsonrpc: "1.0", method, id }),
  }),
  createRefusalCase({
    name: "envelope/any-id",
    level: "optional",
    of: "an id of 128 characters that is no UUID",
    reason: "method_not_found",
    says: "it is echoed unchanged",
    ids: "own",
    id: () => "関-1/".padEnd(128, "x"),
    body: (id) => JSON.stringify({ jsonrpc: "2.0", method, id }),
  }),
  createRefusalCase({
    name: "envelope/integer-id",
    level: "optional",
    of: "an id that is an integer",
    reason: "method_not_found",
    says: "it is echoed as an integer",
    ids: "own",
    id: () => 9_007_199_254_740_991,
    body: (id) => JSON.stringify({ jsonrpc: "2.0", method, id }),
  }),
];
