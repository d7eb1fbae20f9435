/** Token endpoints for client_credentials: Entra ID's, and a generic OAuth 2 issuer's. */
import { type Asked, decodeBasic, type Issuer, oauthError, startIssuer } from "./issuer.ts";

export const tenantId = "7b2c4f06-4b59-4a3e-9d1f-1f2b3c4d5e6f";
export const clientId = "0a1b2c3d-0000-4000-8000-00000000cafe";
export const scope = "api://an-application/.default";

export type TokenEndpoint = Issuer & { issued: string[] };

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, with a federated credential. */
export function startEntra({
  isAssertion,
  tenant = tenantId,
  client = clientId,
  scope: expectedScope = scope,
}: {
  isAssertion: (token: string) => boolean;
  tenant?: string;
  client?: string;
  scope?: string;
}): Promise<TokenEndpoint> {
  return startTokenEndpoint({
    path: `/${tenant}/oauth2/v2.0/token`,
    lifetime: { expires_in: 3599, ext_expires_in: 3599 },
    refuse({ form }) {
      const { client_assertion = "", ...rest } = form;
      const expectedResult = {
        grant_type: "client_credentials",
        client_id: client,
        scope: expectedScope,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      };
      if (JSON.stringify(rest) !== JSON.stringify(expectedResult))
        return oauthError("invalid_request");
      return isAssertion(client_assertion) ? undefined : oauthError("invalid_client", 401);
    },
  });
}

/** RFC 6749, section 4.4. `secret` may change. A client that authenticates in both ways at once is refused (section 2.3). */
export async function startOAuth({
  id,
  secrets,
  lifetime = { expires_in: 600 },
}: {
  id: string;
  secrets: { current: string };
  lifetime?: Record<string, unknown>;
}): Promise<TokenEndpoint> {
  return startTokenEndpoint({
    path: "/token",
    lifetime,
    refuse({ headers, form }) {
      const basic = headers.get("authorization");
      if (basic !== null && form.client_secret !== undefined) return oauthError("invalid_request");
      const shown = basic === null ? [form.client_id, form.client_secret] : decodeBasic(basic);
      if (shown[0] !== id || shown[1] !== secrets.current) return oauthError("invalid_client", 401);
      return form.grant_type === "client_credentials"
        ? undefined
        : oauthError("unsupported_grant_type");
    },
  });
}

async function startTokenEndpoint({
  path,
  lifetime,
  refuse,
}: {
  path: string;
  lifetime: Record<string, unknown>;
  refuse: (tokenRequest: Asked) => Response | undefined;
}): Promise<TokenEndpoint> {
  const issuedTokens: string[] = [];
  const issuer = await startIssuer({
    answer(tokenRequest) {
      if (tokenRequest.target !== path) return new Response(null, { status: 404 });
      const refusal = refuse(tokenRequest);
      if (refusal !== undefined) return refusal;
      issuedTokens.push(`access-token-${issuedTokens.length + 1}`);
      return Response.json({
        access_token: issuedTokens.at(-1),
        token_type: "Bearer",
        ...lifetime,
      });
    },
  });
  return Object.assign(issuer, { issued: issuedTokens });
}
