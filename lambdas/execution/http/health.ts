/** The health check of a container. It asks the server in the same container, for images without a shell or curl. */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";

/**
 * Rejects with a message for a person unless `GET /healthz` answers 200 in time. Uses node:http, because `fetch` refuses ports that
 * browsers block, such as 6000 and 10080.
 */
export async function checkHealth(request: {
  hostname: string;
  port: number;
  timeoutMs?: number;
}): Promise<void> {
  const { hostname, port, timeoutMs = 2000 } = request;
  const url = `http://${toReachableHost(hostname)}:${port}/healthz`;
  const status = await fetchStatus({ url, timeoutMs }).catch((cause: unknown) => {
    throw new Error(`${url} does not answer.`, { cause });
  });
  if (status !== 200) throw new Error(`${url} answers ${status}.`);
}

async function fetchStatus({
  url,
  timeoutMs,
}: {
  url: string;
  timeoutMs: number;
}): Promise<number | undefined> {
  const request = get(url, { agent: false });
  const timer = setTimeout(
    () => request.destroy(new Error("The server did not answer in time.")),
    timeoutMs,
  );
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return response.statusCode;
  } finally {
    clearTimeout(timer);
    // The body is not needed.
    request.destroy();
  }
}

/** A server that listens on all addresses is reached on loopback. */
function toReachableHost(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  if (hostname === "::") return "[::1]";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}
