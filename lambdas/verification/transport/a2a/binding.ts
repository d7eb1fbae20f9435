/** The seam of A2A's bindings (A2A 1.0, section 5): how an operation becomes an HTTP request, and how its response is read. */
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { HttpMethod } from "@sekisho/runtime/http/client.ts";
import type { TransportResponse } from "../transport.ts";
import type { UsableInterface } from "./interfaces.ts";

export type CalledOperation =
  | "SendMessage"
  | "GetTask"
  | "SubscribeToTask"
  | "CancelTask"
  | "ListTasks";

/** `id` identifies the call. */
export type OperationCall<O extends CalledOperation> = {
  to: UsableInterface;
  operation: O;
  params: OperationParams<O>;
  id: string;
};

export type BindingRequest = {
  method: HttpMethod;
  url: URL;
  /** The types of the request and of the response, where they are not both `application/json`. */
  headers?: Readonly<Record<string, string>>;
  body: Uint8Array;
};

/**
 * A response without a result for this call (an error, another id, an unreadable body), which the caller passes on unchanged. The errors of
 * every binding are those of JSON-RPC in it. `isVersionRefused` means that nothing was processed, so that another interface may be tried.
 */
export type PassedResponse = { passed: TransportResponse; isVersionRefused: boolean };

/** The result of an event, unchecked. Others are no event of the call, or the call's error. */
export type StreamedResult = { result: unknown } | "skipped" | "failed";

export type Binding = {
  /** Undefined if the interface does not have the operation. */
  write<O extends CalledOperation>(call: OperationCall<O>): BindingRequest | undefined;
  /** Returns the result unchecked. */
  read<O extends CalledOperation>(
    call: OperationCall<O> & { response: TransportResponse },
  ): { result: unknown } | PassedResponse;
  /** Reads an event of a stream. */
  readEvent(request: {
    event: Record<string, unknown>;
    to: UsableInterface;
    id: string;
  }): StreamedResult;
};
