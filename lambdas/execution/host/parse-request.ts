/** From bytes to one JSON-RPC Request, or to the error that says why it is none. */
import * as z from "zod";
import { type JsonRpcRequest, requestSchema } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { isTooDeep } from "../../shared/json-depth.ts";

const compiledSchema = z.compile(requestSchema);
/** A byte order mark is no JSON either. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws `parse_error` for what is no JSON in UTF-8, and `invalid_request` for JSON that is no Request or nested too deeply. */
export function parseRequest(body: Uint8Array): JsonRpcRequest {
  const parsed = compiledSchema.safeParse(parseJson(body));
  if (!parsed.success || isTooDeep(body)) throw new SekishoError("invalid_request");
  return parsed.data;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(strictUtf8.decode(body));
  } catch (error) {
    throw new SekishoError("parse_error", { cause: error });
  }
}
