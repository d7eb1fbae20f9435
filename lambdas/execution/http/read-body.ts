/** Reads a body within a limit of bytes and of time. */
import { SekishoError } from "../../../contracts/errors.ts";
import { isAnnouncedLarger } from "../../shared/http/read-body.ts";
import type { TimeLimit } from "../runs/time-limit.ts";
import type { Exchange } from "./exchange.ts";

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
  const isTooLarge = isAnnouncedLarger({ contentLength: exchange.header("content-length"), maxBytes });
  if (isTooLarge) throw new SekishoError("payload_too_large");
  const body = await withinTime(exchange.readBody({ maxBytes })).catch((error: unknown) => {
    throw error instanceof SekishoError ? error : new SekishoError("unavailable", { cause: error });
  });
  if (body === "too_large") throw new SekishoError("payload_too_large");
  return body;
}
