/** The entry `./contracts`: schemas, types and errors of the contract between the zones. docs/reference/contract.md describes it. */
export { canRepeat } from "./certainty.ts";
export { type Dialect, dialectSchema } from "./dialects.ts";
export {
  type JsonRpcErrorObject,
  type JsonRpcResponse,
  type RequestId,
  requestSchema,
  responseSchema,
} from "./envelope.ts";
export { decodeError, encodeError, errorDataSchema } from "./error-data.ts";
export { type Certainty, isRetryable, type Reason, SekishoError } from "./errors.ts";
export * from "./methods.ts";
export { contractVersion } from "./version.ts";
