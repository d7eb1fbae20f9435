/** Wraps the SDK's client: loads it at the first call, sends commands without retries, and classifies failures. */

import type {
  BedrockAgentCoreClient,
  GetAgentCardCommand,
  InvokeAgentRuntimeCommand,
  InvokeAgentRuntimeCommandOutput,
  StopRuntimeSessionCommand,
} from "@aws-sdk/client-bedrock-agentcore";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { type CardResponse, maxCardBytes } from "../carrier.ts";
import { createResponseCollector } from "../response-body.ts";
import { classify } from "./platform-error.ts";

type Sdk = typeof import("@aws-sdk/client-bedrock-agentcore");
/** How far a request got. `failure` is the network error before the SDK wraps it. */
type Progress = { wasSent: boolean; failure?: unknown };
type Headers = Readonly<Record<string, string>>;

export type RuntimeClient = {
  /**
   * `use` may read the body of the output. The signal and the classification of failures cover that too. The container gets those
   * `headers` that the runtime's configuration allows.
   */
  invoke<T>(request: {
    command: (sdk: Sdk) => InvokeAgentRuntimeCommand;
    headers: Headers;
    use: (output: InvokeAgentRuntimeCommandOutput) => Promise<T>;
    signal: AbortSignal;
  }): Promise<T>;
  /** Returns the card as the container sent it. */
  readCard(request: {
    command: (sdk: Sdk) => GetAgentCardCommand;
    headers: Headers;
    signal: AbortSignal;
  }): Promise<CardResponse>;
  stop(request: {
    command: (sdk: Sdk) => StopRuntimeSessionCommand;
    signal: AbortSignal;
  }): Promise<void>;
  close(): Promise<void>;
};

export function createRuntimeClient(options: {
  region: string;
  endpoint: string | undefined;
  credentials: AwsCredentialsProvider;
  now: () => number;
}): RuntimeClient {
  const { region, endpoint, credentials, now } = options;
  let sdkPromise: Promise<{ sdk: Sdk; client: BedrockAgentCoreClient }> | undefined;

  async function load() {
    const sdk = await import("@aws-sdk/client-bedrock-agentcore");
    const connections = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
    const client = new sdk.BedrockAgentCoreClient({
      region,
      credentials,
      customUserAgent: sdkUserAgent,
      maxAttempts: 1,
      requestHandler: { httpsAgent: connections, httpAgent: connections },
      ...(endpoint === undefined ? {} : { endpoint }),
    });
    return { sdk, client };
  }

  async function runClassified<T>(
    signal: AbortSignal,
    send: (loadedSdk: {
      sdk: Sdk;
      client: BedrockAgentCoreClient;
      progress: Progress;
    }) => Promise<T>,
  ): Promise<T> {
    const progress: Progress = { wasSent: false };
    try {
      signal.throwIfAborted();
      sdkPromise ??= load();
      const { sdk, client } = await sdkPromise;
      return await abortable({ promise: send({ sdk, client, progress }), signal });
    } catch (error) {
      throw error instanceof SekishoError
        ? error
        : classify({ error: progress.failure ?? error, wasSent: progress.wasSent, nowMs: now() });
    }
  }

  return {
    invoke: ({ command: build, headers, use, signal }) =>
      runClassified(signal, async ({ sdk, client, progress }) => {
        const command = build(sdk);
        command.middlewareStack.add(addHeaders(headers), { step: "build" });
        command.middlewareStack.add(trackProgress(progress), lastStep);
        return use(await client.send(command, { abortSignal: signal }));
      }),
    readCard: ({ command: build, headers, signal }) =>
      runClassified(signal, async ({ sdk, client, progress }) => {
        const command = build(sdk);
        const received: { card?: CardResponse } = {};
        command.middlewareStack.add(addHeaders(headers), { step: "build" });
        command.middlewareStack.add(keepCard(received), lastStep);
        command.middlewareStack.add(trackProgress(progress), lastStep);
        // The SDK fails for a card that is not JSON, which the card's reader explains better.
        await client.send(command, { abortSignal: signal }).catch((error: unknown) => {
          if (received.card === undefined) throw error;
        });
        if (received.card === undefined) throw new SekishoError("invalid_response");
        return received.card;
      }),
    stop: ({ command: build, signal }) =>
      runClassified(signal, async ({ sdk, client, progress }) => {
        const command = build(sdk);
        command.middlewareStack.add(trackProgress(progress), lastStep);
        await client.send(command, { abortSignal: signal });
      }),
    async close() {
      (await sdkPromise)?.client.destroy();
    },
  };
}

/** The last middleware step before the network. A failure before it (credentials, signing) means that nothing was sent. */
const lastStep = { step: "deserialize", priority: "low" } as const;

function trackProgress(progress: Progress) {
  return <A, R>(next: (args: A) => Promise<R>) =>
    async (args: A) => {
      progress.wasSent = true;
      try {
        return await next(args);
      } catch (failure) {
        progress.failure = failure;
        throw failure;
      }
    };
}

/** Adds headers that the command has no field for, before the request is signed. */
function addHeaders(headers: Headers) {
  return <A extends { request: unknown }, R>(next: (args: A) => Promise<R>) =>
    (args: A) => {
      Object.assign((args.request as { headers: object }).headers, headers);
      return next(args);
    };
}

type RawResponse = {
  statusCode: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array> | Uint8Array;
};

/** Keeps a successful response as it came, and reads no more than a card may have. The SDK would read any size. */
function keepCard(received: { card?: CardResponse }) {
  return <A, R extends { response: unknown }>(next: (args: A) => Promise<R>) =>
    async (args: A) => {
      const result = await next(args);
      const response = result.response as RawResponse;
      const { statusCode: status, headers, body: stream } = response;
      if (stream instanceof Uint8Array) return result;
      const collector = createResponseCollector({ maxBytes: maxCardBytes });
      for await (const chunk of stream) collector.add(chunk);
      const { body } = collector.end();
      response.body = body;
      if (status >= 200 && status < 300) received.card = { status, headers, body };
      return result;
    };
}
