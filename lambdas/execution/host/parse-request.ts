/** From bytes to one JSON-RPC Request, or to the error that says why it is none. */
import { isUtf8 } from "node:buffer";
import { type JsonRpcRequest, requestSchema } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";

/** Throws `parse_error` for what is no JSON in UTF-8 and `invalid_request` for JSON that is no Request. */
export function parseRequest(body: Uint8Array): JsonRpcRequest {
  const parsed = requestSchema.safeParse(parseJson(body));
  if (!parsed.success) throw new SekishoError("invalid_request");
  return parsed.data;
}

function parseJson(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw new SekishoError("parse_error");
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  } catch (error) {
    throw new SekishoError("parse_error", { cause: error });
  }
}
