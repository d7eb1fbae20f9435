/** What an authorizer asks AWS STS for where its proof is a web identity token: the same for the call and for its permission. Pure. */
import type { AuthorizerConfig } from "./authorizer-schema.ts";

export type WebIdentityRequest = {
  audience: string;
  signingAlgorithm: "RS256" | "ES384";
  durationSeconds: number;
  /** Of the STS; the Verification zone's where absent. */
  region: string | undefined;
};

/** For an exchange at once: what every verifier understands, and the life that AWS gives by default. */
const toExchange = { signingAlgorithm: "RS256", durationSeconds: 300 } as const;

/** Undefined for an authorizer that needs no such token. */
export function webIdentityRequestOf(authorizer: AuthorizerConfig): WebIdentityRequest | undefined {
  switch (authorizer.type) {
    case "web-identity": {
      const { audience, signingAlgorithm, durationSeconds, region } = authorizer;
      return { audience, signingAlgorithm, durationSeconds, region };
    }
    case "google": {
      const { workloadIdentityProvider, region } = authorizer;
      const { tokenAudience: audience = `https://iam.googleapis.com/${workloadIdentityProvider}` } = authorizer;
      return { audience, ...toExchange, region };
    }
    case "azure":
      return { audience: authorizer.tokenAudience, ...toExchange, region: authorizer.region };
    default:
      return undefined;
  }
}
