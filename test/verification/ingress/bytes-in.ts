/** The bytes of an ingress request, read or still to be read. */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";

export async function bytesIn({ body }: Parameters<Ingress>[0]): Promise<Uint8Array> {
  const read = typeof body === "function" ? await body() : body;
  if (typeof read === "string") throw new Error(`The body was refused: ${read}.`);
  return read;
}
