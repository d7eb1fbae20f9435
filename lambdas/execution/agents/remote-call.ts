/** Calls an agent that runs elsewhere and speaks its own protocol: one POST, whose response is read while the agent still writes it. */

import { createAuthorizer } from "@sekisho/config/authorizers.ts";
import {
  type RemoteTarget,
  readAgentArn,
  resolveAgentAuthorizer,
} from "@sekisho/config/remote-agent.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createIdleLimit } from "@sekisho/runtime/async/deadline.ts";
import {
  type AddedCredentials,
  type OutgoingRequest,
  parseCheckedUrl,
} from "@sekisho/runtime/auth/authorizer.ts";
import { createEndpointResolver } from "@sekisho/runtime/aws/environment.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { createHttpClient, HttpError } from "@sekisho/runtime/http/client.ts";
import { openStream, type StreamedResponse } from "@sekisho/runtime/http/stream.ts";
import { createTraceHeaders } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { AgentContext, TaskUpdate } from "./agent.ts";
import type { AgentDependencies } from "./create-agent.ts";
import { RemoteError } from "./remote-error.ts";
import { parseServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";

/** `body` is sent as JSON. There is none if it is undefined. */
export type RemoteRequest = {
  /** Default: POST. */
  method?: "GET" | "POST";
  /** Another address of the agent than the configured one. */
  url?: URL;
  body?: unknown;
  accept: string;
  headers?: Readonly<Record<string, string>>;
  /** The most bytes of the whole response. Default: 32 MiB. */
  maxBytes?: number;
  /** The text of {conversation} in the URL. */
  conversation?: string;
  context: AgentContext;
};

export type RemoteResponse = {
  /** The type of the body in lower case, without parameters. Empty if there is none. */
  mediaType: string;
  /** True for `text/event-stream`. */
  isStream: boolean;
  /** The body as it arrives. Rejects like `events`. */
  chunks: AsyncIterable<Uint8Array>;
  /** Rejects with a RemoteError if the response breaks off, is silent for too long or is too large. */
  events(): AsyncGenerator<ServerSentEvent>;
  /** The whole body as text. Rejects likewise. */
  text(): Promise<string>;
  /** The whole body. Rejects likewise. */
  bytes(): Promise<Buffer>;
};

/**
 * Sends the request once, and again only after a 401, with renewed credentials. Resolves with a response of status 2xx, else rejects with a
 * RemoteError. `use` reads the response; the connection is closed when it ends.
 */
export type CallRemote = <T>(
  request: RemoteRequest,
  use: (response: RemoteResponse) => AsyncGenerator<T>,
) => AsyncGenerator<T>;

/** The conversation of a call of AgentCore. */
export const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";

const defaultIdleTimeoutMs = 120_000;
/** Far more than the largest answer, with what streams hold beside it. */
const maxResponseBytes = 32 * 1024 * 1024;
/** The agent itself did not get the request. 408 and 5xx say nothing of the kind. */
const refusals = { min: 300, max: 499, but: 408 };
/** A proxy in front of the agent does not know what became of the request. Cloudflare answers 524 when the agent is too slow for it. */
const unknownStatuses: readonly number[] = [408, 502, 504, 524];
/** The peer speaks another protocol, so it has read no request. One that breaks HTTP later, such as in a header, may have. */
const foreignProtocol = /\(Expected HTTP\//;

export function createRemoteCall(options: {
  config: RemoteTarget;
  dependencies: Omit<AgentDependencies, "config">;
}): CallRemote {
  const { config, dependencies } = options;
  const { idleTimeoutMs = defaultIdleTimeoutMs } = config;
  const ownUrl = resolveUrl(config);
  const authorizer = createAuthorizer({
    ...dependencies,
    authorizer: resolveAgentAuthorizer(config),
    url: ownUrl.href,
  });
  const http = createHttpClient();
  const receivedOf = createReceivedReader();

  async function post(
    request: RemoteRequest,
    signal: AbortSignal,
  ): Promise<{ response: StreamedResponse; credentials: AddedCredentials }> {
    const { method = "POST", url = ownUrl, body, accept, context } = request;
    const { headers: ownHeaders, maxBytes = maxResponseBytes } = request;
    const values = { session: readSession(context), conversation: request.conversation ?? "" };
    const headers = {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...{ accept, "accept-encoding": "identity" },
      ...createTraceHeaders(context.trace),
      ...(readAgentArn(config) !== undefined && { [sessionHeader]: readSession(context) }),
      ...ownHeaders,
    };
    const outgoing = {
      ...{ method, url: fillUrl(url, values), headers, signal },
      body: Buffer.from(body === undefined ? "" : JSON.stringify(body)),
      received: receivedOf(context),
    };
    const credentials = await Promise.resolve(authorizer.authorize(outgoing)).catch(
      (error: unknown) => {
        const kind = errorKind(Object(error).cause ?? error);
        throw new RemoteError(`the authorizer has no credentials: ${kind}`, { lost: false });
      },
    );
    const signed = { ...outgoing, headers: { ...headers, ...credentials.headers } };
    const response = await openStream({
      http,
      request: { ...signed, certificate: credentials.tls },
      maxBytes,
    }).catch((error: unknown) => {
      throw toRemoteError(error);
    });
    return { response, credentials };
  }

  async function postAuthorized(
    request: RemoteRequest,
    signal: AbortSignal,
  ): Promise<StreamedResponse> {
    const { response, credentials } = await post(request, signal);
    if (response.status !== 401 || authorizer.refresh === undefined) return response;
    authorizer.refresh(credentials);
    return (await post(request, signal)).response;
  }

  return async function* callRemote(request, use) {
    const limit = createIdleLimit({ idleMs: idleTimeoutMs, signal: request.context.signal });
    try {
      const response = await postAuthorized(request, limit.signal);
      const { status, headers } = response;
      if (status < 200 || status > 299) throw createStatusError(status);
      const chunks = readChunks({ chunks: response.chunks, onChunk: limit.refresh });
      const [mediaType = ""] = (headers["content-type"] ?? "").toLowerCase().split(";");
      yield* use({
        mediaType: mediaType.trim(),
        isStream: mediaType.trim() === "text/event-stream",
        chunks,
        events: () => readEvents({ chunks, maxBytes: request.maxBytes ?? maxResponseBytes }),
        text: () => readText(chunks),
        bytes: () => readBytes(chunks),
      });
    } finally {
      limit.end();
    }
  };
}

/**
 * The updates, with a failure in place of a RemoteError, which is logged. Nobody may repeat a call that may have reached the agent, because
 * none of these protocols recognizes a repetition.
 */
export async function* withRemoteFailure(
  updates: AsyncGenerator<TaskUpdate>,
  { log }: Pick<AgentContext, "log">,
): AsyncGenerator<TaskUpdate> {
  try {
    yield* updates;
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const { kind, lost, status } = error;
    log.warn("remote_agent_failed", { reason: "execution_failed", cause_kind: kind, status });
    yield { type: "failure", reason: "execution_failed", lost };
  }
}

/** Stores the value of the conversation. An answer is worth more than its conversation, so a failure is only logged. */
export async function keepForNextTask(
  value: unknown,
  { conversation, log }: Pick<AgentContext, "conversation" | "log">,
): Promise<void> {
  await conversation.write(value).catch(async (error: unknown) => {
    log.warn("remote_conversation_not_kept", { cause_kind: errorKind(error) });
    // The next task would go on from the value before, as if this one had not been.
    if (!(error instanceof SekishoError)) await conversation.write(undefined).catch(() => {});
  });
}

type Received = OutgoingRequest["received"];

/**
 * Returns the person's token for the authorizer `token-exchange`, the only one that reads it. A turn that began with a live token keeps it, so
 * that a long answer goes on with the token that it was traded for.
 */
function createReceivedReader(): (context: AgentContext) => Received {
  // The contexts of one turn differ in their signals, but share this function, which each turn has anew.
  const turns = new WeakMap<AgentContext["readAttachment"], Received>();
  return ({ asker, askerToken, readAttachment }) => {
    if (asker === undefined) return undefined;
    const person = JSON.stringify([asker.issuer, asker.subject]);
    if (askerToken !== undefined) turns.set(readAttachment, { person, token: askerToken });
    const received = turns.get(readAttachment);
    return received?.person === person ? received : undefined;
  };
}

/** A runtime or a harness of AgentCore has its address below that of its region (InvokeAgentRuntime, InvokeHarness). */
function resolveUrl(target: RemoteTarget): URL {
  const { url = "", harnessArn, qualifier } = target;
  const arn = readAgentArn(target);
  if (arn === undefined) return parseCheckedUrl(url);
  const [, , , region = ""] = arn.split(":");
  const address = createEndpointResolver({ region })("bedrock-agentcore");
  const name = encodeURIComponent(arn);
  const suffix = `qualifier=${encodeURIComponent(qualifier ?? "DEFAULT")}`;
  if (harnessArn === undefined) return new URL(`/runtimes/${name}/invocations?${suffix}`, address);
  const query = qualifier === undefined ? "" : `&${suffix}`;
  return new URL(`/harnesses/invoke?harnessArn=${name}${query}`, address);
}

/** One session for each conversation, so that the agent finds what it remembers. A runtime takes 33 to 256 characters, a harness 1 to 100; a UUID has 36. */
function readSession({ contextId, taskId }: AgentContext): string {
  return contextId ?? taskId;
}

/** A URL may have placeholders in its path or query. The agent itself chose some values, and none of them may be another path. */
function fillUrl(url: URL, values: Readonly<Record<"session" | "conversation", string>>): URL {
  const placeholder = /(?:%7B|\{)(session|conversation)(?:%7D|\})/g;
  const toPart = (value: string) => (/^\.*$/.test(value) ? "" : encodeURIComponent(value));
  return new URL(
    url.href.replace(placeholder, (_, name: keyof typeof values) => toPart(values[name])),
  );
}

async function* readChunks(source: {
  chunks: AsyncIterable<Uint8Array>;
  onChunk: () => void;
}): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of source.chunks) {
      source.onChunk();
      yield chunk;
    }
  } catch (error) {
    // The agent has begun to answer, so it has the request.
    throw new RemoteError(toRemoteError(error).kind, { lost: true });
  }
}

