/** Which secrets an authorizer reads, and what each is: for whoever must permit, ask for or check them. Pure. */
import type { AuthorizerConfig } from "./authorizer-schema.ts";
import type { SecretReference } from "./values.ts";

export type AuthorizerSecretUse = "token" | "client secret" | "certificate" | "private key" | "CA certificate";

export type AuthorizerSecret = { use: AuthorizerSecretUse; reference: SecretReference };

export function secretsOfAuthorizer(authorizer: AuthorizerConfig): AuthorizerSecret[] {
  switch (authorizer.type) {
    case "bearer":
      return [{ use: "token", reference: authorizer.token }];
    case "oauth-client-credentials":
      return [{ use: "client secret", reference: authorizer.clientSecret }];
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
