/** Finds out what a destination is that does not speak our contract, by what agents of other protocols publish at its address. */
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { type AuthorizerDependencies, createAuthorizer } from "@sekisho/config/authorizers.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { taskKey } from "@sekisho/contracts/a2a/extension.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { parseJson, parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { DestinationCheck } from "@sekisho/verification/checks/check-destination.ts";
import { findProtocol } from "@sekisho/verification/checks/find-protocol.ts";
import { createAuthorizedSend } from "@sekisho/verification/transport/http/transport.ts";

const maxResponseBytes = 1024 * 1024;
const maxReadMs = 5000;

/** Requests with the credentials of a destination or of an agent. Close it. */
export function openAuthorized(request: {
  authorizer: AuthorizerConfig;
  url: string;
  /** For the authorizer `asker`. */
  asker?: AuthorizerDependencies["asker"];
  readSecret: (reference: SecretReference) => Promise<string>;
}) {
  const credentials = defaultAwsCredentials();
  const region = readEnvironment().awsRegion;
  const authorizer = createAuthorizer({ ...request, credentials, region });
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs: undefined, now: Date.now });
  const headers = { accept: "application/json", "content-type": "application/json" };
  const limits = { headers, maxResponseBytes };
  return {
    close: http.close,
    get: (url: URL, signal: AbortSignal) =>
      http.send({ ...limits, method: "GET", url, body: new Uint8Array(), signal }),
    post: (url: URL, body: Uint8Array, signal: AbortSignal) =>
      http.send({ ...limits, method: "POST", url, body, signal }),
  };
}

/** The check's result, or a better one if an agent card or a list of models says what the peer is. */
export async function explainPublished(request: {
  result: DestinationCheck;
  authorizer: AuthorizerConfig;
  asker: AuthorizerDependencies["asker"];
  signal: AbortSignal;
}): Promise<DestinationCheck> {
  const { result, authorizer, asker, signal } = request;
  const url = parseUrl(result.address);
  if (url === null || !isUnclear(result)) return result;
  const http = openAuthorized({ authorizer, asker, url: url.href, readSecret });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(maxReadMs)]);
  try {
    const read = async (target: URL) => {
      const { status, body } = await http.get(target, limit);
      return { status, json: parseJson(body) };
    };
    const published = await findProtocol({ read, url });
    // An Execution host is an A2A agent as well.
    const isHost =
      published?.protocol === "a2a" && JSON.stringify(published.card).includes(taskKey);
    if (published === undefined || isHost) return result;
    const summary =
      published.protocol === "a2a"
        ? `It is an A2A agent, whose card is at ${published.cardUrl}. Set "transport": "a2a" and "card": "${published.cardUrl}" for it, and no "url".`
        : `It lists models at ${published.baseUrl}, as the APIs of chat completions and Responses do. Put it behind the Execution host: run ${sekisho} agents add ${published.baseUrl}, which finds out which of the two it has.`;
    const { name, address } = result;
    return { name, address, health: "unhealthy", summary };
  } finally {
    http.close();
  }
}

/** A peer that has said what it is needs no second look. One that knows no rpc.discover may be any server of JSON-RPC. */
function isUnclear({ health, summary }: DestinationCheck): boolean {
  if (health === "healthy") return summary.startsWith("It speaks JSON-RPC.");
  return health === "unhealthy" && !summary.startsWith("It answers like");
}
