/** Lets in roles of AWS by the tokens that AWS STS issues to them (GetWebIdentityToken). */
import * as z from "zod";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { Authenticator } from "../http/exchange.ts";
import type { KeyTimes } from "./issuer-keys.ts";
import { createJwtAuthenticator } from "./jwt.ts";

/** Both that GetWebIdentityToken signs with. */
const algorithms: ("RS256" | "ES384")[] = ["RS256", "ES384"];
const clockToleranceSeconds = 30;
/** The longest that AWS STS issues them for. */
const maxLifetimeSeconds = 3600;

/** Of the claims that STS adds, the one that says whose the issuer is. */
const claimsSchema = z.object({
  sub: z.string(),
  "https://sts.amazonaws.com/": z.object({ aws_account: z.string() }),
});

/** `roles` are ARNs. A token's own account must be that of the role that it names. */
export function createWebIdentityAuthenticator({
  issuer,
  audience,
  roles,
  keyTimes,
  now = Date.now,
}: Pick<Extract<AuthenticatorConfig, { type: "web-identity" }>, "issuer" | "audience" | "roles"> & {
  keyTimes?: Partial<KeyTimes>;
  now?: () => number;
}): Authenticator {
  return createJwtAuthenticator({
    kind: "web-identity",
    issuers: [{ issuer, audience, subjects: roles, algorithms, clockToleranceSeconds, maxLifetimeSeconds }],
    isGenuine(claims) {
      const parsed = claimsSchema.safeParse(claims);
      if (!parsed.success) return false;
      const { sub, "https://sts.amazonaws.com/": ofSts } = parsed.data;
      return sub.split(":")[4] === ofSts.aws_account;
    },
    ...(keyTimes && { keyTimes }),
    now,
  });
}
