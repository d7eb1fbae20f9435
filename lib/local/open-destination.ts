/** Opens one destination of the configuration for a single command. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnvironment } from "@sekisho/config/environment.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createDestinations, type WorkerDestination } from "@sekisho/verification/destinations.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";
import { openLocalAskerKeys, openLocalAskerTokens } from "./asker-keys.ts";
import { openHost } from "./execution-zone.ts";

export type OpenedDestination = {
  destination: WorkerDestination;
  /** The transport below the client: sends one request once, with its credentials. */
  transport: Transport;
  close(): Promise<void>;
};

type DestinationOptions = {
  config: Config;
  name: string;
  directory: string;
  executionPort: number;
  log: Log;
};

/** An `in-process` destination gets a host with a temporary store, which `close` deletes. */
export async function openDestination(options: DestinationOptions): Promise<OpenedDestination> {
  const { config, name, directory, executionPort, log } = options;
  const only = Object.fromEntries(
    Object.entries(config.destinations).filter(([key]) => key === name),
  );
  const { [name]: chosen } = only;
  const host =
    chosen?.transport === "in-process"
      ? await openTemporaryHost({ config, directory, isA2a: chosen.protocol === "a2a", log })
      : undefined;
  let transport: Transport | undefined;
  const destinations = createDestinations({
    config: { ...config, destinations: only },
    localUrl: `http://127.0.0.1:${executionPort}/`,
    handle: async (request) =>
      host === undefined ? new Response(null, { status: 404 }) : host.handle(request),
    readSecret,
    botTokenOf: () => readSecret(config.slack.botToken),
    askerTokens: openLocalAskerTokens({
      asker: config.asker,
      dataFolder: join(directory, ".sekisho"),
    }),
    credentials: defaultAwsCredentials(),
    // For STS, if the destination does not name one.
    region: readEnvironment().awsRegion,
    log,
    wrap: ({ transport: bare }) => {
      transport = bare;
      return bare;
    },
  });
  const destination = destinations.get(name);
  if (destination === undefined || transport === undefined)
    throw new Error(`There is no destination "${name}".`);
  return {
    destination,
    transport,
    async close() {
      await destination.client.close();
      await host?.close();
    },
  };
}

async function openTemporaryHost({
  config,
  directory,
  isA2a,
  log,
}: {
  config: Config;
  directory: string;
  isA2a: boolean;
  log: Log;
}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-"));
  const { host, publish, close } = await openHost({
    config: config.execution,
    askerKeys: openLocalAskerKeys({
      asker: config.asker,
      dataFolder: join(directory, ".sekisho"),
    }),
    openEngine: () => openSqliteEngine({ file: join(folder, "execution.db") }),
    directory,
    log,
  });
  // The carrier follows no address in the card.
  if (isA2a) await publish({ url: "http://127.0.0.1/" });
  return {
    handle: (request: Request) => host.handle(request),
    async close() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
