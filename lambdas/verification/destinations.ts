/** The destinations of the configuration, made ready to be called. */
import type { AuthorizerConfig, Config, Destination, SecretReference } from "../shared/config/schema.ts";
import type { Log } from "../shared/log.ts";
import { createAgentCoreTransport } from "./transport/agentcore/transport.ts";
import type { Authorizer } from "./transport/authorizer/authorizer.ts";
import { createBearerAuthorizer } from "./transport/authorizer/bearer.ts";
import { noAuthorizer } from "./transport/authorizer/none.ts";
import { createSigV4Authorizer } from "./transport/authorizer/sigv4.ts";
import { createHttpsTransport } from "./transport/https/transport.ts";
import { createInProcessTransport } from "./transport/in-process/transport.ts";
import { createClient } from "./transport/runner.ts";
import type { Transport } from "./transport/transport.ts";
import type { WorkerDestination } from "./worker/acts.ts";

export type DestinationSurroundings = {
  /** Where an `https` destination without a url goes. */
  localUrl: string;
  /** The Execution host of the same process, for `in-process`. */
  handle: (request: Request) => Promise<Response>;
  readSecret: (reference: SecretReference) => Promise<string>;
  log: Log;
  /** Wraps every transport (the local page watches the wire so). */
  wrap?: (transport: Transport) => Transport;
};

/** One client a destination. Nothing is opened before the first call. */
export function createDestinations({
  config,
  ...surroundings
}: DestinationSurroundings & { config: Pick<Config, "destinations" | "limits" | "slack"> }): Map<
  string,
  WorkerDestination
> {
  const { wrap = (transport) => transport, readSecret, log } = surroundings;
  const { callTimeoutMs } = config.limits;
  return new Map(
    Object.entries(config.destinations).map(([name, destination]) => {
      const { dialect, idempotent, forwardBotToken } = destination;
      const transport = wrap(createTransport({ destination, ...surroundings }));
      const client = createClient({ transport, destination: { name, dialect, idempotent, callTimeoutMs }, log });
      const botToken = forwardBotToken ? () => readSecret(config.slack.botToken) : undefined;
      return [name, { client, callTimeoutMs, botToken }];
    }),
  );
}

function createTransport({
  destination,
  localUrl,
  handle,
  readSecret,
}: DestinationSurroundings & { destination: Destination }): Transport {
  const { maxResponseBytes } = destination;
  switch (destination.transport) {
    case "in-process":
      return createInProcessTransport({ handle, maxResponseBytes });
    case "https": {
      const authorizer = createAuthorizer({ authorizer: destination.authorizer, readSecret });
      return createHttpsTransport({ url: destination.url ?? localUrl, authorizer, maxResponseBytes });
    }
    case "agentcore": {
      const { runtimeArn, qualifier, endpoint, stopAfterResult } = destination;
      return createAgentCoreTransport({ runtimeArn, qualifier, endpoint, stopAfterResult, maxResponseBytes });
    }
  }
}

function createAuthorizer({
  authorizer,
  readSecret,
}: Pick<DestinationSurroundings, "readSecret"> & { authorizer: AuthorizerConfig }): Authorizer {
  switch (authorizer.type) {
    case "none":
      return noAuthorizer;
    case "bearer":
      return createBearerAuthorizer({ readToken: () => readSecret(authorizer.token) });
    case "sigv4":
      return createSigV4Authorizer({ service: authorizer.service, region: authorizer.region });
  }
}
