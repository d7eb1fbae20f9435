/** The destinations of the configuration, made ready to be called. */
import { agentCardPath } from "../../contracts/a2a/card.ts";
import type { AwsCredentialsProvider } from "../shared/aws/credentials.ts";
import { defaultAwsCredentials } from "../shared/aws/default-credentials.ts";
import type { AuthorizerConfig } from "../shared/config/authorizer-schema.ts";
import type { Destination } from "../shared/config/destination-schema.ts";
import type { Config } from "../shared/config/schema.ts";
import type { SecretReference } from "../shared/config/values.ts";
import type { Log } from "../shared/log.ts";
import type { Telemetry } from "../shared/telemetry/telemetry.ts";
import { createAuthorizer } from "./authorizers.ts";
import type { Task } from "./task/task.ts";
import { createA2aTransport } from "./transport/a2a/transport.ts";
import { createAgentCoreTransport } from "./transport/agentcore/transport.ts";
import type { Authorizer } from "./transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "./transport/http/transport.ts";
import { createInProcessTransport } from "./transport/in-process/transport.ts";
import { createClient, type ExecutionClient } from "./transport/runner.ts";
import type { Transport } from "./transport/transport.ts";

export type WorkerDestination = {
  client: ExecutionClient;
  callTimeoutMs: number;
  /** The most tasks that are sent at once in this process; polls, answers and cancels have a quarter as much beside them. */
  maxSends: number;
  /** How long a poll may wait at the destination for news; 0: it answers at once. */
  longPollMs: number;
  /** Given where the destination asks for the bot token; read anew for each send, never stored. */
  botToken?: ((task: Task) => Promise<string>) | undefined;
};

export type DestinationDependencies = {
  /** Where an `https` destination without a url goes, and whose card an `a2a` one without a card means; undefined where there is no such place. */
  localUrl?: string | undefined;
  /** The Execution host of the same process, for `in-process`; undefined where there is none. */
  handle?: ((request: Request) => Promise<Response>) | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** For a destination that asks for it: the token of the workspace in which the task was asked, never another one's. */
  botTokenOf: (task: Task) => Promise<string>;
  /** For calls that AWS signs; the SDK's default chain where absent. */
  credentials?: AwsCredentialsProvider | undefined;
  /** The AWS region where the zone runs, whose STS is asked for tokens; undefined where nobody says. */
  region?: string | undefined;
  log: Log;
  telemetry?: Telemetry | undefined;
  /** Hears of the headers that an authorizer adds to a request. They hold the credential. */
  onCredential?: ((headers: Readonly<Record<string, string>>) => void) | undefined;
  /** Wraps every transport (the local page watches the wire so); `name` is the destination's. */
  wrap?: (request: { transport: Transport; name: string }) => Transport;
};

/** Creates one client per reachable destination. Opens nothing before the first call. */
export function createDestinations({
  config,
  ...dependencies
}: DestinationDependencies & { config: Pick<Config, "destinations" | "limits"> }): Map<string, WorkerDestination> {
  const { wrap = ({ transport }) => transport, botTokenOf, log, telemetry } = dependencies;
  const { callTimeoutMs, concurrency, sendsPerDestination = Math.ceil(concurrency / 2) } = config.limits;
  return new Map(
    Object.entries(config.destinations).flatMap(([name, destination]) => {
      const { dialect, idempotent, forwardBotToken, sendsAtOnce: maxSends = sendsPerDestination } = destination;
      const bare = createTransport({ destination, ...dependencies });
      if (bare === undefined) return [];
      const transport = wrap({ transport: bare, name });
      const client = createClient({
        transport,
        destination: { name, dialect, idempotent, callTimeoutMs, url: readUrl(destination, dependencies.localUrl) },
        log,
        ...(telemetry && { telemetry }),
      });
      const botToken = forwardBotToken ? botTokenOf : undefined;
      const { longPollMs } = destination;
      return [[name, { client, callTimeoutMs, maxSends, longPollMs, botToken }] as const];
    }),
  );
}

function watchCredentials({
  authorizer,
  onCredential,
}: {
  authorizer: Authorizer;
  onCredential: (headers: Readonly<Record<string, string>>) => void;
}): Authorizer {
  return {
    ...authorizer,
    async authorize(request) {
      const added = await authorizer.authorize(request);
      onCredential(added.headers ?? {});
      return added;
    },
  };
}

/** Of an A2A agent the host of its card: which of its addresses is called is known when the card is read. */
function readUrl(destination: Destination, localUrl: string | undefined): string | undefined {
  switch (destination.transport) {
    case "https":
      return destination.url ?? localUrl;
    case "a2a":
      return destination.url ?? destination.card ?? localUrl;
    case "agentcore":
      return destination.endpoint;
    case "in-process":
      return undefined;
  }
}

function createTransport({
  destination,
  localUrl,
  handle,
  readSecret,
  credentials = defaultAwsCredentials(),
  region,
  onCredential,
}: DestinationDependencies & { destination: Destination }): Transport | undefined {
  const { maxResponseBytes } = destination;
  const authorize = (authorizer: AuthorizerConfig, url: string) => {
    const created = createAuthorizer({ authorizer, url, readSecret, credentials, region });
    return onCredential === undefined ? created : watchCredentials({ authorizer: created, onCredential });
  };
  switch (destination.transport) {
    case "in-process":
      return handle && createInProcessTransport({ handle, maxResponseBytes });
    case "https": {
      const url = destination.url ?? localUrl;
      if (url === undefined) return undefined;
      return createHttpsTransport({ url, authorizer: authorize(destination.authorizer, url), maxResponseBytes });
    }
    case "a2a": {
      const cardUrl = destination.card ?? (localUrl && new URL(agentCardPath, localUrl).href);
      if (cardUrl === undefined) return undefined;
      const { url, version } = destination;
      return createA2aTransport({
        cardUrl,
        url,
        version: version === "highest" ? undefined : version,
        authorizer: authorize(destination.authorizer, url ?? cardUrl),
        maxResponseBytes,
      });
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
