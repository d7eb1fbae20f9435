/** The text of every generated file, by its path below `contracts/generated/`. */
import * as z from "zod";
import { errorObjectSchema, requestSchema, responseSchema } from "./envelope.ts";
import { errorDataSchema } from "./error-data.ts";
import { methods } from "./methods.ts";
import { buildOpenRpc } from "./openrpc.ts";

export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map([["openrpc.json", toText(buildOpenRpc())]]);
  for (const [name, schema] of Object.entries(shapes())) {
    files.set(`schemas/${name}.json`, toText(z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" })));
  }
  return files;
}

/** Every shape as its receiver accepts it: unknown members are allowed, as everywhere in the contract. */
function shapes(): Record<string, z.ZodType> {
  const ofMethods = Object.entries(methods).flatMap(([name, { params, result }]) => [
    [`${name}.params`, params] as const,
    [`${name}.result`, result] as const,
  ]);
  return {
    request: requestSchema,
    response: responseSchema,
    error: errorObjectSchema,
    "error.data": errorDataSchema,
    ...Object.fromEntries(ofMethods),
  };
}

function toText(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