async function* readEvents(
  source: Parameters<typeof parseServerSentEvents>[0],
): AsyncGenerator<ServerSentEvent> {
  try {
    yield* parseServerSentEvents(source);
  } catch (error) {
    if (error instanceof RemoteError) throw error;
    throw new RemoteError("the stream is too large, or not in UTF-8", { lost: true });
  }
}

async function readBytes(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const bytes = await readBytes(chunks);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RemoteError("the response is not in UTF-8", { lost: true });
  }
}

function createStatusError(status: number): RemoteError {
  return new RemoteError(`HTTP ${status}: ${describeStatus(status)}`, {
    status,
    lost: unknownStatuses.includes(status),
  });
}

function describeStatus(status: number): string {
  if (status === 401 || status === 403) return "it refuses the credentials";
  if (status === 404 || status === 405) return "nothing takes the request at this address";
  const isRefusal = status >= refusals.min && status <= refusals.max && status !== refusals.but;
  return isRefusal ? "it refuses the request" : "it reports a failure";
}

function toRemoteError(error: unknown): RemoteError {
  if (!(error instanceof HttpError)) return new RemoteError(errorKind(error), { lost: true });
  const { kind, cause } = error;
  const isForeign = foreignProtocol.test(String(Object(cause).message));
  return new RemoteError(cause === undefined ? kind : `${kind} ${errorKind(cause)}`, {
    lost: kind === "ambiguous" || (kind === "not_http" && !isForeign),
  });
}
