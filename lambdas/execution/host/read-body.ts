/** Reads a body within a limit of bytes and of time. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Exchange } from "./exchange.ts";
import type { TimeLimit } from "./time-limit.ts";

/**
 * Rejects with `payload_too_large` as soon as more is announced or arrives, and with `unavailable` where the body does
 * not come in time or breaks off: nothing was done, so the same request may be sent again.
 */
export async function readBody({
  exchange,
  maxBytes,
  withinTime,
}: {
  exchange: Exchange;
  maxBytes: number;
  /** Ends with `unavailable`. */
  withinTime: TimeLimit;
}): Promise<Uint8Array> {
  if (Number(exchange.header("content-length") ?? 0) > maxBytes) throw new SekishoError("payload_too_large");
  try {
    return await withinTime(exchange.readBody({ maxBytes }));
  } catch (error) {
    throw error instanceof SekishoError ? error : new SekishoError("unavailable", { cause: error });
  }
}
