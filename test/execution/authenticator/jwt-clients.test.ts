/** The authenticator `jwt` with `clients`: access tokens without an audience, as Amazon Cognito issues them. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { JwtIssuerConfig } from "@sekisho/config/authenticator-schema.ts";
import { createJwtAuthenticator } from "@sekisho/execution/authenticator/jwt.ts";
import { createOAuthClientCredentialsAuthorizer } from "@sekisho/runtime/auth/oauth-client-credentials.ts";
import { type Cognito, startCognito } from "../../doubles/issuers/cognito.ts";
import { permissionDenied, serveAuthenticator, unauthenticated } from "./ask.ts";

const machine = {
  id: "1h57kf5cpq17m0eml12EXAMPLE",
  secret: "secret-of-nobody-0123456789",
  scopes: ["agents/run"],
};
const web = "7c9d8e0f1a2b3c4d5e6fEXAMPLE";
const user = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

let cognito: Cognito;
beforeAll(async () => {
  cognito = await startCognito(machine);
});
afterAll(() => cognito.close());

function serve(settings: Partial<JwtIssuerConfig> = { clients: [machine.id] }) {
  const issuer = {
    issuer: cognito.issuer,
    subjects: [machine.id],
    algorithms: ["RS256" as const],
    clockToleranceSeconds: 30,
    maxLifetimeSeconds: 7200,
    ...settings,
  };
  return serveAuthenticator(createJwtAuthenticator({ issuers: [issuer] }));
}

it("admits a Verification zone with a token of the client credentials grant", async () => {
  const { call } = await serve();
  const authorizer = createOAuthClientCredentialsAuthorizer({
    tokenUrl: cognito.tokenUrl,
    clientId: machine.id,
    readClientSecret: async () => machine.secret,
    scope: "agents/run",
    clientAuthentication: "basic",
  });
  const request = {
    method: "POST",
    url: new URL("https://agents.example"),
    headers: {},
    body: new Uint8Array(),
  } as const;
  const { headers } = await authorizer.authorize({
    ...request,
    signal: AbortSignal.timeout(25_000),
  });
  const [, token = ""] = headers?.authorization?.split(" ") ?? [];
  expect(await call(token)).toBe("success");
});

it("admits a person who signed in with a named client", async () => {
  const { call } = await serve({ clients: [machine.id, web], subjects: [user] });
  const { accessToken } = await cognito.signIn({ clientId: web, user });
  expect(await call(accessToken)).toBe("success");
});

describe("a token of a named client", () => {
  it("answers 403 to a subject that is not listed", async () => {
    const { hear } = await serve({ clients: [web] });
    const { accessToken } = await cognito.signIn({ clientId: web, user });
    expect(await hear(accessToken)).toEqual(permissionDenied);
  });

  it("refuses the id token of the same sign-in", async () => {
    const { hear } = await serve({ clients: [web], subjects: [user] });
    const { idToken } = await cognito.signIn({ clientId: web, user });
    expect(await hear(idToken)).toEqual(unauthenticated);
  });
});

it.each<[string, Record<string, unknown>]>([
  ["another client", { client_id: web }],
  ["a client id in another letter case", { client_id: machine.id.toUpperCase() }],
  ["a longer client id", { client_id: `${machine.id}2` }],
  ["a shorter client id", { client_id: machine.id.slice(0, -1) }],
  ["a list of clients", { client_id: [machine.id] }],
  ["a number as the client", { client_id: 157 }],
  ["an empty client", { client_id: "" }],
  ["null as the client", { client_id: null }],
  ["no client", { client_id: undefined }],
  ["a client in azp only", { client_id: undefined, azp: machine.id }],
  ["a client in cid only", { client_id: undefined, cid: machine.id }],
  ["the token_use of an id token", { token_use: "id" }],
  ["a token_use in another letter case", { token_use: "Access" }],
  ["a list as token_use", { token_use: ["access"] }],
  ["no token_use", { token_use: undefined }],
  ["an audience, which means another API", { aud: "https://other.example" }],
  ["the client as its audience", { aud: machine.id }],
  ["an empty audience", { aud: "" }],
  ["an empty list of audiences", { aud: [] }],
  ["null as its audience", { aud: null }],
  ["no exp", { exp: undefined }],
  ["no iat", { iat: undefined }],
  ["no iss", { iss: undefined }],
  ["no sub", { sub: undefined }],
  [
    "another user pool",
    { iss: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Another00" },
  ],
  ["a lifetime of a day", { exp: Math.floor(Date.now() / 1000) + 86_400 }],
])("refuses a token with %s", async (_name, claims) => {
  const { hear, call } = await serve();
  expect(await hear(await cognito.forge(claims))).toEqual(unauthenticated);
  expect(await call(await cognito.forge({}))).toBe("success");
});

it("refuses a token with a client id instead of the configured audience", async () => {
  const { hear } = await serve({ audience: machine.id });
  expect(await hear(await cognito.forge({}))).toEqual(unauthenticated);
});

it("admits nobody where neither an audience nor a client is configured", async () => {
  const { hear } = await serve({});
  expect(await hear(await cognito.forge({}))).toEqual(unauthenticated);
  expect(await hear(await cognito.forge({ aud: "x" }))).toEqual(unauthenticated);
});
