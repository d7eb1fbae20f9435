/** The destinations of the configuration, made ready to be called. */
import type { AwsCredentialsProvider } from "../shared/aws/credentials.ts";
import { defaultAwsCredentials } from "../shared/aws/default-credentials.ts";
import type { AuthorizerConfig } from "../shared/config/authorizer-schema.ts";
import type { Destination } from "../shared/config/destination-schema.ts";
import type { Config } from "../shared/config/schema.ts";
import type { SecretReference } from "../shared/config/values.ts";
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
  /** Where an `https` destination without a url goes; undefined where there is no such place. */
  localUrl?: string | undefined;
  /** The Execution host of the same process, for `in-process`; undefined where there is none. */
  handle?: ((request: Request) => Promise<Response>) | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** For calls that AWS signs; the SDK's default chain where absent. */
  credentials?: AwsCredentialsProvider | undefined;
  log: Log;
  /** Wraps every transport (the local page watches the wire so). */
  wrap?: (transport: Transport) => Transport;
};

/** One client a destination that there is a way to. Nothing is opened before the first call. */
export function createDestinations({
  config,
  ...surroundings
}: DestinationSurroundings & { config: Pick<Config, "destinations" | "limits" | "slack"> }): Map<
  string,
  WorkerDestination
> {
  const { wrap = (transport) => transport, readSecret, log } = surroundings;
  const { callTimeoutMs, concurrency, sendsPerDestination = Math.ceil(concurrency / 2) } = config.limits;
  return new Map(
    Object.entries(config.destinations).flatMap(([name, destination]) => {
      const { dialect, idempotent, forwardBotToken } = destination;
      const bare = createTransport({ destination, ...surroundings });
      if (bare === undefined) return [];
      const transport = wrap(bare);
      const client = createClient({ transport, destination: { name, dialect, idempotent, callTimeoutMs }, log });
      const botToken = forwardBotToken ? () => readSecret(config.slack.botToken) : undefined;
      const { longPollMs } = destination;
      return [[name, { client, callTimeoutMs, maxSends: sendsPerDestination, longPollMs, botToken }] as const];
    }),
  );
}

function createTransport({
  destination,
  localUrl,
  handle,
  readSecret,
  credentials = defaultAwsCredentials(),
}: DestinationSurroundings & { destination: Destination }): Transport | undefined {
  const { maxResponseBytes } = destination;
  switch (destination.transport) {
    case "in-process":
      return handle && createInProcessTransport({ handle, maxResponseBytes });
    case "https": {
      const url = destination.url ?? localUrl;
      const authorizer = createAuthorizer({ authorizer: destination.authorizer, readSecret, credentials });
      return url === undefined ? undefined : createHttpsTransport({ url, authorizer, maxResponseBytes });
    }
    case "agentcore": {
      const { runtimeArn, qualifier, endpoint, stopAfterResult } = destination;
      return createAgentCoreTransport({
        runtimeArn,
        qualifier,
        endpoint,
        credentials,
        stopAfterResult,
        maxResponseBytes,
      });
    }
  }
}

function createAuthorizer({
  authorizer,
  readSecret,
  credentials,
}: Pick<DestinationSurroundings, "readSecret"> & {
  authorizer: AuthorizerConfig;
  credentials: AwsCredentialsProvider;
}): Authorizer {
  switch (authorizer.type) {
    case "none":
      return noAuthorizer;
    case "bearer":
      return createBearerAuthorizer({ readToken: () => readSecret(authorizer.token) });
    case "sigv4":
      return createSigV4Authorizer({ service: authorizer.service, region: authorizer.region, credentials });
    default:
      throw new Error(`The authorizer ${authorizer.type} is not there yet.`);
  }
}
