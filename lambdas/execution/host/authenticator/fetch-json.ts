/** Fetches a JSON document of an issuer of tokens, within bounds. */
import { isLoopbackHost } from "../../../../contracts/methods.ts";

const maxBytes = 256 * 1024;

/** https only (http on loopback); follows no redirect; rejects where the answer is no 200, too large, or no JSON. */
export async function fetchJson({ url, signal }: { url: string; signal: AbortSignal }): Promise<unknown> {
  const { protocol, hostname } = new URL(url);
  const isFit = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  if (!isFit) throw new Error("An issuer's document must be at an https URL.");
  const response = await fetch(url, { signal, redirect: "manual", headers: { accept: "application/json" } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`An issuer answered ${response.status}.`);
  }
  return JSON.parse(await readText(response));
}

/** What is counted is what compression unfolds to. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body, and with it the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`An issuer's document is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString();
}
