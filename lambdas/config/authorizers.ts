/** Creates the configured authorizers. */

import type { AskerAudience, AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { createAskerAuthorizer } from "@sekisho/runtime/auth/asker.ts";
import { type Authorizer, noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createAzureAuthorizer } from "@sekisho/runtime/auth/azure.ts";
import { createGoogleAuthorizer } from "@sekisho/runtime/auth/google.ts";
import { createLazyAuthorizer } from "@sekisho/runtime/auth/lazy-authorizer.ts";
import { createMtlsAuthorizer } from "@sekisho/runtime/auth/mtls.ts";
import { createOAuthClientCredentialsAuthorizer } from "@sekisho/runtime/auth/oauth-client-credentials.ts";
import { postToIssuer } from "@sekisho/runtime/auth/post-to-issuer.ts";
import { createSigV4Authorizer } from "@sekisho/runtime/auth/sigv4.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { createWebIdentityAuthorizer } from "@sekisho/runtime/auth/web-identity.ts";
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { createSts, type Sts } from "@sekisho/runtime/aws/sts.ts";
import { toWebIdentityRequest, type WebIdentityRequest } from "./authorizer-needs.ts";
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { SecretReference } from "./values.ts";

export type AuthorizerDependencies = {
  readSecret: (reference: SecretReference) => Promise<string>;
  credentials: AwsCredentialsProvider;
  /** The region in which the zone runs. Undefined if it is not known. */
  region: string | undefined;
  /** Makes the tokens of the authorizers `asker` and `token-exchange`. Absent where no calls are made for a person. */
  asker?: { tokens: AskerTokens; to: AskerAudience } | undefined;
  /** Replaces the addresses of Google and Microsoft, for tests. */
  issuers?: { google?: URL; microsoft?: URL };
};

/** `url` is the destination's. If the authorizer needs AWS STS and its region is not known, every call fails with `NoAwsRegion`. */
export function createAuthorizer(
  options: AuthorizerDependencies & { authorizer: AuthorizerConfig; url: string },
): Authorizer {
  const {
    authorizer,
    url,
    readSecret,
    credentials,
    region,
    issuers: { google, microsoft } = {},
  } = options;
  switch (authorizer.type) {
    case "none":
      return noAuthorizer;
    case "bearer":
      return createBearerAuthorizer({
        readToken: () => readSecret(authorizer.token),
        header: authorizer.header,
      });
    case "sigv4": {
      const { service, region: signingRegion, assumeRoleArn: roleArn, externalId } = authorizer;
      const sts = createSts({ region: signingRegion, credentials });
      const assumeRole = roleArn === undefined ? undefined : { sts, roleArn, externalId };
      return createSigV4Authorizer({ service, region: signingRegion, credentials, assumeRole });
    }
    case "web-identity":
      return createWebIdentityAuthorizer(tokensFor(authorizer));
    case "google": {
      const {
        workloadIdentityProvider,
        serviceAccount,
        audience = new URL(url).origin,
        scope,
      } = authorizer;
      const { sts, audience: tokenAudience } = tokensFor(authorizer);
      const bases = google && { stsBase: google, iamCredentialsBase: google };
      return createGoogleAuthorizer({
        sts,
        workloadIdentityProvider,
        serviceAccount,
        audience,
        scope,
        tokenAudience,
        ...bases,
      });
    }
    case "azure": {
      const { tenantId, clientId, scope } = authorizer;
      const { sts, audience: tokenAudience } = tokensFor(authorizer);
      const base = microsoft && { loginBase: microsoft };
      return createAzureAuthorizer({ sts, tenantId, clientId, scope, tokenAudience, ...base });
    }
    case "oauth-client-credentials": {
      const { type: _type, clientSecret, ...issuer } = authorizer;
      return createOAuthClientCredentialsAuthorizer({
        ...issuer,
        readClientSecret: () => readSecret(clientSecret),
      });
    }
    case "asker": {
      const { asker } = options;
      if (asker === undefined) throw new Error("The authorizer asker needs the section asker.");
      return createAskerAuthorizer(asker);
    }
    case "token-exchange": {
      const { type: _type, clientSecret, ...server } = authorizer;
      const readClientSecret = clientSecret && (() => readSecret(clientSecret));
      return createLazyAuthorizer(async () => {
        const { createTokenExchangeAuthorizer: create } = await import(
          "@sekisho/runtime/auth/token-exchange.ts"
        );
        return create({ ...server, readClientSecret, asker: options.asker, post: postToIssuer });
      });
    }
    case "mtls": {
      const { certificate, key, ca } = authorizer;
      return createMtlsAuthorizer({
        readCertificate: () => readSecret(certificate),
        readKey: () => readSecret(key),
        ...(ca === undefined ? {} : { readCa: () => readSecret(ca) }),
      });
    }
  }

  /** The Verification role's policy is made from the same `toWebIdentityRequest`, so that it permits exactly this request. */
  function tokensFor(config: AuthorizerConfig): Omit<WebIdentityRequest, "region"> & { sts: Sts } {
    const request = toWebIdentityRequest(config);
    if (request === undefined)
      throw new Error(`The authorizer ${config.type} does not use tokens of AWS STS.`);
    const stsRegion = request.region ?? region;
    return {
      ...request,
      sts:
        stsRegion === undefined ? stsWithoutRegion : createSts({ region: stsRegion, credentials }),
    };
  }
}

async function rejectNoRegion(): Promise<never> {
  throw new AwsCallError({ name: "NoAwsRegion", status: 400 });
}
const stsWithoutRegion: Sts = { getWebIdentityToken: rejectNoRegion, assumeRole: rejectNoRegion };
