/** The verified asker: what the zone's issuer is, and what each destination is told of the person who asked. */
import { askerHeader } from "@sekisho/contracts/asker.ts";
import * as z from "zod";
import { headerNameSchema, httpUrl } from "./values.ts";

/** Verifiers compare it character by character, and append the path of the discovery document. */
const issuerSchema = httpUrl().refine(
  (text) => /^[^?#]*[^/?#]$/.test(text),
  "must have no slash at its end, no query and no fragment",
);

/** The first key signs from the beginning, whenever that is. */
export const defaultKeyTime = "2026-01-01T00:00:00Z";

/** The section `asker`. */
export const askerSchema = z
  .strictObject({
    issuer: issuerSchema.describe(
      "The address of the discovery document and the keys (sekisho asker publish). All verifiers know it.",
    ),
    algorithm: z
      .enum(["RS256", "ES256"])
      .default("RS256")
      .describe(
        "The signature algorithm. AWS services take RS256 only. A change replaces all keys at once.",
      ),
    keys: z
      .array(
        z.strictObject({
          id: z
            .string()
            .regex(/^[a-z0-9-]{1,32}$/, "must be up to 32 lower-case letters, digits and -")
            .describe("The name of the key."),
          from: z.iso
            .datetime("must be a time such as 2026-11-30T00:00:00Z")
            .describe("When it begins to sign. The newest key signs."),
        }),
      )
      .min(1)
      .max(5)
      .refine(
        (keys) => new Set(keys.map(({ id }) => id)).size === keys.length,
        "must not have an id twice",
      )
      .default([{ id: "first", from: defaultKeyTime }])
      .describe("The keys. All are published, and one signs. sekisho asker rotate changes them."),
  })
  .describe("The issuer of the tokens that tell destinations who asked.");
export type AskerConfig = z.infer<typeof askerSchema>;

const claimSchema = z.enum(["team", "user", "channel", "thread", "email"]);
const defaultClaims: z.infer<typeof claimSchema>[] = ["team", "user", "channel", "thread"];

const askerOptionsSchema = z.strictObject({
  audience: z
    .string()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      "The audience (aud claim) of the token. Default: the destination's url, card or runtimeArn; sekisho for the Execution zone of this configuration.",
    ),
  header: headerNameSchema
    .optional()
    .describe(`The header that holds the token by itself. Default: ${askerHeader}.`),
  claims: z
    .array(claimSchema)
    .optional()
    .describe(
      "What the token says. email: only if confirmed in Slack, never of guests or other organizations. Default: team, user, channel and thread; none if the subject is opaque.",
    ),
  subject: z
    .enum(["slack", "opaque"])
    .optional()
    .describe(
      "The sub claim. slack: slack:TEAM:USER. opaque: a constant digest of it. Default: slack.",
    ),
});

function toDestinationAsker(options: z.infer<typeof askerOptionsSchema>) {
  const { audience, header = askerHeader, subject = "slack" } = options;
  const { claims = subject === "opaque" ? [] : defaultClaims } = options;
  return { ...(audience && { audience }), header: header.toLowerCase(), claims, subject };
}
export type DestinationAsker = ReturnType<typeof toDestinationAsker>;

/** `asker` of a destination. */
export const destinationAskerSchema = z
  .union(
    [z.literal(true), askerOptionsSchema],
    "must be true, or an object with audience, header, claims or subject",
  )
  .transform((asker) => toDestinationAsker(asker === true ? {} : asker))
  .describe(
    "Tells who asked, by a signed token with each call. Needs the section asker. Default: the destination is not told.",
  );

/** The authorizer `asker` sends the token, whether the destination has the section or not. */
export function withBearerAsker<
  D extends { authorizer: { type: string }; asker?: DestinationAsker | undefined },
>(destination: D) {
  const isBearer = destination.authorizer.type === "asker";
  const { asker = isBearer ? toDestinationAsker({}) : undefined } = destination;
  return { ...destination, ...(asker && { asker }) };
}

/** A zone whose tokens the Execution host takes. */
const trustedZoneSchema = z.strictObject({
  issuer: issuerSchema.describe("The iss claim of the tokens."),
  jwksUrl: httpUrl()
    .optional()
    .describe(
      "The URL of the issuer's public keys. Default: read from its OpenID discovery document.",
    ),
  clients: z
    .array(z.string().min(1).max(1000))
    .min(1)
    .optional()
    .describe(
      "The zones that may ask, by the client_id claim: the ARN of the Verification role, or sekisho on one machine. Default: all of the issuer.",
    ),
  algorithms: z
    .array(z.enum(["RS256", "ES256"]))
    .min(1)
    .default(["RS256", "ES256"])
    .describe("The accepted signature algorithms."),
});

const modeSchema = z.enum(["required", "optional"]);

/** `execution.asker`. What is left out follows from the whole configuration (`execution-asker.ts`). */
export const executionAskerSchema = z
  .union(
    [
      modeSchema,
      z.strictObject({
        mode: modeSchema.describe(
          "required: a task needs a valid token. optional: it may come without one, but not with a wrong one.",
        ),
        audience: z
          .string()
          .min(1)
          .max(1000)
          .optional()
          .describe(
            "The aud claim of the tokens. No other agent may have it. Default: sekisho, which only the destinations of this configuration send.",
          ),
        zones: z
          .array(trustedZoneSchema)
          .min(1)
          .max(20)
          .refine(
            (zones) => new Set(zones.map(({ issuer }) => issuer)).size === zones.length,
            "must list each issuer once",
          )
          .optional()
          .describe(
            "The Verification zones whose tokens count. Default: the one of the section asker.",
          ),
      }),
    ],
    'must be "required", "optional", or an object with mode, audience or zones',
  )
  .transform((asker) => (typeof asker === "string" ? { mode: asker } : asker))
  .describe(
    "Verifies who asked, by the token of the destination's asker. The agent gets the person as context.asker. Default: nobody is verified.",
  );
export type ExecutionAsker = {
  mode: "required" | "optional";
  audience?: string | undefined;
  zones?: z.infer<typeof trustedZoneSchema>[] | undefined;
};
