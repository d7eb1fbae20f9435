/** What the worker calls: one typed method call to a destination, whatever carries it. */
import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import type { Trace } from "../../shared/trace.ts";

/**
 * `timeoutMs` bounds the whole call, retries included; `id` is the JSON-RPC id and stays the same through them.
 * `requestId` is the task's, whatever the method: it is for the log, and the same as `id` where the method is `execute_task`.
 */
export type Call<M extends MethodName> = {
  method: M;
  params: ParamsOf<M>;
  id: string;
  requestId: string;
  sessionId: string;
  timeoutMs: number;
  trace: Trace;
  signal?: AbortSignal | undefined;
};

/** Resolves to the validated result; rejects with a SekishoError, whose reason may be `ambiguous`. */
export type ExecutionClient = {
  call<M extends MethodName>(call: Call<M>): Promise<ResultOf<M>>;
  /** Ends whatever the destination keeps warm for the session; does nothing where there is nothing to end. */
  stopSession?(request: { sessionId: string; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
};
