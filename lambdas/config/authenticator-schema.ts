/** How the Execution host authenticates its callers. */

import { sekisho } from "@sekisho/runtime/command-line.ts";
import * as z from "zod";
import { httpUrl, integer, oneOf, roleArnSchema, secretSchema } from "./values.ts";

const issuer = httpUrl().describe(
  "The issuer of the tokens, compared exactly with their iss claim.",
);
const audience = z
  .string()
  .min(1)
  .max(1000)
  .describe("The audience that tokens must have in their aud claim.");

const jwtIssuerSchema = z
  .strictObject({
    issuer,
    jwksUrl: httpUrl()
      .optional()
      .describe(
        "The URL of the issuer's public keys. Default: read from its OpenID discovery document.",
      ),
    audience: audience
      .optional()
      .describe(`${audience.description} Exactly one of audience and clients is needed.`),
    clients: z
      .array(z.string().min(1).max(1000))
      .min(1)
      .optional()
      .describe(
        "For access tokens without an audience, as Amazon Cognito issues them: the admitted clients, compared exactly with the client_id claim. Tokens must have the claim token_use with the value access, and no aud.",
      ),
    subjects: z
      .array(z.string().min(1).max(1000))
      .min(1)
      .describe("The admitted callers, compared exactly with the sub claim of their tokens."),
    algorithms: z
      .array(
        z.enum([
          "RS256",
          "RS384",
          "RS512",
          "PS256",
          "PS384",
          "PS512",
          "ES256",
          "ES384",
          "ES512",
          "EdDSA",
        ]),
      )
      .min(1)
      .default(["RS256", "ES256"])
      .describe("The accepted signature algorithms."),
    clockToleranceSeconds: integer(0, 300)
      .default(30)
      .describe("How far the clocks of the issuer and this host may differ, in seconds."),
    maxLifetimeSeconds: integer(60, 2 * 86_400)
      .default(7200)
      .describe(
        "The longest accepted lifetime of a token (from iat to exp), in seconds. Google's tokens live for 1 hour, Entra's for up to 95 minutes, those of managed identities for 24 hours.",
      ),
  })
  .refine(({ audience, clients }) => (audience === undefined) !== (clients === undefined), {
    message:
      "needs either `audience` or, for tokens without an audience such as Amazon Cognito's, `clients`",
  });
export type JwtIssuerConfig = z.infer<typeof jwtIssuerSchema>;

export const authenticatorSchema = z.discriminatedUnion(
  "type",
  [
    z
      .strictObject({ type: z.literal("none") })
      .describe("Admits everyone who can connect. Allowed on loopback only."),
    z
      .strictObject({
        type: z.literal("bearer"),
        tokens: z
          .array(secretSchema)
          .min(1)
          .describe(
            "The accepted tokens, at least 20 characters each. List two while you rotate one.",
          ),
      })
      .describe("Admits callers that send one of the shared tokens."),
    z
      .strictObject({
        type: z.literal("jwt"),
        issuers: z
          .array(jwtIssuerSchema)
          .min(1)
          .refine(
            (issuers) => new Set(issuers.map((each) => each.issuer)).size === issuers.length,
            "must list each issuer once",
          )
          .describe("The trusted issuers."),
      })
      .describe("Admits callers by JSON Web Tokens of issuers that publish their keys."),
    z
      .strictObject({
        type: z.literal("web-identity"),
        issuer: issuer.describe(
          `The issuer of the callers' AWS account. \`${sekisho} federation show\` prints it.`,
        ),
        audience,
        roles: z
          .array(roleArnSchema)
          .min(1)
          .describe("ARNs of the admitted roles, such as the Verification zone's."),
      })
      .describe(
        "Admits AWS roles by tokens of AWS STS, which callers with the authorizer web-identity send.",
      ),
    z
      .strictObject({ type: z.literal("platform") })
      .describe(
        "Admits every request. Use it only behind a platform that authenticates callers, such as Cloud Run with IAM.",
      ),
  ],
  oneOf("none", "bearer", "jwt", "web-identity", "platform"),
);
export type AuthenticatorConfig = z.infer<typeof authenticatorSchema>;
