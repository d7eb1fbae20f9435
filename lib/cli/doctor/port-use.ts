/** Who uses a port of this machine: nobody, a zone of ours, or somebody else. */
import { once } from "node:events";
import { createServer } from "node:net";

export type PortUse = "free" | "zone" | "other" | "forbidden";

const answerTimeoutMs = 2000;

export type Zone = "Verification" | "Execution";

/** What a zone answers to a request that moves nothing. */
const signs: Record<Zone, { path: string; fits: (response: Response) => Promise<boolean> }> = {
  Verification: {
    path: "/slack/events",
    fits: async ({ status, headers }) => status === 405 && headers.get("allow") === "POST",
  },
  Execution: {
    path: "/healthz",
    fits: async (response) => response.status === 200 && (await response.text()) === '{"status":"ok"}',
  },
};

export async function portUse({
  zone,
  port,
  signal,
}: {
  zone: Zone;
  port: number;
  signal: AbortSignal;
}): Promise<PortUse> {
  const code = await listenCode(port);
  if (code === undefined) return "free";
  if (code !== "EADDRINUSE") return "forbidden";
  return (await answersAs({ zone, port, signal })) ? "zone" : "other";
}

/** Undefined where one can listen there. */
async function listenCode(port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host: "127.0.0.1", port });
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return undefined;
  } catch (thrown) {
    return String(Object(thrown).code);
  }
}

async function answersAs({ zone, port, signal }: { zone: Zone; port: number; signal: AbortSignal }): Promise<boolean> {
  const { path, fits } = signs[zone];
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]);
    return await fits(await fetch(`http://127.0.0.1:${port}${path}`, { redirect: "manual", signal: bounded }));
  } catch {
    return false;
  }
}
