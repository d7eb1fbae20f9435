/** Starts and closes the HTTP servers of both zones. Explains a port in use, and lets open requests finish. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** How long open requests may still take when the server closes. */
const closeGraceMs = 5000;

/** Resolves to the port. 0 selects a free one. `portSetting` says how to choose another. */
export async function startListening(options: {
  server: Server;
  hostname: string;
  port: number;
  portSetting: string;
}): Promise<number> {
  const { server, hostname, port, portSetting } = options;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host: hostname, port }, resolve);
  try {
    await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const remedy = `Stop the program that listens there, or choose another port (${portSetting}).`;
    throw new Error(`Port ${port} on ${hostname} is already in use. ${remedy}`, { cause: error });
  }
  server.removeListener("error", reject);
  return (server.address() as AddressInfo).port;
}

/** Accepts no new connection, lets open requests finish, and closes what is left after the grace time. */
export async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const cut = setTimeout(() => server.closeAllConnections(), closeGraceMs);
  await promise;
  clearTimeout(cut);
}
