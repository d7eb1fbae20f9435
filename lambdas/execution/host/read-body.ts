/** Reads a body within a limit of bytes and of time. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Exchange } from "./exchange.ts";

/**
 * Rejects with `payload_too_large` as soon as more is announced or arrives, and with `unavailable` where the body does
 * not come in time or breaks off: nothing was done, so the same request may be sent again.
 */
export async function readBody({
  exchange,
  maxBytes,
  timeoutMs,
}: {
  exchange: Exchange;
  maxBytes: number;
  timeoutMs: number;
}): Promise<Uint8Array> {
  if (Number(exchange.header("content-length") ?? 0) > maxBytes) throw new SekishoError("payload_too_large");
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new SekishoError("unavailable")), timeoutMs);
  try {
    return await Promise.race([exchange.readBody({ maxBytes }), late]);
  } catch (error) {
    throw error instanceof SekishoError ? error : new SekishoError("unavailable", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
