/** The generated files: the OpenRPC document and one JSON Schema per shape. */
import * as z from "zod";
import { errorObjectSchema, requestSchema, responseSchema } from "./envelope.ts";
import { errorDataSchema } from "./error-data.ts";
import { jsonSchemaOptions } from "./json-schema.ts";
import { methods } from "./methods.ts";
import { buildOpenRpc } from "./openrpc.ts";

/** The texts by path below `contracts/generated/`. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map([["openrpc.json", toText(buildOpenRpc())]]);
  for (const [name, schema] of Object.entries(shapes())) {
    files.set(
      `schemas/${name}.json`,
      toText(z.toJSONSchema(schema, { target: "draft-2020-12", ...jsonSchemaOptions })),
    );
  }
  return files;
}

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
