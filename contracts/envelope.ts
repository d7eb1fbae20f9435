/** The JSON-RPC 2.0 envelope (https://www.jsonrpc.org/specification, sections 4 and 5), narrowed by the contract between the zones. */
import * as z from "zod";
import { optionalField } from "./optional-field.ts";

/** A lower-case UUID: the id of every request that Sekisho sends. */
export const uuidPattern =
  /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The ids that a host accepts. A request with a null or missing id is invalid. */
export const requestIdSchema = z.union([z.string().min(1).max(128), z.int()]);
export type RequestId = z.infer<typeof requestIdSchema>;

/** Leaves `params` to the method, which refuses an array as `invalid_params`. */
export const requestSchema = z.object({
  jsonrpc: z.literal("2.0"),
  method: z
    .string()
    .min(1)
    .refine((name) => !name.startsWith("rpc.") || name === "rpc.discover", "reserved"),
  params: z.unknown().optional(),
  id: requestIdSchema,
});
export type JsonRpcRequest = z.infer<typeof requestSchema>;

export const errorObjectSchema = z.object({
  code: z.int(),
  message: z.string(),
  data: z.unknown().optional(),
});
export type JsonRpcErrorObject = z.infer<typeof errorObjectSchema>;

export type JsonRpcResponse =
  | { jsonrpc: "2.0"; id: RequestId | null; result: unknown }
  | { jsonrpc: "2.0"; id: RequestId | null; error: JsonRpcErrorObject };

const version = z.literal("2.0");
const responseId = requestIdSchema.nullable();
const absent = optionalField(z.never());

/**
 * A response has exactly one of `result` and `error`; a `null` result counts, unless there is an error. Some peers send errors without an
 * `id`, which reads as `id: null`. The client itself compares `id` with the one that it sent.
 */
export const responseSchema: z.ZodType<JsonRpcResponse> = z.union([
  z
    .object({
      jsonrpc: version,
      id: responseId,
      result: z.unknown().refine((result) => result !== undefined, "no result"),
      error: absent,
    })
    .transform(({ error: _, ...response }) => response),
  z
    .object({
      jsonrpc: version,
      id: responseId.default(null),
      error: errorObjectSchema,
      result: absent,
    })
    .transform(({ result: _, ...response }) => response),
]);
