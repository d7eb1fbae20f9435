/** Lists the secrets that a configured authorizer needs, and the token that it requests from AWS STS. */
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { SecretReference } from "./values.ts";

export type AuthorizerSecretUse =
  | "token"
  | "client secret"
  | "certificate"
  | "private key"
  | "CA certificate";

export type AuthorizerSecret = { use: AuthorizerSecretUse; reference: SecretReference };

export function listAuthorizerSecrets(authorizer: AuthorizerConfig): AuthorizerSecret[] {
  switch (authorizer.type) {
    case "bearer":
      return [{ use: "token", reference: authorizer.token }];
    case "oauth-client-credentials":
      return [{ use: "client secret", reference: authorizer.clientSecret }];
    case "token-exchange": {
      const { clientSecret: reference } = authorizer;
      return reference === undefined ? [] : [{ use: "client secret", reference }];
    }
    case "mtls": {
      const { certificate, key, ca } = authorizer;
      return [
        { use: "certificate", reference: certificate },
        { use: "private key", reference: key },
        ...(ca === undefined ? [] : [{ use: "CA certificate" as const, reference: ca }]),
      ];
    }
    default:
      return [];
  }
}

/** The token that an authorizer requests from AWS STS. The calls and the permission of a stage must agree on it. */
export type WebIdentityRequest = {
  audience: string;
  signingAlgorithm: "RS256" | "ES384";
  durationSeconds: number;
  /** The region of the STS. Default: the Verification zone's. */
  region: string | undefined;
  /** True if the token says who asked. */
  tags?: true | undefined;
};

/** For a token that is exchanged at once: the algorithm that every verifier supports, and AWS's default lifetime. */
const toExchange = { signingAlgorithm: "RS256", durationSeconds: 300 } as const;

/** Undefined for an authorizer that needs no such token. */
export function toWebIdentityRequest(authorizer: AuthorizerConfig): WebIdentityRequest | undefined {
  switch (authorizer.type) {
    case "web-identity": {
      const { audience, signingAlgorithm, durationSeconds, region, tags } = authorizer;
      return { audience, signingAlgorithm, durationSeconds, region, ...(tags && { tags }) };
    }
    case "google": {
      const { workloadIdentityProvider, region } = authorizer;
      const { tokenAudience: audience = `https://iam.googleapis.com/${workloadIdentityProvider}` } =
        authorizer;
      return { audience, ...toExchange, region };
    }
    case "azure":
      return { audience: authorizer.tokenAudience, ...toExchange, region: authorizer.region };
    default:
      return undefined;
  }
}
