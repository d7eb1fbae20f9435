/** The entry `./contracts`: schemas, types and errors of the contract between the zones. docs/reference/contract.md describes it. */
export { type Dialect, dialectSchema } from "../../contracts/dialects.ts";
export {
  type JsonRpcErrorObject,
  type JsonRpcResponse,
  type RequestId,
  requestSchema,
  responseSchema,
} from "../../contracts/envelope.ts";
export { decodeError, encodeError, errorDataSchema } from "../../contracts/error-data.ts";
export { isRetryable, type Reason, SekishoError } from "../../contracts/errors.ts";
export * from "../../contracts/methods.ts";
export { contractVersion } from "../../contracts/version.ts";
