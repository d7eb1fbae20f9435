/** Wraps the SDK's client: loads it at the first call, sends commands without retries, and classifies failures. */

import type {
  BedrockAgentCoreClient,
  InvokeAgentRuntimeCommand,
  InvokeAgentRuntimeCommandOutput,
  StopRuntimeSessionCommand,
} from "@aws-sdk/client-bedrock-agentcore";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { classify } from "./platform-error.ts";

type Sdk = typeof import("@aws-sdk/client-bedrock-agentcore");
/** How far a request got. `failure` is the network error before the SDK wraps it. */
type Progress = { wasSent: boolean; failure?: unknown };

export type RuntimeClient = {
  /** `use` may read the body of the output. The signal and the classification of failures cover that too. */
  invoke<T>(request: {
    command: (sdk: Sdk) => InvokeAgentRuntimeCommand;
    use: (output: InvokeAgentRuntimeCommandOutput) => Promise<T>;
    signal: AbortSignal;
  }): Promise<T>;
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
    invoke: ({ command: build, use, signal }) =>
      runClassified(signal, async ({ sdk, client, progress }) => {
        const command = build(sdk);
        command.middlewareStack.add(trackProgress(progress), lastStep);
        return use(await client.send(command, { abortSignal: signal }));
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
