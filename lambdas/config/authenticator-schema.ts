/** How the Execution host authenticates its callers. */

import { sekisho } from "@sekisho/runtime/command-line.ts";
import * as z from "zod";
import { httpUrl, integer, oneOf, roleArnSchema, secretSchema } from "./values.ts";

const issuer = httpUrl().describe("The iss claim of the tokens.");
const audience = z.string().min(1).max(1000).describe("The aud claim of the tokens.");

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
        "The admitted client_id claims, for access tokens with token_use access and no aud, such as Amazon Cognito's.",
      ),
    subjects: z.array(z.string().min(1).max(1000)).min(1).describe("The admitted sub claims."),
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
    clockToleranceSeconds: integer(0, 300).default(30).describe("How far the clocks may differ."),
    maxLifetimeSeconds: integer(60, 2 * 86_400)
      .default(7200)
      .describe(
        "The longest lifetime of a token. Google's live 1 hour, Entra's up to 95 minutes, those of managed identities 24 hours.",
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
          .describe("The accepted tokens, at least 20 characters each."),
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
      .describe("Admits AWS roles by tokens of AWS STS (authorizer web-identity)."),
    z
      .strictObject({ type: z.literal("platform") })
      .describe("Admits every request. Only behind a platform that authenticates callers."),
  ],
  oneOf("none", "bearer", "jwt", "web-identity", "platform"),
);
export type AuthenticatorConfig = z.infer<typeof authenticatorSchema>;
