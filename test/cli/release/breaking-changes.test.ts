/** The comparison of contracts, on copies of the real one with one change each. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { generatedFiles } from "../../../contracts/generated-files.ts";
import { breakingChanges, type ContractFiles } from "../../../lib/cli/release/breaking-changes.ts";
import {
  compareVersions,
  parseTexts,
  parseVersion,
  versionProblems,
} from "../../../lib/cli/release/contract.ts";
import { anyOfSchema, validatorOf } from "../../contracts/any-of-schema.ts";

// biome-ignore lint/suspicious/noExplicitAny: documents are changed in places that their types do not know
type Json = any;
type Files = Map<string, Json>;
type Change = (files: Files) => void;

const texts = generatedFiles();
const released = parseTexts(texts);

function changed(change: Change): ContractFiles {
  const copy = parseTexts(texts) as Files;
  change(copy);
  return copy;
}

const schema = (files: Files, name: string) => files.get(`schemas/${name}.json`);
const params = (files: Files, name = "execute_task") => schema(files, `${name}.params`);
const param = (files: Files, name: string) => params(files).properties[name];
const variants = (files: Files) => schema(files, "get_task.result").oneOf;
const progress = (files: Files) => variants(files)[1].properties.progress.properties;
const methods = (files: Files) => files.get("openrpc.json").methods;
const errors = (files: Files) => files.get("openrpc.json").components.errors;
const optional = { type: "string" };
const withParam =
  (name: string, more: object): Change =>
  (files) =>
    Object.assign(param(files, name), more);
const withParams =
  (method: string, more: object): Change =>
  (files) =>
    Object.assign(params(files, method), more);

/** Each with the place that is named. */
const breaking: [string, Change, string][] = [
  ["a method less", (files) => methods(files).splice(1, 1), "get_task: the method is gone"],
  [
    "params in another structure",
    (files) => Object.assign(methods(files)[2], { paramStructure: "by-position" }),
    "cancel_task: the method is gone",
  ],
  ["a schema less", (files) => files.delete("schemas/error.json"), "error: the schema is gone"],
  [
    "a param that is required",
    (files) => params(files).required.push("team_id"),
    "execute_task.params/team_id",
  ],
  [
    "a new param that is required",
    (files) => {
      params(files).properties.tenant = optional;
      params(files).required.push("tenant");
    },
    "execute_task.params/tenant",
  ],
  [
    "a param less",
    (files) => delete params(files).properties.callback,
    "execute_task.params/callback",
  ],
  [
    "a field of attachments less",
    (files) => delete param(files, "attachments").items.properties.sha256,
    "execute_task.params/attachments/*/sha256",
  ],
  [
    "a param of another type",
    (files) => Object.assign(param(files, "callback"), optional),
    "execute_task.params/callback: type",
  ],
  [
    "whole numbers where any were taken",
    (files) => Object.assign(progress(files).percent, { type: "integer" }),
    "get_task.result/progress/percent: type",
  ],
  ["a shorter text", withParam("text", { maxLength: 4000 }), "execute_task.params/text: maxLength"],
  [
    "a limit where there was none",
    withParam("session_id", { maxLength: 64 }),
    "execute_task.params/session_id: maxLength",
  ],
  [
    "a higher minimum",
    withParam("timeout_ms", { minimum: 1000 }),
    "execute_task.params/timeout_ms: minimum",
  ],
  [
    "fewer attachments",
    withParam("attachments", { maxItems: 5 }),
    "execute_task.params/attachments: maxItems",
  ],
  [
    "another pattern",
    withParam("thread_ts", { pattern: "^\\d+$" }),
    "execute_task.params/thread_ts: pattern",
  ],
  [
    "a value of an enum less",
    (files) => Object.assign(param(files, "history").items.properties.role, { enum: ["user"] }),
    "execute_task.params/history/*/role: enum",
  ],
  [
    "an enum where any text was taken",
    (files) => Object.assign(params(files, "cancel_task").properties.reason, { enum: ["user"] }),
    "cancel_task.params/reason: enum",
  ],
  [
    "unknown params refused",
    withParams("answer_task", { additionalProperties: false }),
    "answer_task.params/*",
  ],
  [
    "a condition more",
    withParams("answer_task", { anyOf: [{ required: ["text"] }] }),
    "answer_task.params: anyOf",
  ],
  [
    "a variant of a param less",
    (files) => schema(files, "request").properties.id.anyOf.pop(),
    "request/id: anyOf",
  ],
  [
    "variants that may overlap",
    (files) => params(files, "get_task").oneOf.push({ required: ["wait_ms"] }),
    "get_task.params: oneOf",
  ],
  [
    "an unknown keyword",
    withParams("execute_task", { dependentRequired: { history: ["session_id"] } }),
    "execute_task.params: dependentRequired",
  ],
  [
    "another meaning of an absent field",
    (files) => Object.assign(schema(files, "response").anyOf[1].properties.id, { default: "none" }),
    "response/id: default",
  ],
  [
    "a field of a result that may be absent",
    (files) => Object.assign(variants(files)[0], { required: ["status"] }),
    "get_task.result/response_text",
  ],
  [
    "a field of a result less",
    (files) => delete variants(files)[0].properties.usage,
    "get_task.result/usage",
  ],
  [
    "a field of a result that old hosts do not send, and must",
    (files) => variants(files)[0].required.push("correlation_id"),
    "get_task.result/correlation_id",
  ],
  [
    "a status that old clients do not know",
    (files) =>
      variants(files).push({ type: "object", properties: { status: { const: "queued" } } }),
    "get_task.result: oneOf",
  ],
  ["a status less", (files) => variants(files).pop(), "get_task.result: oneOf"],
  [
    "a longer text of a result than old clients take",
    (files) => Object.assign(progress(files).partial_text, { maxLength: 40_000 }),
    "get_task.result/progress/partial_text: maxLength",
  ],
  [
    "results with nothing but known fields",
    (files) => Object.assign(schema(files, "cancel_task.result"), { additionalProperties: false }),
    "cancel_task.result/*",
  ],
  ["a reason less", (files) => delete errors(files).plan_error, "error plan_error"],
  [
    "another number of a reason",
    (files) => Object.assign(errors(files).canceled, { code: -32077 }),
    "error canceled: code is -32077, and was -32076",
  ],
  [
    "a reason that is retried now",
    (files) => Object.assign(errors(files).timeout.data, { retryable: true }),
    "error timeout",
  ],
  [
    "a new reason with the number of another one",
    (files) => Object.assign(errors(files), { late: { code: -32001, data: { reason: "late" } } }),
    "error late: an old client reads its code -32001 as timeout",
  ],
];

