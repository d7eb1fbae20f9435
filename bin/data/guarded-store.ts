/** A store on AWS as a command calls it: each call has a deadline, and says what to do where AWS refuses it. */
import type { ErasableStore } from "../../lambdas/shared/engine/ports.ts";
import { callAws } from "../aws/aws-failure.ts";
import type { StoredRecord } from "./record.ts";

export function guardedStore({
  store,
  signal,
}: {
  store: ErasableStore<StoredRecord>;
  signal: AbortSignal;
}): ErasableStore<StoredRecord> {
  const guarded = <R>(doing: string, call: () => Promise<R>) => callAws({ doing, signal, call });
  return {
    get: (request) => guarded("read a record", () => store.get(request)),
    create: (request) => guarded("write a record", () => store.create(request)),
    replace: (request) => guarded("write a record", () => store.replace(request)),
    list: (request) => guarded("list records", () => store.list(request)),
    remove: (request) => guarded("delete a record", () => store.remove(request)),
  };
}
