/** Asks the server of the same container whether it is well: for images without a shell, let alone curl. */

const timeoutMs = 2000;

/** Rejects with a message for a person unless `GET /healthz` answers 200 in time. */
export async function checkHealth({ hostname, port }: { hostname: string; port: number }): Promise<void> {
  const url = `http://${reachable(hostname)}:${port}/healthz`;
  const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }).catch(
    (cause: unknown) => {
      throw new Error(`${url} does not answer.`, { cause });
    },
  );
  await response.body?.cancel();
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}.`);
}

/** What listens everywhere is reached on loopback. */
function reachable(hostname: string): string {
  if (hostname === "0.0.0.0") return "127.0.0.1";
  if (hostname === "::") return "[::1]";
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}
