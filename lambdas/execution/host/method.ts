/** What a method of the host is: it gets validated params and who calls, and resolves to the result or rejects with a SekishoError. */
import type { RequestId } from "../../../contracts/envelope.ts";
import type { MethodName, ParamsOf, ResultOf } from "../../../contracts/methods.ts";
import type { Trace } from "../../shared/trace.ts";

/** `principal` is who was authenticated; `receivedAtMs` is when the request was, before its body was read. */
export type Caller = { principal: string; trace: Trace | undefined; receivedAtMs: number };
export type MethodCall<M extends MethodName> = { params: ParamsOf<M>; id: RequestId; caller: Caller };
export type Method<M extends MethodName> = (call: MethodCall<M>) => Promise<ResultOf<M>>;
export type Methods = { [M in MethodName]: Method<M> };
