/** Google's STS and IAM Credentials in one server. They refuse every request that differs from their reference. */
import { SignJWT } from "jose";
import { type Asked, type Issuer, oauthError, startIssuer } from "./issuer.ts";

export const workloadIdentityProvider =
  "projects/123456789/locations/global/workloadIdentityPools/sekisho/providers/verification";
export const serviceAccount = "caller@a-project.iam.gserviceaccount.com";

const federatedToken = "federated-token-of-nobody";

/**
 * https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token and …/credentials/rest/v1/projects.serviceAccounts with generateIdToken and
 * generateAccessToken. `accessTokens` are those that it issued.
 */
export async function startGoogle({
  isSubject,
  provider = workloadIdentityProvider,
  account = serviceAccount,
}: {
  isSubject: (token: string) => boolean;
  provider?: string;
  account?: string;
}): Promise<Issuer & { accessTokens: string[] }> {
  const accessTokens: string[] = [];
  const key = crypto.getRandomValues(new Uint8Array(32));

  function exchange({ form }: Asked): Response {
    const { subject_token = "", ...rest } = form;
    const expectedResult = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      audience: `//iam.googleapis.com/${provider}`,
      scope: "https://www.googleapis.com/auth/cloud-platform",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    };
    if (JSON.stringify(rest) !== JSON.stringify(expectedResult))
      return oauthError("invalid_request");
    if (!isSubject(subject_token)) return oauthError("invalid_grant");
    const issued_token_type = "urn:ietf:params:oauth:token-type:access_token";
    return Response.json({
      access_token: federatedToken,
      issued_token_type,
      token_type: "Bearer",
      expires_in: 300,
    });
  }

  async function identify({ headers, text }: Asked): Promise<Response> {
    if (headers.get("authorization") !== `Bearer ${federatedToken}`)
      return apiError(401, "UNAUTHENTICATED");
    const { audience, includeEmail } = JSON.parse(text) as Record<string, unknown>;
    const email = includeEmail === true ? { email: account, email_verified: true } : {};
    // The issuer's clock is an hour off.
    const iat = Math.floor(Date.now() / 1000) - 3600;
    const claims = {
      iss: "https://accounts.google.com",
      aud: String(audience),
      iat,
      exp: iat + 3600,
      ...email,
    };
    return Response.json({
      token: await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(key),
    });
  }

  function grant({ headers, text }: Asked): Response {
    if (headers.get("authorization") !== `Bearer ${federatedToken}`)
      return apiError(401, "UNAUTHENTICATED");
    const { scope, lifetime, ...others } = JSON.parse(text) as Record<string, unknown>;
    const isValid = Array.isArray(scope) && scope.length > 0 && lifetime === "3600s";
    if (!isValid || Object.keys(others).length > 0) return apiError(400, "INVALID_ARGUMENT");
    const accessToken = `ya29.${scope.join("+")}.${accessTokens.length}`;
    accessTokens.push(accessToken);
    // The issuer's clock is an hour off.
    return Response.json({ accessToken, expireTime: new Date().toISOString() });
  }

  const issuer = await startIssuer({
    answer(tokenRequest) {
      const { target } = tokenRequest;
      if (target === "/v1/token") return exchange(tokenRequest);
      const path = `/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}`;
      if (target === `${path}:generateIdToken`) return identify(tokenRequest);
      if (target === `${path}:generateAccessToken`) return grant(tokenRequest);
      return apiError(404, "NOT_FOUND");
    },
  });
  return Object.assign(issuer, { accessTokens });
}

/** https://cloud.google.com/apis/design/errors */
export function apiError(code: number, status: string): Response {
  return Response.json(
    { error: { code, status, message: "words that nobody should repeat" } },
    { status: code },
  );
}
