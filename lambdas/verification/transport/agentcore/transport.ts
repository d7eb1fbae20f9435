/** Bedrock AgentCore: calls InvokeAgentRuntime, whose payload is opaque bytes, GetAgentCard and StopRuntimeSession. */
import type { InvokeAgentRuntimeCommandOutput } from "@aws-sdk/client-bedrock-agentcore";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { sessionIdSchema } from "@sekisho/contracts/methods.ts";
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";
import { createCardError } from "../a2a/card-problem.ts";
import type { Carrier } from "../carrier.ts";
import { readEventResponse, type TakeResponse, toTakeResponse } from "../read-events.ts";
import { defaultMaxResponseBytes, readShortened } from "../response-body.ts";
import { isEventStream, isJson } from "../response-head.ts";
import type { TransportResponse } from "../transport.ts";
import { findPlatformError } from "./platform-error.ts";
import { createRuntimeClient } from "./runtime-client.ts";

/** A session that does not run yet starts for the card. */
const cardTimeoutMs = 20_000;

const noCardText =
  "AgentCore refuses to read the agent card of the runtime. Check that the protocol of the runtime is A2A.";

/**
 * The runtime's ARN is the address: the one in a card is that of the platform's API, or of the container, and is not followed.
 * Every call carries a valid session id. Without one the SDK invents an id, and AgentCore starts a new runtime for each call.
 * `stopSession` is present only with `stopAfterResult`; the caller then makes one session id per task.
 * `endpoint` replaces the region's own address.
 */
export function createAgentCoreTransport(options: {
  runtimeArn: string;
  qualifier?: string;
  region?: string;
  endpoint?: string | undefined;
  credentials: AwsCredentialsProvider;
  maxResponseBytes?: number;
  stopAfterResult?: boolean;
  now?: () => number;
}): Carrier {
  const {
    runtimeArn: agentRuntimeArn,
    qualifier = "DEFAULT",
    region = agentRuntimeArn.split(":")[3] ?? "",
  } = options;
  const { endpoint, credentials, maxResponseBytes = defaultMaxResponseBytes } = options;
  const { stopAfterResult = false, now = Date.now } = options;
  const client = createRuntimeClient({ region, endpoint, credentials, now });
  const target = { agentRuntimeArn, qualifier };

  async function stopSession({
    sessionId,
    signal,
  }: {
    sessionId: string;
    signal: AbortSignal;
  }): Promise<void> {
    const input = { ...target, runtimeSessionId: requireSessionId(sessionId) };
    await client
      .stop({
        command: ({ StopRuntimeSessionCommand }) => new StopRuntimeSessionCommand(input),
        signal,
      })
      .catch((error: SekishoError) => {
        // A 404 means that the session has ended already.
        if (error.reason !== "agent_not_found") throw error;
      });
  }

  const url = new URL(agentRuntimeArn);
  return {
    url,
    cardUrl: url,
    cardTimeoutMs,
    async send({ body: payload, sessionId, signal, trace, headers = {}, readsEvents = false }) {
      const input = {
        ...target,
        payload,
        runtimeSessionId: requireSessionId(sessionId),
        contentType: "application/json",
        accept: headers.accept ?? "application/json",
        traceParent: trace.traceparent,
        traceState: trace.tracestate,
      };
      return client.invoke({
        command: ({ InvokeAgentRuntimeCommand }) => new InvokeAgentRuntimeCommand(input),
        headers,
        use: (output) => readPlatformResponse(output, { maxResponseBytes, readsEvents }),
        signal,
      });
    },
    async readCard({ version, sessionId, signal }) {
      const input = { ...target, runtimeSessionId: requireSessionId(sessionId) };
      const card = await client
        .readCard({
          command: ({ GetAgentCardCommand }) => new GetAgentCardCommand(input),
          headers: { "a2a-version": version },
          signal,
        })
        .catch((error: SekishoError) => {
          throw error.reason === "invalid_request"
            ? createCardError("CardRefused", noCardText)
            : error;
        });
      const platformError = findPlatformError(card.body);
      if (platformError !== undefined) throw platformError;
      return card;
    },
    ...(stopAfterResult ? { stopSession } : {}),
    close: () => client.close(),
  };
}

function requireSessionId(sessionId: string): string {
  if (!sessionIdSchema.safeParse(sessionId).success) throw new SekishoError("internal");
  return sessionId;
}

/** Always reads the body to its end or destroys it, because an unread body keeps its connection for ever. */
async function readPlatformResponse(
  { response, contentType, statusCode }: InvokeAgentRuntimeCommandOutput,
  limits: { maxResponseBytes: number; readsEvents: boolean | TakeResponse },
): Promise<TransportResponse> {
  const { maxResponseBytes, readsEvents } = limits;
  const stream = response as unknown as
    | (AsyncIterable<Uint8Array> & { destroy(): void })
    | undefined;
  const isStream = readsEvents !== false && isEventStream(contentType);
  if (stream === undefined || !(isStream || isJson(contentType))) {
    stream?.destroy();
    throw new SekishoError("invalid_response");
  }
  const cappedBody = isStream
    ? await readEventResponse(stream, {
        maxBytes: maxResponseBytes,
        takeResponse: toTakeResponse(readsEvents),
      })
    : await readShortened(stream, maxResponseBytes);
  const platformError = findPlatformError(cappedBody.body);
  if (platformError !== undefined) throw platformError;
  return { ...cappedBody, status: statusCode };
}
