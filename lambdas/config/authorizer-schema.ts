/** The authorizers of a destination: how calls over HTTP prove who makes them. */
import * as z from "zod";
import {
  headerNameSchema,
  httpUrl,
  integer,
  oneOf,
  regionSchema,
  roleArnSchema,
  secretSchema,
} from "./values.ts";

const stsRegion = {
  region: regionSchema
    .optional()
    .describe(
      "The region of the AWS STS endpoint that issues the token. Default: the Verification zone's region.",
    ),
};
const audience = z.string().min(1).max(1000);

/** RFC 6749, section 3.3. */
const scope = z
  .string()
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    "must be scopes separated by single spaces",
  );

const clientAuthentication = z
  .enum(["basic", "post"])
  .describe("How the secret is sent: Authorization header or form.");

/** RFC 8707, section 2. */
const resource = z
  .string()
  .max(1000)
  .refine(
    (text) => URL.canParse(text) && !text.includes("#"),
    "must be an absolute URI without a fragment",
  );

export const authorizerSchema = z.discriminatedUnion(
  "type",
  [
    z
      .strictObject({ type: z.literal("none") })
      .describe("Sends no credentials. Allowed on loopback only."),
    z
      .strictObject({
        type: z.literal("bearer"),
        token: secretSchema.describe("The shared token."),
        header: headerNameSchema
          .optional()
          .describe(
            "The header that holds the token by itself, such as x-api-key. Default: Authorization, after the word Bearer.",
          ),
      })
      .describe("Sends a shared token in a header."),
    z
      .strictObject({
        type: z.literal("sigv4"),
        service: z
          .string()
          .min(1)
          .describe("The signing name of the service, such as lambda or execute-api."),
        region: z
          .string()
          .min(1)
          .describe("The region in the signature, which must be that of the service."),
        functionArn: z
          .string()
          .regex(
            /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]{1,64}(:[\w-]{1,128})?$/,
            "must be the ARN of a function or of an alias",
          )
          .optional()
          .describe(
            "The function behind a Function URL, for the permission to invoke it. Required in a stage without assumeRoleArn.",
          ),
        assumeRoleArn: roleArnSchema
          .optional()
          .describe(
            "The role that signs. It must trust the Verification zone's role. Default: the Verification zone's role signs.",
          ),
        externalId: z
          .string()
          .regex(/^[\w+=,.@:/-]{2,1224}$/, "must be an external id of AWS STS")
          .optional()
          .describe("The external id that the role's trust policy requires."),
      })
      .refine(
        ({ assumeRoleArn, externalId }) => externalId === undefined || assumeRoleArn !== undefined,
        {
          path: ["externalId"],
          message: "has no effect without assumeRoleArn; add that or remove externalId",
        },
      )
      .refine(({ functionArn, service }) => functionArn === undefined || service === "lambda", {
        path: ["functionArn"],
        message: 'is for the service "lambda" only; remove it or change the service',
      })
      .refine(
        ({ functionArn, region }) =>
          functionArn === undefined || functionArn.split(":")[3] === region,
        {
          path: ["functionArn"],
          message: "is in another region than authorizer.region; make them equal",
        },
      )
      .describe("Signs requests with AWS Signature Version 4."),
    z
      .strictObject({
        type: z.literal("web-identity"),
        audience: audience.describe("The audience (aud claim) that the peer expects."),
        signingAlgorithm: z
          .enum(["RS256", "ES384"])
          .default("RS256")
          .describe("The signature algorithm of the token."),
        durationSeconds: integer(60, 3600).default(300).describe("The lifetime of the token."),
        tags: z
          .literal(true)
          .optional()
          .describe(
            "Says who asked, by the tags slack_team, slack_user and slack_enterprise. For destinations only. Default: the token says nothing of the person.",
          ),
        ...stsRegion,
      })
      .describe("Sends a token of AWS STS (GetWebIdentityToken)."),
    z
      .strictObject({
        type: z.literal("google"),
        workloadIdentityProvider: z
          .string()
          .regex(
            /^projects\/\d+\/locations\/global\/workloadIdentityPools\/[a-z0-9-]{4,32}\/providers\/[a-z0-9-]{4,32}$/,
            "must be projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER",
          )
          .describe("The provider that trusts the AWS account."),
        serviceAccount: z
          .string()
          .regex(
            /^[a-z0-9.-]+@[a-z0-9.:-]+\.gserviceaccount\.com$/,
            "must be the e-mail address of a service account",
          )
          .describe("The service account in whose name the peer is called."),
        audience: audience
          .optional()
          .describe(
            "The audience of the ID token. Default: the origin of the destination's URL, as Cloud Run expects.",
          ),
        scope: scope
          .optional()
          .describe(
            "Sends an access token with these scopes instead of an ID token, such as https://www.googleapis.com/auth/cloud-platform. Default: an ID token.",
          ),
        tokenAudience: audience
          .optional()
          .describe(
            "The audience of the AWS token. Default: https://iam.googleapis.com/PROVIDER, as Google expects.",
          ),
        ...stsRegion,
      })
      .refine(({ audience, scope }) => audience === undefined || scope === undefined, {
        path: ["audience"],
        message: "has no effect with scope, because an access token has no audience; remove one",
      })
      .describe("Exchanges a token of AWS STS for one of Google (workload identity federation)."),
    z
      .strictObject({
        type: z.literal("azure"),
        tenantId: z.uuid("must be the UUID of the tenant").describe("The id of the Entra tenant."),
        clientId: z
          .uuid("must be the UUID of the app registration or managed identity")
          .describe(
            "The id of the app registration or managed identity that trusts the AWS account.",
          ),
        scope: scope.describe("The scope of the token, such as api://APPLICATION/.default."),
        tokenAudience: audience
          .default("api://AzureADTokenExchange")
          .describe("The audience of the AWS token."),
        ...stsRegion,
      })
      .describe("Exchanges a token of AWS STS for one of Entra ID (federated credentials)."),
    z
      .strictObject({
        type: z.literal("oauth-client-credentials"),
        tokenUrl: httpUrl().describe("The token endpoint of the OAuth 2 server."),
        clientId: z.string().min(1).max(1000).describe("The client id."),
        clientSecret: secretSchema.describe("The client secret."),
        scope: scope
          .optional()
          .describe("The scopes of the token, separated by spaces. Default: none are requested."),
        audience: audience
          .optional()
          .describe("The audience of the token, for servers that require one. Default: none."),
        clientAuthentication: clientAuthentication.default("basic"),
      })
      .describe("Sends a token of an OAuth 2 server (client credentials)."),
    z
      .strictObject({
        type: z.literal("mtls"),
        certificate: secretSchema.describe("The client certificate followed by its chain, as PEM."),
        key: secretSchema.describe("The private key of the certificate, as unencrypted PEM."),
        ca: secretSchema
          .optional()
          .describe("The CA of the server's certificate, as PEM. Default: the public CAs."),
      })
      .describe("Presents a client certificate (mutual TLS)."),
    z
      .strictObject({ type: z.literal("asker") })
      .describe(
        "Sends the token of who asked (the destination's asker) as the bearer, such as for AgentCore with a JWT authorizer.",
      ),
    z
      .strictObject({
        type: z.literal("token-exchange"),
        tokenUrl: httpUrl().describe("The token endpoint of the server."),
        grant: z
          .enum(["token-exchange", "jwt-bearer"])
          .default("token-exchange")
          .describe(
            "How the server takes the token: as the subject of an exchange (RFC 8693), or as an assertion (RFC 7523).",
          ),
        clientId: z
          .string()
          .min(1)
          .max(1000)
          .optional()
          .describe("The client id. Default: none is sent."),
        clientSecret: secretSchema
          .optional()
          .describe("The client secret. Default: none, for a public client."),
        clientAuthentication: clientAuthentication.default("basic"),
        audience: audience
          .optional()
          .describe("The audience of the new token, by the server's name for it. Default: none."),
        resource: resource
          .optional()
          .describe("The address of the API that the new token is for (RFC 8707). Default: none."),
        scope: scope
          .optional()
          .describe("The scopes of the new token, separated by spaces. Default: none."),
        subjectAudience: audience
          .optional()
          .describe(
            "The aud claim of the token that is traded in. Some servers expect their issuer. For destinations only. Default: tokenUrl.",
          ),
      })
      .refine(
        ({ clientId, clientSecret }) => clientSecret === undefined || clientId !== undefined,
        { path: ["clientId"], message: "is missing; set it, because there is a clientSecret" },
      )
      .describe(
        "Trades the token of who asked at an authorization server, and sends the new one. Agents trade the token that the host received.",
      ),
  ],
  oneOf(
    "none",
    "bearer",
    "sigv4",
    "web-identity",
    "google",
    "azure",
    "oauth-client-credentials",
    "mtls",
    "asker",
    "token-exchange",
  ),
);
export type AuthorizerConfig = z.infer<typeof authorizerSchema>;
