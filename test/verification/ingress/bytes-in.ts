/** The bytes of an ingress request, read or still to be read. */
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";

export async function bytesIn({ body }: Parameters<Ingress>[0]): Promise<Uint8Array> {
  const readValue = typeof body === "function" ? await body() : body;
  if (typeof readValue === "string") throw new Error(`The body was refused: ${readValue}.`);
  return readValue;
}
