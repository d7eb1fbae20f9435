/** AWS STS: identity tokens for other clouds, and credentials of other roles. */
import type { STSClient } from "@aws-sdk/client-sts";
import type { AwsCredentials, AwsCredentialsProvider } from "./credentials.ts";
import { AwsCallError } from "./json-call.ts";

type Sdk = typeof import("@aws-sdk/client-sts");

/** Everything rejects with an AwsCallError if STS refuses, or else as the network does. */
export type Sts = {
  /** Returns a signed JWT. Refused unless the account has enabled it (`EnableOutboundWebIdentityFederation` of IAM). */
  getWebIdentityToken(request: {
    audience: string;
    signingAlgorithm?: "RS256" | "ES384";
    durationSeconds?: number;
    signal: AbortSignal;
  }): Promise<string>;
  assumeRole(request: {
    roleArn: string;
    externalId?: string | undefined;
    durationSeconds: number;
    signal: AbortSignal;
  }): Promise<AwsCredentials>;
};

/** The session name that appears in the other account's audit log. */
const sessionName = "sekisho";

/**
 * Uses the region's endpoint, because the global one issues no tokens; `endpoint` replaces it. Loads the SDK at the first call. Keeps no
 * connection, because the next call is minutes away and the process may be frozen in between.
 */
export function createSts(options: {
  region: string;
  credentials: AwsCredentialsProvider;
  endpoint?: URL | undefined;
}): Sts {
  const { region, credentials, endpoint } = options;
  let loading: Promise<{ sdk: Sdk; client: STSClient }> | undefined;

  async function load() {
    const sdk = await import("@aws-sdk/client-sts");
    const connections = { keepAlive: false };
    const client = new sdk.STSClient({
      region,
      credentials,
      maxAttempts: 2,
      requestHandler: {
        connectionTimeout: 1000,
        requestTimeout: 3000,
        throwOnRequestTimeout: true,
        httpsAgent: connections,
        httpAgent: connections,
      },
      ...(endpoint === undefined ? {} : { endpoint: endpoint.href }),
    });
    return { sdk, client };
  }

  async function call<T>(send: (loaded: { sdk: Sdk; client: STSClient }) => Promise<T>): Promise<T> {
    loading ??= load();
    return send(await loading).catch((thrown) => {
      throw toStsError(thrown);
    });
  }

  return {
    getWebIdentityToken: ({ audience, signingAlgorithm = "RS256", durationSeconds = 300, signal }) =>
      call(async ({ sdk, client }) => {
        const input = { Audience: [audience], SigningAlgorithm: signingAlgorithm, DurationSeconds: durationSeconds };
        const output = await client.send(new sdk.GetWebIdentityTokenCommand(input), { abortSignal: signal });
        return output.WebIdentityToken ?? createMissingError("WebIdentityToken");
      }),

    assumeRole: ({ roleArn, externalId, durationSeconds, signal }) =>
      call(async ({ sdk, client }) => {
        const command = new sdk.AssumeRoleCommand({
          RoleArn: roleArn,
          RoleSessionName: sessionName,
          DurationSeconds: durationSeconds,
          ...(externalId === undefined ? {} : { ExternalId: externalId }),
        });
        const { Credentials: given } = await client.send(command, { abortSignal: signal });
        return {
          accessKeyId: given?.AccessKeyId ?? createMissingError("Credentials"),
          secretAccessKey: given?.SecretAccessKey ?? createMissingError("Credentials"),
          sessionToken: given?.SessionToken ?? createMissingError("Credentials"),
        };
      }),
  };
}

function createMissingError(what: string): never {
  throw new AwsCallError({ name: `No${what}`, status: 200 });
}

/** Drops the SDK's error, which contains the whole answer, and whose message repeats the request. */
function toStsError(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || thrown instanceof AwsCallError) return thrown;
  const { $metadata } = thrown as { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  if (status === undefined) return thrown;
  // Checks the form of the name, because a server may repeat in it whatever it received.
  return new AwsCallError({ name: /^[A-Za-z.]{1,80}$/.test(thrown.name) ? thrown.name : "NoName", status });
}
