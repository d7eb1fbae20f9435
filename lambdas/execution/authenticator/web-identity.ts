/** Admits AWS roles by the tokens that AWS STS issues to them (GetWebIdentityToken). */

import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import * as z from "zod";
import type { Authenticator } from "./authenticator.ts";
import type { KeyTimes } from "./issuer-keys.ts";
import { createJwtAuthenticator } from "./jwt.ts";

/** The algorithms of GetWebIdentityToken. */
const algorithms: ("RS256" | "ES384")[] = ["RS256", "ES384"];
const clockToleranceSeconds = 30;
/** The longest lifetime of a token of AWS STS. */
const maxLifetimeSeconds = 3600;

/** STS adds a claim with the account of the issuer. */
const claimsSchema = z.object({
  sub: z.string(),
  "https://sts.amazonaws.com/": z.object({ aws_account: z.string() }),
});

/** `roles` are ARNs. The account in a token must be that of its role. */
export function createWebIdentityAuthenticator(
  options: Pick<
    Extract<AuthenticatorConfig, { type: "web-identity" }>,
    "issuer" | "audience" | "roles"
  > & {
    keyTimes?: Partial<KeyTimes>;
    now?: () => number;
  },
): Authenticator {
  const { issuer, audience, roles, keyTimes, now = Date.now } = options;
  return createJwtAuthenticator({
    kind: "web-identity",
    issuers: [
      { issuer, audience, subjects: roles, algorithms, clockToleranceSeconds, maxLifetimeSeconds },
    ],
    isGenuine(claims) {
      const parsedClaims = claimsSchema.safeParse(claims);
      if (!parsedClaims.success) return false;
      const { sub, "https://sts.amazonaws.com/": stsClaims } = parsedClaims.data;
      return sub.split(":")[4] === stsClaims.aws_account;
    },
    ...(keyTimes && { keyTimes }),
    now,
  });
}
