/** A bound on a wait that cannot be aborted: whoever waits goes on, the work may still end by itself. */
import { SekishoError } from "../../../contracts/errors.ts";

/** Settles as `work` does, or rejects with `timeout` after `timeoutMs`. What `work` does later is ignored. */
export async function withinDeadline<T>({ work, timeoutMs }: { work: Promise<T>; timeoutMs: number }): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new SekishoError("timeout")), timeoutMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
