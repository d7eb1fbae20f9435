/** Answers an operator's requests inside the deployed worker, with its role, its secrets and the effective configuration. */
import { randomUUID } from "node:crypto";
import { toAddress } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { createDestinations } from "../destinations.ts";
import type { Transport } from "../transport/transport.ts";
import { botIdentity } from "./bot-identity.ts";
import { checkDestination, type DestinationCheck } from "./check-destination.ts";
import type { DestinationsAnswer, OperatorRequest, Reach, WorkerAnswer } from "./operator-call.ts";
import { createRedaction, type Redaction, redactTransport } from "./redaction.ts";

export type OperatorDependencies = {
  /** Never rejects. */
  readEffectiveConfig: () => Promise<{
    config: Config;
    liveSettings: WorkerAnswer["liveSettings"];
  }>;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Makes the zone's own tokens, for a destination that is told who asked. */
  askerTokens?: AskerTokens | undefined;
  slackApiUrl: string;
  aws: Pick<AwsDependencies, "credentials" | "region">;
  /** Reads a task that does not exist. Rejects if the store is unavailable. */
  probeStore: (request: { requestId: string }) => Promise<unknown>;
  /** Rejects if the queue is unavailable. */
  probeQueue: (request: { signal: AbortSignal }) => Promise<unknown>;
  log: Log;
  newId?: () => string;
};

/** One call's share of the remaining time. There are two calls, and the rest is for reading secrets and closing connections. */
const callTimeShare = 0.4;
const slackTimeoutMs = 5000;
/** Lambda allows 6 MB for all destinations together. */
const maxTextLength = 1000;

export type OperatorHandler = (request: {
  request: OperatorRequest;
  /** The time until shortly before the end of the invocation, so that the answer still gets out. */
  remainingMs: number;
  signal: AbortSignal;
}) => Promise<DestinationsAnswer | WorkerAnswer>;

/** A failed check is part of the answer and never makes the handler reject. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createOperatorHandler(options: OperatorDependencies): OperatorHandler {
  const {
    askerTokens,
    readEffectiveConfig,
    readSecret,
    slackApiUrl,
    aws,
    probeStore,
    probeQueue,
    log,
  } = options;
  const { newId = randomUUID } = options;
  async function checkDestinations(request: {
    names: readonly string[] | undefined;
    remainingMs: number;
    signal: AbortSignal;
  }): Promise<DestinationsAnswer> {
    const { names, remainingMs, signal } = request;
    const { config } = await readEffectiveConfig();
    const redaction = createRedaction();
    const readAndRedact = addReadSecrets(redaction);
    // Some destinations get the bot token and may repeat it in their answers.
    await readAndRedact(config.slack.botToken).catch(() => {});
    const wantedNames = [...new Set(names ?? Object.keys(config.destinations))];
    const timeoutMs = Math.max(
      1,
      Math.min(config.limits.callTimeoutMs, Math.floor(remainingMs * callTimeShare)),
    );
    const results = await Promise.all(
      wantedNames.flatMap((name) => {
        const destination = Object.hasOwn(config.destinations, name)
          ? config.destinations[name]
          : undefined;
        if (destination === undefined) return [];
        const address = toAddress(destination);
        const open = async () =>
          openDestination({ config, name, destination, redaction, readSecret: readAndRedact });
        return [
          checkDestination({
            name,
            destination,
            address,
            timeoutMs,
            readSecret: readAndRedact,
            open,
            signal,
          }),
        ];
      }),
    );
    const redact = ({ summary, ...details }: DestinationCheck) => {
      return { ...details, summary: redaction.text(summary).slice(0, maxTextLength) };
    };
    return { checked: results.map(redact) };
  }

  /** Uses new connections instead of the worker's own, so that the check also covers connecting and authenticating. */
  function openDestination(request: {
    config: Config;
    name: string;
    destination: Destination;
    redaction: Redaction;
    readSecret: OperatorDependencies["readSecret"];
  }) {
    const { config, name, destination, redaction, readSecret } = request;
    let transport: Transport | undefined;
    const destinations = createDestinations({
      config: { ...config, destinations: { [name]: destination } },
      readSecret,
      botTokenOf: () => readSecret(config.slack.botToken),
      askerTokens,
      ...aws,
      async credentials() {
        const credentials = await aws.credentials();
        for (const value of [credentials.secretAccessKey, credentials.sessionToken ?? ""])
          redaction.add(value);
        return credentials;
      },
      onCredential: redaction.addHeaders,
      log: silentLog,
      wrap: ({ transport: bare }) => {
        transport = bare;
        return bare;
      },
    });
    const client = destinations.get(name)?.client;
    if (transport === undefined || client === undefined)
      throw new Error("A deployed stage cannot call this destination.");
    return { transport: redactTransport({ transport, redaction }), close: () => client.close() };
  }

  /** Reads secrets and adds each to `redaction`, so that no answer shows it. */
  function addReadSecrets(redaction: Redaction): OperatorDependencies["readSecret"] {
    return async (reference) => {
      const value = await readSecret(reference);
      redaction.add(value);
      return value;
    };
  }

  async function checkWorker({ signal }: { signal: AbortSignal }): Promise<WorkerAnswer> {
    const { config, liveSettings } = await readEffectiveConfig();
    const redaction = createRedaction();
    const readAndRedact = addReadSecrets(redaction);
    const readToken = () => readAndRedact(config.slack.botToken);
    const [store, queue, bot] = await Promise.all([
      checkReach(() => probeStore({ requestId: newId() })),
      checkReach(() => probeQueue({ signal })),
      botIdentity({ readToken, apiUrl: slackApiUrl, timeoutMs: slackTimeoutMs, signal }),
    ]);
    return { liveSettings, store, queue, bot: redactBot({ bot, redaction }) };
  }

  return async ({ request, remainingMs, signal }) => {
    log.info("operator_request", { operation: request.operator });
    if (request.operator === "check_worker") return checkWorker({ signal });
    return checkDestinations({ names: request.names, remainingMs, signal });
  };
}

function redactBot({
  bot,
  redaction,
}: {
  bot: WorkerAnswer["bot"];
  redaction: Redaction;
}): WorkerAnswer["bot"] {
  if (bot.state !== "accepted") return { ...bot, error: redaction.text(bot.error) };
  const { user, team, teamId, scopes } = bot;
  return {
    ...bot,
    user: redaction.text(user),
    team: redaction.text(team),
    teamId: redaction.text(teamId),
    ...(scopes === undefined ? {} : { scopes: scopes.map((scope) => redaction.text(scope)) }),
  };
}

async function checkReach(probe: () => Promise<unknown>): Promise<Reach> {
  return probe().then(
    () => ({ ok: true }),
    (error: unknown) => ({ ok: false, error: error instanceof Error ? error.name : "Error" }),
  );
}
