/** The JSON-RPC 2.0 envelope (https://www.jsonrpc.org/specification, sections 4 and 5), as narrowed by the zone contract. */
import * as z from "zod";

/** Lower-case UUID, as Sekisho sends it as the id of every request. */
export const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** What the host accepts as an id: any string of 1 to 128 characters or an integer. `null` or a missing id is no Request. */
export const requestIdSchema = z.union([z.string().min(1).max(128), z.int()]);
export type RequestId = z.infer<typeof requestIdSchema>;

/** One Request object. `params` is checked per method; an array there is `invalid_params`, so it passes the envelope. */
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

export const errorObjectSchema = z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() });
export type JsonRpcErrorObject = z.infer<typeof errorObjectSchema>;

export type JsonRpcResponse =
  | { jsonrpc: "2.0"; id: RequestId | null; result: unknown }
  | { jsonrpc: "2.0"; id: RequestId | null; error: JsonRpcErrorObject };

const version = z.literal("2.0");
const responseId = requestIdSchema.nullable();
const absent = z.never().optional();

/**
 * One Response object as a client takes it: exactly one of `result` and `error` (a `null` result is one), unknown members
 * ignored. An error without `id`, as some peers send it, reads as `id: null`.
 * Whether `id` is the one that was sent is the client's own check.
 */
export const responseSchema: z.ZodType<JsonRpcResponse> = z.union([
  z.object({
    jsonrpc: version,
    id: responseId,
    result: z.unknown().refine((result) => result !== undefined, "no result"),
    error: absent,
  }),
  z.object({ jsonrpc: version, id: responseId.default(null), error: errorObjectSchema, result: absent }),
]);
