/** From the configuration's word for an authenticator to the authenticator itself. */
import type { AuthenticatorConfig } from "../../../shared/config/authenticator-schema.ts";
import type { SecretReference } from "../../../shared/config/values.ts";
import type { Authenticator } from "./authenticator.ts";
import { bearerAuthenticator } from "./bearer.ts";
import { jwtAuthenticator } from "./jwt.ts";
import { noAuthenticator } from "./none.ts";
import { platformAuthenticator } from "./platform.ts";
import { webIdentityAuthenticator } from "./web-identity.ts";

/** `readSecret` is asked for every request, so that a rotated token is seen. */
export function createAuthenticator({
  config,
  readSecret,
}: {
  config: AuthenticatorConfig;
  readSecret: (reference: SecretReference) => Promise<string>;
}): Authenticator {
  switch (config.type) {
    case "none":
      return noAuthenticator();
    case "bearer":
      return bearerAuthenticator({ readTokens: () => Promise.all(config.tokens.map((token) => readSecret(token))) });
    case "jwt":
      return jwtAuthenticator({ issuers: config.issuers });
    case "web-identity":
      return webIdentityAuthenticator(config);
    case "platform":
      return platformAuthenticator();
  }
}
