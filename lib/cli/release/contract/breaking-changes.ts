/**
 * What of a released contract no longer holds in the current one. The zones are deployed one after the other, so either may
 * be the older: an old client's requests must be taken, and results and errors be understood in both directions.
 */
import { isDeepStrictEqual } from "node:util";
import type { OpenRpcFile } from "./changed-errors.ts";
import { changedErrors } from "./changed-errors.ts";
import { findLosses } from "./find-losses.ts";
import { goneFields } from "./gone-fields.ts";
import type { SchemaLoss } from "./json-schema.ts";
import { normalize, type Schema } from "./json-schema.ts";

/** The parsed files of a contract by their paths below `contracts/generated`. */
export type ContractFiles = ReadonlyMap<string, unknown>;

type Comparison = { released: ContractFiles; current: ContractFiles };

/** A line for each: the place, the path in the value, what changed, and who would notice. None: the change is compatible. */
export function breakingChanges({ released, current }: Comparison): string[] {
  const gone = goneMethods({ released, current });
  return [
    ...gone.map((name) => `${name}: the method is gone`),
    ...changedErrors({ released: documentOf(released), current: documentOf(current) }),
    ...[...released.keys()].flatMap((file) => {
      const [, name] = /^schemas\/(.+)\.json$/.exec(file) ?? [];
      if (name === undefined || gone.some((method) => name.startsWith(`${method}.`))) return [];
      return changesOf({ name, file, released, current });
    }),
  ];
}

function goneMethods({ released, current }: Comparison): string[] {
  const there = documentOf(current).methods;
  const isThere = (method: OpenRpcFile["methods"][number]) =>
    there.some(({ name, paramStructure }) => isDeepStrictEqual({ name, paramStructure }, pickMethod(method)));
  return documentOf(released).methods.flatMap((method) => (isThere(method) ? [] : [method.name]));
}

function pickMethod({ name, paramStructure }: OpenRpcFile["methods"][number]) {
  return { name, paramStructure };
}

function documentOf(files: ContractFiles): OpenRpcFile {
  const document = files.get("openrpc.json");
  if (document === undefined) throw new Error("The contract has no openrpc.json.");
  return document as OpenRpcFile;
}

function changesOf({ name, file, released, current }: Comparison & { name: string; file: string }): string[] {
  if (!current.has(file)) return [`${name}: the schema is gone`];
  const before = schemaOf(name, released.get(file));
  const now = schemaOf(name, current.get(file));
  const gone = goneFields({ released: before, current: now, path: "" });
  if (name === "request" || name.endsWith(".params")) {
    return [
      ...formatLosses(
        name,
        findLosses({ from: before, to: now, path: "" }),
        "an old client sends it, a new host refuses it",
      ),
      ...gone.map((path) => `${name}${path}: the param is gone`),
    ];
  }
  return [
    ...formatLosses(
      name,
      findLosses({ from: now, to: before, path: "" }),
      "a new host sends it, an old client refuses it",
    ),
    ...formatLosses(
      name,
      findLosses({ from: before, to: now, path: "" }),
      "an old host sends it, a new client refuses it",
    ),
    ...gone.map((path) => `${name}${path}: the field is gone (an old host sends it, a new client ignores it)`),
  ];
}

/** Which reasons there are is told by their numbers (`changedErrors`): a decoder takes an unknown one for `internal`. */
function schemaOf(name: string, json: unknown): Schema {
  const schema = normalize(json);
  const reason = schema.properties?.reason;
  if (name !== "error.data" || reason === undefined) return schema;
  const { enum: _reasons, ...anyReason } = reason;
  return { ...schema, properties: { ...schema.properties, reason: anyReason } };
}

function formatLosses(name: string, losses: readonly SchemaLoss[], who: string): string[] {
  return losses.map(({ path, what }) => `${name}${path}: ${what} (${who})`);
}
