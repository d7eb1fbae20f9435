/** Creates the clients of the configured destinations. */

import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { createAuthorizer } from "@sekisho/config/authorizers.ts";
import { callTimes, resolveLongPollMs } from "@sekisho/config/call-time.ts";
import { protocolOf, readAudience, readHostAgent } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { AskerAudience, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { withAskerHeader } from "@sekisho/runtime/auth/asker.ts";
import type { Authorizer } from "@sekisho/runtime/auth/authorizer.ts";
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Task } from "./task/task.ts";
import { createHttpsCarrier } from "./transport/a2a/https-carrier.ts";
import { createA2aTransport } from "./transport/a2a/transport.ts";
import { createAgentCoreTransport } from "./transport/agentcore/transport.ts";
import type { A2aCarrier, Carrier } from "./transport/carrier.ts";
import { createHttpsTransport } from "./transport/http/transport.ts";
import { createInProcessTransport } from "./transport/in-process/transport.ts";
import { createClient, type ExecutionClient } from "./transport/runner.ts";
import type { Transport } from "./transport/transport.ts";
import { withAsker } from "./transport/with-asker.ts";

export type WorkerDestination = {
  client: ExecutionClient;
  callTimeoutMs: number;
  /** For calls that send a task or a reply, which may last as long as the agent's work. Default: `callTimeoutMs`. */
  sendTimeoutMs?: number;
  /** The most concurrent sends that are wanted in this process. The destination's share of the slots (`slots.ts`) may allow fewer. */
  maxSends: number;
  /** How long the destination may hold a poll open to wait for news. With 0 it responds at once. */
  longPollMs: number;
  /** Present if the destination gets the bot token, which is read for each send and never stored. */
  botToken?: ((task: Task) => Promise<string>) | undefined;
  /** Present if the destination is told who asked. */
  asker?: { getsEmail: boolean } | undefined;
  /** False for A2A, which has no operation for votes. Default: true. */
  takesVotes?: boolean;
};

export type DestinationDependencies = {
  /** The Execution zone of this machine, for an `https` destination without a url and an `a2a` one without a card. Undefined if there is none. */
  localUrl?: string | undefined;
  /** The Execution host of the same process, for `in-process`. Undefined if there is none. */
  handle?: ((request: Request) => Promise<Response>) | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Reads the bot token of the task's own workspace, for a destination that gets it. */
  botTokenOf: (task: Task) => Promise<string>;
  /** For calls that AWS signs. */
  credentials: AwsCredentialsProvider;
  /** The AWS region of the zone, whose STS issues tokens. Undefined if it is unknown. */
  region?: string | undefined;
  log: Log;
  telemetry?: Telemetry | undefined;
  /** Makes the tokens that say who asked. Needed if a destination is told. */
  askerTokens?: AskerTokens | undefined;
  /** Called with the headers that an authorizer adds to a request, which hold the credential. */
  onCredential?: ((headers: Readonly<Record<string, string>>) => void) | undefined;
  /** Wraps every transport, as the local page does to show requests. `name` is the destination's. */
  wrap?: (request: { transport: Transport; name: string }) => Transport;
};

/** Creates one client per reachable destination. Opens nothing before the first call. */
export function createDestinations(
  options: DestinationDependencies & { config: Pick<Config, "destinations" | "limits"> },
): Map<string, WorkerDestination> {
  const { config, ...dependencies } = options;
  const { wrap = ({ transport }) => transport, botTokenOf, log, telemetry } = dependencies;
  const { concurrency, sendsPerDestination = Math.ceil(concurrency / 2) } = config.limits;
  return new Map(
    Object.entries(config.destinations).flatMap(([name, destination]) => {
      const {
        dialect,
        idempotent,
        omitFields,
        forwardBotToken,
        sendsAtOnce: maxSends = sendsPerDestination,
      } = destination;
      const times = callTimes(destination, config);
      const bare = createTransport({ destination, ...dependencies });
      if (bare === undefined) return [];
      const transport = wrap({ transport: bare, name });
      const client = createClient({
        transport,
        destination: {
          ...{ name, dialect, idempotent, omitFields, callTimeoutMs: times.sendTimeoutMs },
          agent: readHostAgent(destination),
          url: readUrl(destination, dependencies.localUrl),
        },
        log,
        ...(telemetry && { telemetry }),
      });
      const botToken = forwardBotToken ? botTokenOf : undefined;
      const longPollMs = resolveLongPollMs(destination, config);
      const takesVotes = protocolOf(destination) !== "a2a";
      const asker = destination.asker && {
        getsEmail: destination.asker.claims.includes("email"),
      };
      const worker = { client, ...times, maxSends, longPollMs, botToken, asker, takesVotes };
      return [[name, worker] as const];
    }),
  );
}

