import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createAzureAuthorizer } from "@sekisho/runtime/auth/azure.ts";
import { createGoogleAuthorizer } from "@sekisho/runtime/auth/google.ts";
import { createOAuthClientCredentialsAuthorizer } from "@sekisho/runtime/auth/oauth-client-credentials.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { createWebIdentityAuthorizer } from "@sekisho/runtime/auth/web-identity.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { decodeJwt } from "jose";
import { refuse, roleArn, startAwsSts } from "../../doubles/issuers/aws-sts.ts";
import {
  apiError,
  serviceAccount,
  startGoogle,
  workloadIdentityProvider,
} from "../../doubles/issuers/google.ts";
import { oauthError } from "../../doubles/issuers/issuer.ts";
import { clientId, scope, startEntra, startOAuth, tenantId } from "../../doubles/issuers/oauth.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { addCredentials, movableClock, tokenOf } from "./sample.ts";

function request(url: string) {
  return {
    method: "POST",
    url: new URL(url),
    headers: {},
    body: new Uint8Array(),
    signal: hangSignal(),
  } as const;
}

describe("no authorizer", () => {
  it.each(["http://127.0.0.1:1", "http://localhost", "http://[::1]"])(
    "adds nothing to a request to %s",
    async (url) => {
      expect(await noAuthorizer.authorize(request(url))).toEqual({});
    },
  );

  it.each(["https://example.com", "https://10.0.0.1", "https://127.0.0.1.example.com"])(
    "refuses to call %s if no authorizer is configured",
    (url) => {
      expect(() => noAuthorizer.authorize(request(url))).toThrow(
        new SekishoError("unauthenticated"),
      );
    },
  );
});

describe("the bearer authorizer", () => {
  it("reads the token once and again after a refusal", async () => {
    let reads = 0;
    const authorizer = createBearerAuthorizer({ readToken: async () => `t${++reads}` });
    const readCredentials = () => authorizer.authorize(request("https://example.com"));
    const refusedCredentials = await readCredentials();
    expect([refusedCredentials, await readCredentials()]).toEqual(
      Array(2).fill({ headers: { authorization: "Bearer t1" } }),
    );
    authorizer.refresh?.(refusedCredentials);
    expect(await readCredentials()).toEqual({ headers: { authorization: "Bearer t2" } });
    authorizer.refresh?.(refusedCredentials);
    expect(await readCredentials()).toEqual({ headers: { authorization: "Bearer t2" } });
  });

  it.each(["", "two words", "line\nbreak", "関所"])(
    "refuses the malformed token %p without repeating it",
    async (token) => {
      const authorized = createBearerAuthorizer({ readToken: async () => token }).authorize(
        request("https://example.com"),
      );
      await expect(authorized).rejects.toThrow(new SekishoError("unauthenticated"));
    },
  );
});

const region = "eu-central-1";
const tokenAudience = "api://AzureADTokenExchange";

describe("the azure authorizer", () => {
  async function setUp(over: { clientId?: string } = {}) {
    const aws = closeAfterTest(await startAwsSts({ credentials, region }));
    const isAssertion = (token: string) =>
      aws.tokens.issued.includes(token) && decodeJwt(token).aud === tokenAudience;
    const entra = closeAfterTest(await startEntra({ isAssertion }));
    const { clock, cacheOptions } = movableClock();
    const sts = createSts({ region, credentials: async () => credentials, endpoint: aws.url });
    const azureSettings = { sts, tenantId, clientId, scope, tokenAudience, loginBase: entra.url };
    return {
      aws,
      entra,
      clock,
      authorizer: createAzureAuthorizer({ ...azureSettings, ...over, ...cacheOptions }),
    };
  }

  it("presents a token of AWS as the client assertion and caches the token that it gets", async () => {
    const { entra, clock, authorizer } = await setUp();
    expect(await tokenOf(authorizer)).toBe("access-token-1");
    clock.nowMs += 2800_000;
    expect(await tokenOf(authorizer)).toBe("access-token-1");
    clock.nowMs += 100_000;
    expect(await tokenOf(authorizer)).toBe("access-token-2");
    expect(entra.issued).toHaveLength(2);
  });

  it("reports an untrusted assertion or an unknown client as unauthenticated", async () => {
    const { aws, authorizer } = await setUp();
    aws.tokens.issued.includes = () => false;
    await expect(addCredentials(authorizer)).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: { code: "invalid_client" },
    });
    const other = await setUp({ clientId: "another" });
    await expect(addCredentials(other.authorizer)).rejects.toMatchObject({
      cause: { code: "invalid_request" },
    });
  });
});

