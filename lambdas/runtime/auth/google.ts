/**
 * The authorizer `google`: workload identity federation (https://cloud.google.com/iam/docs/workload-identity-federation). It exchanges a
 * token of AWS STS for a federated token, and that for a token of a service account: an ID token, which Cloud Run requires, or an access token,
 * which Google's own APIs require. No secret is stored.
 */

import { decodeJwt } from "jose";
import type { CredentialCacheOptions } from "../async/cached-credential.ts";
import type { Sts } from "../aws/sts.ts";
import { throwAwsFailure } from "./assumed-role.ts";
import { type Authorizer, createCredentialError } from "./authorizer.ts";
import { postToIssuer } from "./post-to-issuer.ts";
import {
  createTokenAuthorizer,
  type FreshToken,
  isToken,
  readTokenResponse,
} from "./token-authorizer.ts";

/**
 * With `scope` it sends an access token with these scopes, else an ID token for `audience`. `tokenAudience` is for the AWS token. The bases replace
 * Google's own addresses.
 */
export function createGoogleAuthorizer(
  options: CredentialCacheOptions & {
    sts: Pick<Sts, "getWebIdentityToken">;
    /** `projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER`. */
    workloadIdentityProvider: string;
    serviceAccount: string;
    audience: string;
    scope?: string | undefined;
    tokenAudience: string;
    stsBase?: URL;
    iamCredentialsBase?: URL;
  },
): Authorizer {
  const { sts, workloadIdentityProvider, serviceAccount, audience, scope, tokenAudience } = options;
  const { stsBase = new URL("https://sts.googleapis.com") } = options;
  const { iamCredentialsBase = new URL("https://iamcredentials.googleapis.com") } = options;
  const account = `/v1/projects/-/serviceAccounts/${encodeURIComponent(serviceAccount)}`;

  /** Token exchange, RFC 8693, section 2.1. */
  async function fetchFederatedToken(subjectToken: string, signal: AbortSignal): Promise<string> {
    const body = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      audience: `//iam.googleapis.com/${workloadIdentityProvider}`,
      scope: "https://www.googleapis.com/auth/cloud-platform",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      subject_token: subjectToken,
    });
    return readTokenResponse(
      await postToIssuer({ url: new URL("/v1/token", stsBase), body, signal }),
    ).token;
  }

  return createTokenAuthorizer({
    ...options,
    async fetchToken({ signal }) {
      const subjectToken = await sts
        .getWebIdentityToken({ audience: tokenAudience, signal })
        .catch(throwAwsFailure);
      const headers = {
        authorization: `Bearer ${await fetchFederatedToken(subjectToken, signal)}`,
      };
      const post = (method: string, body: Record<string, unknown>) =>
        postToIssuer({
          ...{ headers, body, signal },
          url: new URL(`${account}:${method}`, iamCredentialsBase),
        });
      if (scope === undefined) {
        const { token } = await post("generateIdToken", { audience, includeEmail: true });
        return withLifetime(token);
      }
      const lifetime = `${accessTokenSeconds}s`;
      const { accessToken } = await post("generateAccessToken", {
        ...{ scope: scope.split(" "), lifetime },
      });
      if (!isToken(accessToken)) throw createCredentialError({ code: "NoToken" });
      return { token: accessToken, lifetimeMs: accessTokenSeconds * 1000 };
    },
  });
}

/** The longest that Google allows without a policy of its own. It is requested, because the time in the response depends on clocks. */
const accessTokenSeconds = 3600;

/** Takes the lifetime from the token's own times, because Google's response has none. Their difference does not depend on clocks. */
function withLifetime(token: unknown): FreshToken {
  try {
    if (!isToken(token)) throw new TypeError();
    const { iat = Number.NaN, exp = Number.NaN } = decodeJwt(token);
    if (!(exp > iat)) throw new TypeError();
    return { token, lifetimeMs: (exp - iat) * 1000 };
  } catch {
    throw createCredentialError({ code: "NoToken" });
  }
}