function watchCredentials(options: {
  authorizer: Authorizer;
  onCredential: (headers: Readonly<Record<string, string>>) => void;
}): Authorizer {
  const { authorizer, onCredential } = options;
  return {
    ...authorizer,
    async authorize(request) {
      const credentials = await authorizer.authorize(request);
      onCredential(credentials.headers ?? {});
      return credentials;
    },
  };
}

/** Returns the address for spans. For an A2A agent without a url it is the card's, because the card is not read yet. */
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

function createTransport(
  options: DestinationDependencies & { destination: Destination },
): Transport | undefined {
  const { destination, localUrl, handle, readSecret, credentials, region } = options;
  const { onCredential, askerTokens } = options;
  const { maxResponseBytes } = destination;
  const asker = readAsker(options);
  const traded = askerTokens && { tokens: askerTokens, to: tradedToken };
  const authorize = (authorizer: AuthorizerConfig, url: string) => {
    const configured = createAuthorizer({
      authorizer,
      url,
      readSecret,
      credentials,
      region,
      asker: asker ?? traded,
    });
    const ownAuthorizer =
      asker === undefined || authorizer.type === "asker"
        ? configured
        : withAskerHeader({ ...asker, authorizer: configured });
    return onCredential === undefined
      ? ownAuthorizer
      : watchCredentials({ authorizer: ownAuthorizer, onCredential });
  };
  switch (destination.transport) {
    case "in-process":
      return (
        handle && tell(destination, createInProcessTransport({ handle, maxResponseBytes }), asker)
      );
    case "https": {
      const url = destination.url ?? localUrl;
      if (url === undefined) return undefined;
      return createHttpsTransport({
        url,
        authorizer: authorize(destination.authorizer, url),
        maxResponseBytes,
      });
    }
    case "a2a": {
      const cardUrl = destination.card ?? (localUrl && new URL(agentCardPath, localUrl).href);
      if (cardUrl === undefined) return undefined;
      const { url } = destination;
      const authorizer = authorize(destination.authorizer, url ?? cardUrl);
      return speakA2a(
        destination,
        createHttpsCarrier({ cardUrl, url, authorizer, maxResponseBytes }),
      );
    }
    case "agentcore": {
      const { runtimeArn, qualifier, endpoint, stopAfterResult } = destination;
      const carrier = createAgentCoreTransport({
        runtimeArn,
        qualifier,
        endpoint,
        credentials,
        stopAfterResult,
        maxResponseBytes,
      });
      return tell(destination, carrier, asker);
    }
  }
}

/** The token that an authorization server takes for a new one, if the destination itself is not told who asked. The authorizer knows its audience. */
const tradedToken: AskerAudience = { audience: "", claims: ["team", "user"], subject: "slack" };

type ToldAsker = { tokens: AskerTokens; to: AskerAudience; header: string };

/** Undefined for a destination that is not told who asked. */
function readAsker(options: {
  destination: Destination;
  askerTokens?: AskerTokens | undefined;
}): ToldAsker | undefined {
  const { destination, askerTokens: tokens } = options;
  const { asker } = destination;
  if (asker === undefined) return undefined;
  if (tokens === undefined) throw new Error("A destination that is told who asked needs tokens.");
  const { claims, subject, header } = asker;
  return { tokens, to: { audience: readAudience(destination), claims, subject }, header };
}

function tell(destination: SpokenA2a, carrier: Carrier, asker: ToldAsker | undefined): Transport {
  return speak(destination, asker === undefined ? carrier : withAsker(asker, carrier));
}

/** The zone contract is sent as it is, so its carrier is its transport. */
function speak(destination: SpokenA2a, carrier: Carrier): Transport {
  return destination.protocol === "a2a" ? speakA2a(destination, carrier) : carrier;
}

type SpokenA2a = {
  protocol?: "sekisho" | "a2a" | undefined;
  version?: "highest" | A2aVersion | undefined;
};

function speakA2a({ version }: SpokenA2a, carrier: A2aCarrier): Transport {
  return createA2aTransport({ carrier, version: version === "highest" ? undefined : version });
}
