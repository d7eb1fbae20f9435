import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems give to connections (from 32768 on Linux, from 49152 elsewhere). */
const firstPort = 20_000;
const endPort = 32_768;
const maxAttempts = 100;

/**
 * Finds a port that no process of this machine listens on. No connection takes it meanwhile, so it is still free when a process that
 * starts later listens on it, also after a restart.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const port = randomInt(firstPort, endPort);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port was found between ${firstPort} and ${endPort}.`);
}

/** True if no process of this machine listens on the port. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
