/** The generated documents are up to date, valid by their specifications, and agree with the zod schemas. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import * as metaSchemaPackage from "@open-rpc/meta-schema";
import { toErrorCode } from "@sekisho/contracts/dialects.ts";
import { errorDataSchema } from "@sekisho/contracts/error-data.ts";
import { reasons } from "@sekisho/contracts/errors.ts";
import { examples } from "@sekisho/contracts/examples.ts";
import { generatedFiles } from "@sekisho/contracts/generated-files.ts";
import { type MethodName, methods } from "@sekisho/contracts/methods.ts";
import type { OpenRpc } from "@sekisho/contracts/openrpc.ts";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { methodCases } from "./method-cases.ts";

const folder = join(import.meta.dirname, "../../contracts/generated");
const files = generatedFiles();
const formats = {
  "date-time": true,
  uri: true,
  "uri-reference": true,
  regex: true,
  email: true,
  base64: true,
} as const;

/** The meta-schema refers to JSON Schema draft 7 in two spellings. Nothing is fetched. */
const jsonSchemaTools = ["https://meta.json-schema.tools", "https://meta.json-schema.tools/"].map(
  ($id) => ({
    $id,
    allOf: [{ $ref: "http://json-schema.org/draft-07/schema#" }],
    definitions: { JSONSchemaObject: { properties: { $ref: { type: "string" } } } },
  }),
);

function openRpcValidator() {
  // The package's own types do not know what it exports.
  const { openrpcDocument } = metaSchemaPackage as unknown as {
    openrpcDocument: Record<string, unknown>;
  };
  const { $schema, ...metaSchema } = openrpcDocument;
  return new Ajv({ strict: false, formats, schemas: jsonSchemaTools }).compile(metaSchema);
}

describe("the generated files", () => {
  it("the generated files match the output of `npm run contracts` byte for byte", () => {
    const present = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
    expect(present.sort()).toEqual([...files.keys()].sort());
    for (const [path, text] of files) expect(readFileSync(join(folder, path), "utf8")).toBe(text);
  });
});

describe("the OpenRPC document", () => {
  const document: OpenRpc = JSON.parse(files.get("openrpc.json") ?? "");

  it("fits the OpenRPC document into the official meta-schema", () => {
    const validate = openRpcValidator();
    validate(document);
    expect(validate.errors ?? []).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["without methods", { ...document, methods: undefined }],
    [
      "with an invalid schema of a param",
      { ...document, methods: [{ name: "m", params: [{ name: "p", schema: { type: 7 } }] }] },
    ],
  ])("rejects an OpenRPC document %s by the official meta-schema", (_name, brokenDocument) => {
    expect(openRpcValidator()(JSON.parse(JSON.stringify(brokenDocument)))).toBe(false);
  });

  it("contains a valid example of every method and every error", () => {
    for (const name of Object.keys(methods) as MethodName[]) {
      const { params, result } = examples[name];
      expect(methods[name].params.safeParse(params).error).toBeUndefined();
      expect(methods[name].result.safeParse(result).error).toBeUndefined();
      expect(document.methods.find((method) => method.name === name)?.examples).toHaveLength(1);
    }
    const errors = Object.values(document.components.errors as Record<string, { data: unknown }>);
    for (const { data } of errors) expect(errorDataSchema.safeParse(data).error).toBeUndefined();
  });

  it("refers only to existing components", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(
      ([, reference = ""]) => reference,
    );
    const knownNames = Object.entries(document.components).flatMap(([kind, entries]) =>
      Object.keys(entries).map((name) => `#/components/${kind}/${name}`),
    );
    expect(references.length).toBeGreaterThan(0);
    expect(references.filter((reference) => !knownNames.includes(reference))).toEqual([]);
  });

  it("lists every method with named params, and every reason with its number in the zone dialect", () => {
    expect(document.methods.map((method) => method.name)).toEqual(Object.keys(methods));
    expect(document.methods.map((method) => method.paramStructure)).toEqual(
      document.methods.map(() => "by-name"),
    );
    const numbers = Object.entries(document.components.errors as Record<string, { code: number }>);
    expect(numbers.map(([reason, { code }]) => [reason, code])).toEqual(
      reasons.map((reason) => [reason, toErrorCode({ reason, dialect: "zone" })]),
    );
  });

  it("gives no method two errors of the same number, which OpenRPC forbids", () => {
    const errors = document.components.errors as Record<string, { code: number }>;
    for (const method of document.methods) {
      const codes = (method.errors as { $ref: string }[]).map(
        ({ $ref }) => errors[$ref.split("/").at(-1) ?? ""]?.code,
      );
      expect(new Set(codes).size).toBe(codes.length);
    }
  });
});

