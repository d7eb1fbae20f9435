/** Asks the server of the same container whether it is well: for images without a shell, let alone curl. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";

/**
 * Rejects with a message for a person unless `GET /healthz` answers 200 in time. Not by `fetch`, which refuses ports
 * that browsers keep away from (6000 and 10080 among them), although a server may listen there.
 */
export async function checkHealth({
  hostname,
  port,
  timeoutMs = 2000,
}: {
  hostname: string;
  port: number;
  timeoutMs?: number;
}): Promise<void> {
  const url = `http://${checkReachable(hostname)}:${port}/healthz`;
  const status = await toHealthStatus({ url, timeoutMs }).catch((cause: unknown) => {
    throw new Error(`${url} does not answer.`, { cause });
  });
  if (status !== 200) throw new Error(`${url} answers ${status}.`);
}

async function toHealthStatus({ url, timeoutMs }: { url: string; timeoutMs: number }): Promise<number | undefined> {
  const request = get(url, { agent: false });
  const timer = setTimeout(() => request.destroy(new Error("The time is over.")), timeoutMs);
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response.statusCode;
  } finally {
    clearTimeout(timer);
    // What else there is to read is nobody's concern.
    request.destroy();
  }
}

/** What listens everywhere is reached on loopback. */
function checkReachable(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  if (hostname === "::") return "[::1]";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}