const compatible: [string, Change][] = [
  ["a new param that may be absent", (files) => (params(files).properties.tenant = optional)],
  ["a param that may be absent now", withParams("execute_task", { required: [] })],
  ["a longer text", withParam("text", { maxLength: 80_000 })],
  ["a limit less", (files) => delete param(files, "attachments").maxItems],
  ["a lower minimum", withParam("timeout_ms", { minimum: 0 })],
  ["any text where a pattern was asked for", (files) => delete param(files, "thread_ts").pattern],
  [
    "a value of an enum more, in params",
    (files) => param(files, "history").items.properties.role.enum.push("tool"),
  ],
  [
    "another type beside the old one",
    (files) => (param(files, "callback").type = ["boolean", "string"]),
  ],
  [
    "any number where whole ones were taken",
    (files) => (param(files, "timeout_ms").type = "number"),
  ],
  [
    "a variant of a param more",
    (files) => schema(files, "request").properties.id.anyOf.push({ type: "boolean" }),
  ],
  ["a condition less", (files) => delete params(files).anyOf],
  ["another description", withParam("channel", { description: "Where" })],
  ["another title", withParams("execute_task", { title: "Params" })],
  [
    "a new field of a result that may be absent",
    (files) => (variants(files)[0].properties.model = optional),
  ],
  [
    "a new method",
    (files) => {
      methods(files).push({ name: "list_tasks", paramStructure: "by-name", params: [] });
      files.set("schemas/list_tasks.params.json", { type: "object" });
    },
  ],
  [
    "a new reason with a number of its own",
    (files) => {
      Object.assign(errors(files), {
        too_late: { code: -32078, data: { reason: "too_late", retryable: false } },
      });
      schema(files, "error.data").properties.reason.enum.push("too_late");
    },
  ],
  ["another message", (files) => Object.assign(errors(files).timeout, { message: "Too slow." })],
];

describe("a change that breaks the contract is found, and named with its place", () => {
  it.each(breaking)("%s", (_name, change, place) => {
    const found = breakingChanges({ released, current: changed(change) });
    expect(found).not.toEqual([]);
    expect(found.filter((line) => !line.startsWith(place))).toEqual([]);
  });
});