describe("the oauth-client-credentials authorizer", () => {
  const id = "the client: 関所";
  const secret = "s+e/c:r e%t&=";

  async function setUp({
    clientAuthentication = "basic",
    lifetime,
    ...over
  }: {
    clientAuthentication?: "basic" | "post";
    lifetime?: Record<string, unknown>;
    scope?: string;
    audience?: string;
  } = {}) {
    const secrets = { current: secret };
    const issuer = closeAfterTest(
      await startOAuth({ id, secrets, ...(lifetime === undefined ? {} : { lifetime }) }),
    );
    const { clock, cacheOptions } = movableClock();
    const authorizer = createOAuthClientCredentialsAuthorizer({
      tokenUrl: new URL("/token", issuer.url).href,
      clientId: id,
      readClientSecret: async () => secrets.current,
      clientAuthentication,
      ...over,
      ...cacheOptions,
    });
    return { issuer, secrets, clock, authorizer };
  }

  it.each(["basic", "post"] as const)(
    "sends id and secret in one place (%s), correctly encoded",
    async (way) => {
      const { issuer, authorizer } = await setUp({ clientAuthentication: way });
      expect(await tokenOf(authorizer)).toBe("access-token-1");
      const [asked] = issuer.asked;
      expect(asked?.headers.has("authorization")).toBe(way === "basic");
      const bodyCredentials = way === "basic" ? {} : { client_id: id, client_secret: secret };
      expect(asked?.form).toEqual({ grant_type: "client_credentials", ...bodyCredentials });
    },
  );

  it("uses a rotated secret for the next token", async () => {
    const { issuer, secrets, authorizer } = await setUp();
    const refusedCredentials = await addCredentials(authorizer);
    secrets.current = "rotated";
    authorizer.refresh?.(refusedCredentials);
    expect(await tokenOf(authorizer)).toBe("access-token-2");
    expect(issuer.asked).toHaveLength(2);
  });

  it.each([
    [{ expires_in: 600 }, 480],
    [{ expires_in: "600" }, 480],
    [{}, 240],
    [{ expires_in: null }, 240],
    [{ expires_in: "soon" }, 240],
    [{ expires_in: -5 }, 240],
  ])("renews a token with the lifetime %j after %d seconds", async (lifetime, seconds) => {
    const { clock, authorizer } = await setUp({ lifetime });
    await tokenOf(authorizer);
    clock.nowMs += (seconds - 1) * 1000;
    expect(await tokenOf(authorizer)).toBe("access-token-1");
    clock.nowMs += 2000;
    expect(await tokenOf(authorizer)).toBe("access-token-2");
  });

  it.each([
    ["no token", { token_type: "Bearer" }],
    ["a token of another kind", { token_type: "DPoP", access_token: "t" }],
    ["a token of no kind", { access_token: "t" }],
    ["a token with a line break", { token_type: "bearer", access_token: "t\r\nx-injected: yes" }],
    ["a number", { token_type: "bearer", access_token: 12 }],
  ])("rejects a token response with %s", async (_what, body) => {
    const { issuer, authorizer } = await setUp();
    issuer.instead = () => Response.json(body);
    await expect(addCredentials(authorizer)).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "NoToken" },
    });
  });

  it("times out if the secret cannot be read in time", async () => {
    const authorizer = createOAuthClientCredentialsAuthorizer({
      tokenUrl: "https://issuer.example/token",
      clientId: id,
      readClientSecret: () => new Promise(() => {}),
      clientAuthentication: "basic",
      timeoutMs: 20,
    });
    await expect(addCredentials(authorizer)).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe("the google authorizer", () => {
  const audience = "https://agent-abcdef-ey.a.run.app";

  const tokenAudience = `https://iam.googleapis.com/${workloadIdentityProvider}`;

  async function setUp({
    provider = workloadIdentityProvider,
    scope,
  }: {
    provider?: string;
    scope?: string;
  } = {}) {
    const aws = closeAfterTest(await startAwsSts({ credentials, region }));
    const isSubject = (token: string) =>
      aws.tokens.issued.includes(token) && decodeJwt(token).aud === tokenAudience;
    const google = closeAfterTest(await startGoogle({ isSubject }));
    const { clock, cacheOptions } = movableClock();
    const authorizer = createGoogleAuthorizer({
      sts: createSts({ region, credentials: async () => credentials, endpoint: aws.url }),
      workloadIdentityProvider: provider,
      serviceAccount,
      audience,
      scope,
      tokenAudience,
      stsBase: google.url,
      iamCredentialsBase: google.url,
      ...cacheOptions,
    });
    return { aws, google, clock, authorizer };
  }

  it("exchanges a token of AWS for an ID token of the service in two steps", async () => {
    const { google, authorizer } = await setUp();
    const { aud, email } = decodeJwt(await tokenOf(authorizer));
    expect({ aud, email }).toEqual({ aud: audience, email: serviceAccount });
    expect(google.asked.map(({ target }) => target.split(":").at(-1))).toEqual([
      "/v1/token",
      "generateIdToken",
    ]);
  });

  it("caches the ID token for its own lifetime, independent of the clocks", async () => {
    const { aws, google, clock, authorizer } = await setUp();
    const first = await tokenOf(authorizer);
    clock.nowMs += 2800_000;
    expect(await tokenOf(authorizer)).toBe(first);
    expect(google.asked).toHaveLength(2);
    clock.nowMs += 100_000;
    await tokenOf(authorizer);
    expect(google.asked).toHaveLength(4);
    expect(aws.tokens.issued).toHaveLength(2);
  });

  it("reports a refusal of AWS, the pool or the service account as unauthenticated", async () => {
    const { aws, google, authorizer } = await setUp();
    const refusal = () =>
      addCredentials(authorizer).catch(({ reason, cause }) => [reason, cause.code]);
    aws.instead = () => refuse("AccessDenied");
    expect(await refusal()).toEqual(["unauthenticated", "AccessDenied"]);
    aws.instead = undefined;
    google.instead = () => oauthError("invalid_grant");
    expect(await refusal()).toEqual(["unauthenticated", "invalid_grant"]);
    google.instead = ({ target }) =>
      target === "/v1/token"
        ? Response.json({ access_token: "federated-token-of-nobody", token_type: "Bearer" })
        : apiError(403, "PERMISSION_DENIED");
    expect(await refusal()).toEqual(["unauthenticated", "PERMISSION_DENIED"]);
  });

  it.each([
    ["no token", {}],
    ["a malformed token", { token: "not-a-jwt" }],
    [
      "a token without iat and exp",
      { token: `${segment({ alg: "none" })}.${segment({ aud: audience })}.` },
    ],
    [
      "a token with a line break",
      { token: `a.${segment({ iat: 1, exp: 2 })}.c\r\nx-injected: yes` },
    ],
  ])("rejects a response of Google with %s", async (_what, body) => {
    const { google, authorizer } = await setUp();
    google.instead = ({ target }) =>
      Response.json(target === "/v1/token" ? { access_token: "f", token_type: "Bearer" } : body);
    await expect(addCredentials(authorizer)).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "NoToken" },
    });
  });

  it.each([{}, { accessToken: 7 }, { accessToken: "a\r\nx-injected: yes" }, { token: "a.b.c" }])(
    "rejects a response of Google without a usable access token: %j",
    async (body) => {
      const { google, authorizer } = await setUp({ scope: "a-scope" });
      google.instead = ({ target }) =>
        Response.json(target === "/v1/token" ? { access_token: "f", token_type: "Bearer" } : body);
      await expect(addCredentials(authorizer)).rejects.toMatchObject({
        reason: "unavailable",
        cause: { code: "NoToken" },
      });
    },
  );

  it("caches an access token for the hour that it requests", async () => {
    const { google, clock, authorizer } = await setUp({ scope: "a-scope" });
    const first = await tokenOf(authorizer);
    clock.nowMs += 2800_000;
    expect(await tokenOf(authorizer)).toBe(first);
    clock.nowMs += 800_000;
    expect(await tokenOf(authorizer)).toBe(google.accessTokens[1]);
  });

  function segment(json: object): string {
    return Buffer.from(JSON.stringify(json)).toString("base64url");
  }
});

