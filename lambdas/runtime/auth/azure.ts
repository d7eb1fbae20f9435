/**
 * The authorizer `azure`: federated credentials of an app registration or a managed identity. It sends a token of AWS STS as the client
 * assertion and gets a token of Entra ID
 * (https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, third case). No secret is stored.
 */

import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { Sts } from "../aws/sts.ts";
import { throwAwsFailure } from "./assumed-role.ts";
import type { Authorizer } from "./authorizer.ts";
import { postToIssuer } from "./post-to-issuer.ts";
import { createTokenAuthorizer, readTokenResponse } from "./token-authorizer.ts";

/** `tokenAudience` is the audience of the AWS token. `loginBase` replaces Microsoft's own address. */
export function createAzureAuthorizer(
  options: CredentialCacheOptions & {
    sts: Pick<Sts, "getWebIdentityToken">;
    tenantId: string;
    clientId: string;
    scope: string;
    tokenAudience: string;
    loginBase?: URL;
  },
): Authorizer {
  const { sts, tenantId, clientId, scope, tokenAudience } = options;
  const { loginBase = new URL("https://login.microsoftonline.com") } = options;
  const url = new URL(`/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`, loginBase);
  return createTokenAuthorizer({
    ...options,
    async fetchToken({ signal }) {
      const assertion = await sts
        .getWebIdentityToken({ audience: tokenAudience, signal })
        .catch(throwAwsFailure);
      const body = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: clientId,
        scope,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: assertion,
      });
      return readTokenResponse(await postToIssuer({ url, body, signal }));
    },
  });
}
