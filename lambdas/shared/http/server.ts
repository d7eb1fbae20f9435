/** Starts and closes the HTTP servers of both zones: explains a port that is in use, and lets answers under way end. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Requests under way at the close get this long. */
const closeGraceMs = 5000;

/** Resolves to the port, a free one for 0. `portSetting` says how another port is chosen. */
export async function startListening({
  server,
  hostname,
  port,
  portSetting,
}: {
  server: Server;
  hostname: string;
  port: number;
  portSetting: string;
}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host: hostname, port }, resolve);
  try {
    await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const remedy = `Stop what listens there, or choose another port (${portSetting}).`;
    throw new Error(`Port ${port} on ${hostname} is already in use. ${remedy}`, { cause: error });
  }
  server.removeListener("error", reject);
  return (server.address() as AddressInfo).port;
}

/** Takes no new connection, lets requests under way end, and cuts what is left after the grace. */
export async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await promise;
  clearTimeout(cut);
}
