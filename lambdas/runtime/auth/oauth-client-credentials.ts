/** The authorizer `oauth-client-credentials`: RFC 6749, section 4.4, for any OAuth 2 issuer. */

import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { Authorizer } from "./authorizer.ts";
import { postToIssuer } from "./post-to-issuer.ts";
import { createTokenAuthorizer, readTokenResponse } from "./token-authorizer.ts";

/** Reads the secret for each token, so that a rotated one is used. Some issuers require `audience`. */
export function createOAuthClientCredentialsAuthorizer(
  options: CredentialCacheOptions & {
    tokenUrl: string;
    clientId: string;
    readClientSecret: () => Promise<string>;
    scope?: string | undefined;
    audience?: string | undefined;
    clientAuthentication: "basic" | "post";
  },
): Authorizer {
  const {
    tokenUrl,
    clientId,
    readClientSecret,
    scope,
    audience,
    clientAuthentication,
    ...cacheOptions
  } = options;
  return createTokenAuthorizer({
    ...cacheOptions,
    async fetchToken({ signal }) {
      const secret = await readClientSecret();
      const isBasic = clientAuthentication === "basic";
      const body = new URLSearchParams({
        grant_type: "client_credentials",
        ...(scope === undefined ? {} : { scope }),
        ...(audience === undefined ? {} : { audience }),
        ...(isBasic ? {} : { client_id: clientId, client_secret: secret }),
      });
      const headers = isBasic ? { authorization: basic(clientId, secret) } : {};
      return readTokenResponse(await postToIssuer({ url: tokenUrl, body, headers, signal }));
    },
  });
}

/** Form-encodes the id and the secret (section 2.3.1), then joins them as in RFC 7617. */
function basic(clientId: string, secret: string): string {
  return `Basic ${Buffer.from(`${encodeForm(clientId)}:${encodeForm(secret)}`).toString("base64")}`;
}

function encodeForm(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}