const audience = "https://agent.example";

async function setUp() {
  const aws = closeAfterTest(await startAwsSts({ credentials, region }));
  const sts = createSts({ region, credentials: async () => credentials, endpoint: aws.url });
  const { clock, cacheOptions } = movableClock();
  return {
    aws,
    sts,
    clock,
    authorizer: createWebIdentityAuthorizer({ sts, audience, ...cacheOptions }),
  };
}

describe("the web-identity authorizer", () => {
  it("adds a short-lived token with the caller and the audience", async () => {
    const { aws, authorizer } = await setUp();
    const token = await tokenOf(authorizer);
    expect(aws.tokens.issued).toEqual([token]);
    const { sub, aud, exp = 0, iat = 0 } = decodeJwt(token);
    expect({ sub, aud, seconds: exp - iat }).toEqual({ sub: roleArn, aud: audience, seconds: 300 });
    expect(aws.inputs).toEqual([
      { Audience: [audience], SigningAlgorithm: "RS256", DurationSeconds: "300" },
    ]);
  });

  it("caches a token and renews it before it expires, even if the issuer is down for a moment", async () => {
    const { aws, clock, authorizer } = await setUp();
    const first = await tokenOf(authorizer);
    clock.nowMs += 200_000;
    expect(await tokenOf(authorizer)).toBe(first);
    aws.instead = () => new Response(null, { status: 500 });
    clock.nowMs += 45_000;
    expect(await tokenOf(authorizer)).toBe(first);
    aws.instead = undefined;
    clock.nowMs += 15_000;
    expect(await tokenOf(authorizer)).not.toBe(first);
  });

  it("fetches one token for many calls and another one after all of them were refused", async () => {
    const { aws, authorizer } = await setUp();
    const refusedCredentials = await Promise.all(
      Array.from({ length: 10 }, () => addCredentials(authorizer)),
    );
    for (const credential of refusedCredentials) authorizer.refresh?.(credential);
    const renewedTokens = await Promise.all(Array.from({ length: 10 }, () => tokenOf(authorizer)));
    expect(new Set(renewedTokens)).toEqual(new Set(aws.tokens.issued.slice(1)));
    expect(aws.tokens.issued).toHaveLength(2);
  });

  it("requests the configured algorithm and lifetime", async () => {
    const { aws, sts } = await setUp();
    aws.instead = () => refuse("ValidationError", "", 400);
    const authorizer = createWebIdentityAuthorizer({
      sts,
      audience,
      signingAlgorithm: "ES384",
      durationSeconds: 60,
    });
    await expect(addCredentials(authorizer)).rejects.toMatchObject({ reason: "unauthenticated" });
    const form = {
      "Audience.member.1": audience,
      SigningAlgorithm: "ES384",
      DurationSeconds: "60",
    };
    expect(aws.asked[0]?.form).toMatchObject(form);
  });

  it.each<[string, () => Response | Promise<Response>, "unauthenticated" | "unavailable", string]>([
    [
      "an account without outbound federation",
      () => refuse("OutboundWebIdentityFederationDisabledException"),
      "unauthenticated",
      "OutboundWebIdentityFederationDisabledException",
    ],
    ["a missing permission", () => refuse("AccessDenied"), "unauthenticated", "AccessDenied"],
    ["throttling with HTTP 400", () => refuse("Throttling", "", 400), "unavailable", "Throttling"],
    [
      "expired credentials",
      () => refuse("ExpiredTokenException", "", 403),
      "unavailable",
      "ExpiredTokenException",
    ],
    ["an outage", () => refuse("InternalFailure", "", 500), "unavailable", "InternalFailure"],
  ])(
    "reports a refusal for %s with its reason and its name",
    async (_who, answer, reason, code) => {
      const { aws, authorizer } = await setUp();
      aws.instead = answer;
      await expect(addCredentials(authorizer)).rejects.toMatchObject({
        reason,
        certainty: "undelivered",
        cause: { code },
      });
    },
  );

  it("reports a broken connection to the issuer as unavailable and not as ambiguous", async () => {
    const { aws, authorizer } = await setUp();
    aws.instead = () => Promise.reject(connectionReset);
    await expect(addCredentials(authorizer)).rejects.toMatchObject({
      reason: "unavailable",
      certainty: "undelivered",
    });
  });

  it("reports an unknown signature as unauthenticated", async () => {
    const { aws } = await setUp();
    const others = { ...credentials, secretAccessKey: "another-secret" };
    const sts = createSts({ region, credentials: async () => others, endpoint: aws.url });
    await expect(
      addCredentials(createWebIdentityAuthorizer({ sts, audience })),
    ).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: { code: "SignatureDoesNotMatch" },
    });
  });

  it.each([
    ["no token", "<GetWebIdentityTokenResult/>"],
    ["no answer", "<html/>"],
    [
      "a malformed token",
      "<GetWebIdentityTokenResult><WebIdentityToken>a b</WebIdentityToken></GetWebIdentityTokenResult>",
    ],
  ])("rejects a token response with %s", async (_what, inner) => {
    const { aws, authorizer } = await setUp();
    const body = `<GetWebIdentityTokenResponse>${inner}</GetWebIdentityTokenResponse>`;
    aws.instead = () => new Response(body, { headers: { "content-type": "text/xml" } });
    await expect(addCredentials(authorizer)).rejects.toMatchObject({
      reason: expect.stringMatching(/^un/),
    });
  });
});
