/** How calls to a destination prove who makes them, for the transports over HTTP. */
import * as z from "zod";
import { httpUrl, integer, oneOf, regionSchema, roleArnSchema, type SecretReference, secretSchema } from "./values.ts";

const stsRegion = {
  region: regionSchema
    .optional()
    .describe("The region of the AWS STS that issues the token. Default: the Verification zone's."),
};
const audience = z.string().min(1).max(1000);

/** RFC 6749, section 3.3. */
const scope = z
  .string()
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/, "scopes, one blank between two");

export const authorizerSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("none") }).describe("No credentials. For loopback only."),
    z.strictObject({ type: z.literal("bearer"), token: secretSchema }),
    z
      .strictObject({
        type: z.literal("sigv4"),
        service: z.string().min(1).describe("The signing name, such as lambda or execute-api."),
        region: z.string().min(1),
        functionArn: z
          .string()
          .regex(
            /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]{1,64}(:[\w-]{1,128})?$/,
            "the ARN of a function, or of an alias of one",
          )
          .optional()
          .describe(
            "The function behind a Function URL, which a stage may then invoke. Needed there for the service lambda without an assumeRoleArn.",
          ),
        assumeRoleArn: roleArnSchema.optional().describe("Sign as this role, which must trust the Verification role."),
        externalId: z
          .string()
          .regex(/^[\w+=,.@:/-]{2,1224}$/, "an external id of AWS STS")
          .optional()
          .describe("The external id that the role's trust policy requires."),
      })
      .refine(({ assumeRoleArn, externalId }) => externalId === undefined || assumeRoleArn !== undefined, {
        path: ["externalId"],
        message: "is for an assumeRoleArn",
      })
      .refine(({ functionArn, service }) => functionArn === undefined || service === "lambda", {
        path: ["functionArn"],
        message: "is for the service lambda",
      })
      .refine(({ functionArn, region }) => functionArn === undefined || functionArn.split(":")[3] === region, {
        path: ["functionArn"],
        message: "is in another region than the one that is signed for",
      })
      .describe("AWS Signature Version 4."),
    z
      .strictObject({
        type: z.literal("web-identity"),
        audience: audience.describe("The aud that the other side expects."),
        signingAlgorithm: z.enum(["RS256", "ES384"]).default("RS256"),
        durationSeconds: integer(60, 3600).default(300),
        ...stsRegion,
      })
      .describe("A token that AWS STS issues (GetWebIdentityToken). No secret is stored."),
    z
      .strictObject({
        type: z.literal("google"),
        workloadIdentityProvider: z
          .string()
          .regex(
            /^projects\/\d+\/locations\/global\/workloadIdentityPools\/[a-z0-9-]{4,32}\/providers\/[a-z0-9-]{4,32}$/,
            "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER",
          ),
        serviceAccount: z
          .string()
          .regex(/^[a-z0-9.-]+@[a-z0-9.:-]+\.gserviceaccount\.com$/, "a service account's e-mail address"),
        audience: audience
          .optional()
          .describe("The aud of the ID token. Default: the url's origin, as Cloud Run expects it."),
        tokenAudience: audience
          .optional()
          .describe("The aud of the token of AWS. Default: https://iam.googleapis.com/PROVIDER, as Google expects it."),
        ...stsRegion,
      })
      .describe("Workload identity federation: a token of AWS STS becomes an ID token of Google. No secret is stored."),
    z
      .strictObject({
        type: z.literal("azure"),
        tenantId: z.uuid("the id of the tenant, a UUID"),
        clientId: z.uuid("the id of the app registration or managed identity, a UUID"),
        scope: scope.describe("The scope, such as api://APPLICATION/.default."),
        tokenAudience: audience.default("api://AzureADTokenExchange").describe("The aud of the token of AWS."),
        ...stsRegion,
      })
      .describe("Federated credentials: a token of AWS STS becomes a token of Entra ID. No secret is stored."),
    z
      .strictObject({
        type: z.literal("oauth-client-credentials"),
        tokenUrl: httpUrl(),
        clientId: z.string().min(1).max(1000),
        clientSecret: secretSchema,
        scope: scope.optional(),
        audience: audience.optional().describe("If the issuer requires one."),
        clientAuthentication: z
          .enum(["basic", "post"])
          .default("basic")
          .describe("How the client shows its secret: in the header Authorization, or in the form."),
      })
      .describe("OAuth 2: the grant client_credentials."),
    z
      .strictObject({
        type: z.literal("mtls"),
        certificate: secretSchema.describe("PEM, with the chain below it."),
        key: secretSchema.describe("PEM, not encrypted."),
        ca: secretSchema
          .optional()
          .describe("PEM. The authority that issued the server's certificate, if it is not a public one."),
      })
      .describe("A client certificate."),
  ],
  oneOf("none", "bearer", "sigv4", "web-identity", "google", "azure", "oauth-client-credentials", "mtls"),
);
export type AuthorizerConfig = z.infer<typeof authorizerSchema>;

// The secrets of an authorizer, for code that must permit, request or check them.

export type AuthorizerSecretUse = "token" | "client secret" | "certificate" | "private key" | "CA certificate";

export type AuthorizerSecret = { use: AuthorizerSecretUse; reference: SecretReference };

export function listAuthorizerSecrets(authorizer: AuthorizerConfig): AuthorizerSecret[] {
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

// The token that an authorizer requests from AWS STS. Calls and permissions must agree on it.

export type WebIdentityRequest = {
  audience: string;
  signingAlgorithm: "RS256" | "ES384";
  durationSeconds: number;
  /** The region of the STS. Default: the Verification zone's. */
  region: string | undefined;
};

/** For a token that is exchanged at once: the algorithm that every verifier supports, and AWS's default lifetime. */
const toExchange = { signingAlgorithm: "RS256", durationSeconds: 300 } as const;

/** Undefined for an authorizer that needs no such token. */
export function toWebIdentityRequest(authorizer: AuthorizerConfig): WebIdentityRequest | undefined {
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
