/** The documents by which verifiers find the keys of the issuer: OpenID Connect Discovery 1.0, RFC 8414, and RFC 7517. */
import type { AskerConfig } from "@sekisho/config/asker-schema.ts";
import type { PublicKey } from "./public-keys.ts";

/** Below the issuer's address. Verifiers append it (OpenID Connect Discovery 1.0, section 4). */
export const discoveryPath = ".well-known/openid-configuration";
const jwksPath = ".well-known/jwks.json";
/** Verifiers of RFC 8414 put it before the path of the issuer, so it is here only for an issuer without one. */
const serverMetadataPath = ".well-known/oauth-authorization-server";

/** The texts by their paths below the issuer's address. They hold public keys only. */
export function createDocuments(options: {
  asker: Pick<AskerConfig, "issuer" | "algorithm">;
  keys: readonly PublicKey[];
}): ReadonlyMap<string, string> {
  const { asker, keys } = options;
  const { issuer, algorithm } = asker;
  // The members that OpenID Connect requires. Nobody signs in here, so nothing answers at the two endpoints.
  const discovery = toText({
    issuer,
    jwks_uri: `${issuer}/${jwksPath}`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [algorithm],
  });
  const hasPath = new URL(issuer).pathname !== "/";
  return new Map([
    [jwksPath, toText({ keys: keys.map(({ jwk }) => jwk) })],
    [discoveryPath, discovery],
    ...(hasPath ? [] : [[serverMetadataPath, discovery] as const]),
  ]);
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
