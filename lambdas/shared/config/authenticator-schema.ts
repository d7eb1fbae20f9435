/** How the Execution host authenticates its callers. */
import * as z from "zod";
import { httpUrl, integer, oneOf, roleArnSchema, secretSchema } from "./values.ts";

const issuer = httpUrl().describe("The exact iss of the tokens.");
const audience = z.string().min(1).max(1000).describe("The aud that tokens must have.");

const jwtIssuerSchema = z.strictObject({
  issuer,
  jwksUrl: httpUrl().optional().describe("The URL of its keys. Default: the one in its OpenID discovery document."),
  audience,
  subjects: z
    .array(z.string().min(1).max(1000))
    .min(1)
    .describe("The callers that are let in, compared exactly with sub."),
  algorithms: z
    .array(z.enum(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]))
    .min(1)
    .default(["RS256", "ES256"]),
  clockToleranceSeconds: integer(0, 300).default(30),
  maxLifetimeSeconds: integer(60, 2 * 86_400)
    .default(7200)
    .describe(
      "The longest time between iat and exp. Google's tokens live for an hour, Entra's for up to 95 minutes, those of managed identities for a day.",
    ),
});
export type JwtIssuerConfig = z.infer<typeof jwtIssuerSchema>;

export const authenticatorSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("none") }).describe("Anyone who can connect; on loopback only."),
    z
      .strictObject({
        type: z.literal("bearer"),
        tokens: z
          .array(secretSchema)
          .min(1)
          .describe("Any of them lets a caller in. Use two while one is rotated. At least 20 characters each."),
      })
      .describe("Tokens that both sides know."),
    z
      .strictObject({
        type: z.literal("jwt"),
        issuers: z
          .array(jwtIssuerSchema)
          .min(1)
          .refine((issuers) => new Set(issuers.map((each) => each.issuer)).size === issuers.length, "each issuer once"),
      })
      .describe("JSON Web Tokens of issuers that publish their keys."),
    z
      .strictObject({
        type: z.literal("web-identity"),
        issuer: issuer.describe("The account's issuer, as npx sekisho federation show prints it."),
        audience,
        roles: z.array(roleArnSchema).min(1).describe("The Verification roles that are let in."),
      })
      .describe("Tokens that AWS STS issues to a role, for callers with the authorizer web-identity."),
    z
      .strictObject({ type: z.literal("platform") })
      .describe(
        "Every caller that the platform lets through. Only behind a platform that authenticates callers, such as Cloud Run with IAM.",
      ),
  ],
  oneOf("none", "bearer", "jwt", "web-identity", "platform"),
);
export type AuthenticatorConfig = z.infer<typeof authenticatorSchema>;