describe("the JSON Schemas", () => {
  it.each([...files.keys()].filter((path) => path.startsWith("schemas/")))(
    "the file %s is valid JSON Schema 2020-12, and compiles strictly without formats",
    (path) => {
      const schema = JSON.parse(files.get(path) ?? "");
      expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
      const ajv = new Ajv2020({ strict: true });
      expect(ajv.validateSchema(schema)).toBe(true);
      expect(() => ajv.compile(schema)).not.toThrow();
    },
  );

  it.each(methodCases.filter((one) => one.value !== undefined && !one.codeOnly))(
    "agrees with zod about $method $side: $name (accepted: $accepted)",
    ({ method, side, value, accepted }) => {
      expect(validatorOf(`${method}.${side}`)(value)).toBe(accepted);
    },
  );

  it.each<[MethodName, "params" | "result", unknown]>([
    [
      "execute_task",
      "params",
      { text: "hi", session_id: "", history: [{ role: "user", text: "hi", ts: null }] },
    ],
    ["get_task", "params", { task_id: null, request_id: "r", wait_ms: "" }],
    [
      "execute_task",
      "result",
      { status: "success", response_text: "hi", artifacts: [{ url: null, text: "" }] },
    ],
    [
      "get_task",
      "result",
      { status: "accepted", task_id: "t", expires_at: "", progress: { percent: null } },
    ],
  ])(
    "accepts a value as %s's %s in JSON Schema once its unset members are removed",
    (method, side, value) => {
      const validate = validatorOf(`${method}.${side}`);
      expect(methods[method][side].safeParse(value).error).toBeUndefined();
      expect([validate(value), validate(withoutUnset(value))]).toEqual([false, true]);
    },
  );

  it.each<[string, unknown, boolean]>([
    ["request", { jsonrpc: "2.0", method: "m", id: 1 }, true],
    ["request", { jsonrpc: "2.0", method: "m" }, false],
    ["response", { jsonrpc: "2.0", id: null, result: null, more: 1 }, true],
    ["response", { jsonrpc: "2.0", id: 1, result: 1, error: { code: 1, message: "" } }, false],
    ["response", { jsonrpc: "2.0", id: 1 }, false],
    ["error", { code: 1, message: "", data: {} }, true],
    ["error", { code: "1", message: "" }, false],
    ["error.data", { reason: "timeout", retryable: false }, true],
    ["error.data", { reason: "ambiguous", retryable: false }, false],
  ])("the JSON Schema %s decides whether to accept %j: %p", (name, value, isAccepted) => {
    expect(validatorOf(name)(value)).toBe(isAccepted);
  });
});

/** What docs/reference/contract.md tells readers of the schemas to do. None of these members is required. */
function withoutUnset(value: unknown): unknown {
  const isUnset = (name: string, member: unknown) =>
    member === null || (member === "" && name !== "text");
  const text = JSON.stringify(value, (name, member) =>
    isUnset(name, member) ? undefined : member,
  );
  return JSON.parse(text);
}

const validators = new Map<string, (value: unknown) => boolean>();
function validatorOf(name: string): (value: unknown) => boolean {
  const knownNames = validators.get(name);
  if (knownNames !== undefined) return knownNames;
  const compiledSchema = new Ajv2020().compile(JSON.parse(files.get(`schemas/${name}.json`) ?? ""));
  const validate = (value: unknown) => compiledSchema(value) === true;
  validators.set(name, validate);
  return validate;
}
