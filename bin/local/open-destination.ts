/** One destination of the configuration, opened for a single command. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import type { WorkerDestination } from "../../lambdas/verification/worker/acts.ts";
import { openSqliteEngine } from "./engine.ts";
import { openHost } from "./execution-zone.ts";

/** For `in-process` a host with a store of its own comes along, gone with `close`. */
export async function openDestination({
  config,
  name,
  directory,
  executionPort,
  log,
}: {
  config: Config;
  name: string;
  directory: string;
  executionPort: number;
  log: Log;
}): Promise<{ destination: WorkerDestination; close(): Promise<void> }> {
  const only = Object.fromEntries(Object.entries(config.destinations).filter(([key]) => key === name));
  const host = only[name]?.transport === "in-process" ? await openTemporaryHost({ config, directory, log }) : undefined;
  const destinations = createDestinations({
    config: { ...config, destinations: only },
    localUrl: `http://127.0.0.1:${executionPort}/`,
    handle: async (request) => (host === undefined ? new Response(null, { status: 404 }) : host.handle(request)),
    readSecret,
    log,
  });
  const destination = destinations.get(name);
  if (destination === undefined) throw new Error(`There is no destination "${name}".`);
  return {
    destination,
    async close() {
      await destination.client.close();
      await host?.close();
    },
  };
}

async function openTemporaryHost({ config, directory, log }: { config: Config; directory: string; log: Log }) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-"));
  const { host, close } = await openHost({
    config: config.execution,
    openEngine: () => openSqliteEngine({ file: join(folder, "execution.db") }),
    directory,
    log,
  });
  return {
    handle: (request: Request) => host.handle(request),
    async close() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
