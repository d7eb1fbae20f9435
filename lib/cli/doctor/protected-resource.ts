/** Compares what a destination asks for, by its metadata as a protected resource (RFC 9728), with the token that it gets of who asked. */
import { randomUUID } from "node:crypto";
import type { AskerConfig } from "@sekisho/config/asker-schema.ts";
import { readAudience, resolveAuthorizerConfig } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import { parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpClient, upTo } from "@sekisho/runtime/http/client.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { DestinationCheck } from "@sekisho/verification/checks/check-destination.ts";

/** `scope` is the one of the challenge (RFC 6750, section 3). */
type ProtectedResource = {
  resource: string | undefined;
  servers: readonly string[];
  scope: string | undefined;
};

const maxBytes = 64 * 1024;
const maxReadMs = 5000;
/** Shown of a list that a peer may make as long as it likes. */
const maxServers = 3;

/** The check's result, or a better one if the destination says which tokens it takes. Sends no credential. Never rejects. */
export async function explainProtected(request: {
  result: DestinationCheck;
  destination: Destination;
  asker: AskerConfig | undefined;
  signal: AbortSignal;
}): Promise<DestinationCheck> {
  const { result, destination, asker, signal } = request;
  if (asker === undefined || result.health !== "unhealthy") return result;
  const protectedResource = await readProtectedResource(result.address, signal).catch(
    () => undefined,
  );
  if (protectedResource === undefined) return result;
  const { name, address } = result;
  const summary = compareToken({ protectedResource, name, destination, asker });
  return summary === undefined ? result : { name, address, health: "unhealthy", summary };
}

/** What is wrong, and the line to write. Undefined if nothing follows from the metadata. */
function compareToken(request: {
  protectedResource: ProtectedResource;
  name: string;
  destination: Destination;
  asker: AskerConfig;
}): string | undefined {
  const { protectedResource, name, destination, asker } = request;
  const { resource, servers, scope } = protectedResource;
  const { issuer } = asker;
  const isTold = destination.asker !== undefined;
  const isBearer = resolveAuthorizerConfig(destination)?.type === "asker";
  if (!servers.includes(issuer)) {
    if (!isTold) return undefined;
    const others = servers.filter(isPlain).slice(0, maxServers).join(", ");
    return `It refuses us, and takes tokens of ${others || "no server that it names"}, not of ${issuer}. Let it trust ${issuer}, whose discovery document it must be able to read.`;
  }
  const hasOtherAudience = resource !== undefined && resource !== readAudience(destination);
  const audience =
    hasOtherAudience && isPlain(resource)
      ? `"asker": { "audience": ${JSON.stringify(resource)} }`
      : undefined;
  if (!isBearer)
    return `It refuses us, and takes tokens of ${issuer} as the bearer, which it does not get. Write ${['"authorizer": { "type": "asker" }', audience].filter(Boolean).join(" and ")} into destinations.${name}.`;
  if (audience !== undefined)
    return `It refuses the asker's token, whose audience is not its resource. Write ${audience} into destinations.${name}.`;
  if (scope !== undefined)
    return "It asks for a scope, and the asker's token has none. Let it decide by sub, client_id or other claims, or exchange the token at an authorization server.";
  return undefined;
}

/** A name that may be shown, because it cannot be taken for anything else. */
function isPlain(text: string): boolean {
  return /^[\w.:/?=&%~+@-]{1,300}$/.test(text);
}

async function readProtectedResource(
  address: string,
  aborted: AbortSignal,
): Promise<ProtectedResource | undefined> {
  const url = parseCheckedUrl(address);
  const signal = AbortSignal.any([aborted, AbortSignal.timeout(maxReadMs)]);
  const http = createHttpClient();
  const limits = { signal, collect: upTo(maxBytes) };
  try {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "rpc.discover" });
    const refusal = await http.send({ method: "POST", url, headers, body, ...limits });
    const challenge = refusal.headers["www-authenticate"] ?? "";
    const metadataUrl = URL.parse(readParameter(challenge, "resource_metadata") ?? "");
    // A peer must not make this machine read something else.
    if (refusal.status !== 401 || metadataUrl?.origin !== url.origin) return undefined;
    const answer = await http.send({
      ...{ method: "GET", url: metadataUrl, headers: { accept: "application/json" }, ...limits },
    });
    const metadata = answer.status === 200 ? parseJson(answer.body.toString()) : undefined;
    if (!isJsonObject(metadata)) return undefined;
    const { resource, authorization_servers: servers } = metadata;
    if (typeof resource === "string" && !isResourceOf({ resource, url })) return undefined;
    return {
      resource: typeof resource === "string" ? resource : undefined,
      servers: Array.isArray(servers) ? servers.map(String) : [],
      scope: readParameter(challenge, "scope"),
    };
  } finally {
    http.close();
  }
}

/**
 * True for the address itself, and for one above it. Metadata with another resource must not be used (RFC 9728, section 3.3): its
 * audience could be that of another agent, where the peer could then use our tokens.
 */
function isResourceOf({ resource, url }: { resource: string; url: URL }): boolean {
  const named = URL.parse(resource);
  if (named?.origin !== url.origin || named.hash !== "") return false;
  if (named.href === url.href) return true;
  const folder = named.pathname.replace(/\/?$/, "/");
  return named.search === "" && (url.pathname.startsWith(folder) || `${url.pathname}/` === folder);
}

/** A quoted parameter of the challenge of the scheme Bearer (RFC 9110, section 11.6.1). */
export function readParameter(challenge: string, name: string): string | undefined {
  const [, parameters = ""] = /\bbearer\s(.*)$/is.exec(challenge) ?? [];
  const pieces = parameters.split('"');
  const keyOf = (piece: string) => piece.toLowerCase().split(/[\s,]/).at(-1);
  const index = pieces.findIndex((piece, at) => at % 2 === 0 && keyOf(piece) === `${name}=`);
  return index === -1 ? undefined : pieces[index + 1];
}