describe("a compatible change", () => {
  it.each(compatible)("is no break: %s", (_name, change) => {
    const current = changed(change);
    expect(current).not.toEqual(released);
    expect(breakingChanges({ released, current })).toEqual([]);
  });

  it.each(compatible)("still takes the params of before: %s", (_name, change) => {
    const current = changed(change);
    for (const file of [...released.keys()].filter((path) => path.endsWith(".params.json"))) {
      const isTaken = validatorOf(current.get(file));
      fc.assert(
        fc.property(anyOfSchema(released.get(file)), (value) => expect(isTaken(value)).toBe(true)),
        { numRuns: 10 },
      );
    }
  });

  it("is another order of the keywords", () => {
    expect(breakingChanges({ released, current: reversed(released) as ContractFiles })).toEqual([]);
  });
});

function reversed(value: unknown): unknown {
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, reversed(one)]));
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, one]) => [key, reversed(one)]));
}

describe("a field that goes", () => {
  /** Where fields are, as keys from the document's root: `["oneOf", "0", "properties", "artifacts"]`. */
  function fieldsOf(json: Json, at: string[] = []): string[][] {
    if (typeof json !== "object" || json === null) return [];
    const inner = Object.entries(json).flatMap(([key, value]) => fieldsOf(value, [...at, key]));
    return at.at(-2) === "properties" ? [at, ...inner] : inner;
  }

  const schemas = [...released].filter(([file]) => file.startsWith("schemas/"));
  const fields = schemas.flatMap(([file, json]) =>
    fieldsOf(json).map((at) => ({ file, at, name: at.join("/") })),
  );

  it("is one of many, of requests, results and errors", () => {
    expect(fields.length).toBeGreaterThan(100);
  });

  it.each(fields)("is noticed, also under a new name: $file $name", ({ file, at }) => {
    for (const newName of [undefined, "renamed"]) {
      const current = changed((files) => {
        const owner = at.slice(0, -2).reduce((json: Json, key) => json[key], files.get(file));
        const name = at.at(-1) ?? "";
        if (newName !== undefined) owner.properties[newName] = owner.properties[name];
        delete owner.properties[name];
        if (owner.required) owner.required = owner.required.filter((one: string) => one !== name);
      });
      expect(breakingChanges({ released, current })).not.toEqual([]);
    }
  });
});

describe("the contract's version", () => {
  function problems(version: string, change?: Change): string[] {
    const files = parseTexts(texts);
    const current = change === undefined ? files : changed(change);
    return versionProblems({
      version,
      current,
      released: { version: "1.4.2", files },
      isSame: change === undefined,
    });
  }

  it("fits an unchanged contract, released or about to be", () => {
    expect([...problems("1.4.2"), ...problems("1.5.0")]).toEqual([]);
  });

  it("may not go back, and must be a version", () => {
    expect(problems("1.4.1")).toEqual([expect.stringContaining("older than 1.4.2")]);
    expect(problems("1.5")).toEqual([expect.stringContaining('"1.5" is not a version')]);
  });

  it("grows with a compatible change", () => {
    const addition: Change = (files) => (params(files).properties.tenant = optional);
    expect(problems("1.4.2", addition)).toEqual([
      expect.stringContaining("to 1.5.0, and run npm run contracts"),
    ]);
    expect(problems("1.5.0", addition)).toEqual([]);
  });

  it("asks for a new major one where the contract breaks, and says where", () => {
    const removal: Change = (files) => methods(files).splice(1, 1);
    for (const version of ["1.4.2", "1.5.0"]) {
      expect(problems(version, removal)).toEqual([
        expect.stringContaining("to 2.0.0"),
        "get_task: the method is gone",
      ]);
    }
    expect(problems("2.0.0", removal)).toEqual([]);
  });

  it("is ordered by its numbers, not by its letters", () => {
    const sorted = ["1.10.0", "none", "2.0.0", "1.9.12", "1.9.2"].sort(compareVersions);
    expect(sorted).toEqual(["none", "1.9.2", "1.9.12", "1.10.0", "2.0.0"]);
  });

  it.each(["1.0", "01.0.0", "1.0.0-rc.1", "v1.0.0", ""])(
    "has three numbers, which %j has not",
    (text) => {
      expect(parseVersion(text)).toBeUndefined();
    },
  );
});
