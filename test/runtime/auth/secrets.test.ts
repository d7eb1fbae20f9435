/** Issuers and peers that repeat whatever they were shown: nothing of it may get into an error or a log line. */
import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import type { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Authorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createAzureAuthorizer } from "@sekisho/runtime/auth/azure.ts";
import { createGoogleAuthorizer } from "@sekisho/runtime/auth/google.ts";
import { createOAuthClientCredentialsAuthorizer } from "@sekisho/runtime/auth/oauth-client-credentials.ts";
import { postToIssuer } from "@sekisho/runtime/auth/post-to-issuer.ts";
import { createSigV4Authorizer } from "@sekisho/runtime/auth/sigv4.ts";
import { createTokenExchangeAuthorizer } from "@sekisho/runtime/auth/token-exchange.ts";
import { createWebIdentityAuthorizer } from "@sekisho/runtime/auth/web-identity.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { raw, silence } from "../../doubles/answers.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { apiError } from "../../doubles/issuers/google.ts";
import { type Answer, type Asked, oauthError, startIssuer } from "../../doubles/issuers/issuer.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { connectionReset, startWebServer } from "../../doubles/web-server.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { clientOver, execute } from "../../verification/transport/sample.ts";

const token = "eyJ0b2tlbiI6Im9mIG5vYm9keSJ9";
const clientSecret = "ClientSecretOfNobody";
const secrets = new RegExp(
  [token, clientSecret, credentials.secretAccessKey, credentials.sessionToken].join("|"),
);
type World = { sts: ReturnType<typeof createSts>; issuer: URL };

const authorizers: Record<string, (world: World) => Authorizer> = {
  "web-identity": ({ sts }) => createWebIdentityAuthorizer({ sts, audience: "a" }),
  sigv4: ({ sts }) =>
    createSigV4Authorizer({
      service: "lambda",
      region: "eu-central-1",
      credentials: async () => credentials,
      assumeRole: { sts, roleArn: "arn:role" },
    }),
  google: ({ issuer }) =>
    createGoogleAuthorizer({
      sts: { getWebIdentityToken: async () => token },
      workloadIdentityProvider: "p",
      serviceAccount: "s",
      audience: "a",
      tokenAudience: "t",
      stsBase: issuer,
      iamCredentialsBase: issuer,
    }),
  "google with a scope": ({ issuer }) =>
    createGoogleAuthorizer({
      sts: { getWebIdentityToken: async () => token },
      workloadIdentityProvider: "p",
      serviceAccount: "s",
      audience: "a",
      scope: "s",
      tokenAudience: "t",
      stsBase: issuer,
      iamCredentialsBase: issuer,
    }),
  azure: ({ issuer }) =>
    createAzureAuthorizer({
      sts: { getWebIdentityToken: async () => token },
      tenantId: "t",
      clientId: "c",
      scope: "s",
      tokenAudience: "a",
      loginBase: issuer,
    }),
  "oauth-client-credentials": ({ issuer }) =>
    createOAuthClientCredentialsAuthorizer({
      tokenUrl: issuer.href,
      clientId: "c",
      readClientSecret: async () => clientSecret,
      clientAuthentication: "post",
    }),
  "token-exchange": ({ issuer }) => createExchange(issuer, "token-exchange"),
  "token-exchange by an assertion": ({ issuer }) => createExchange(issuer, "jwt-bearer"),
};

function createExchange(issuer: URL, grant: "token-exchange" | "jwt-bearer"): Authorizer {
  return createTokenExchangeAuthorizer({
    ...{ tokenUrl: issuer.href, grant, post: postToIssuer },
    ...{ clientId: "c", clientAuthentication: "post", readClientSecret: async () => clientSecret },
    asker: {
      tokens: { issue: async () => token },
      to: { audience: "a", claims: [], subject: "slack" },
    },
  });
}

/** How an issuer answers, given what it was shown. */
const issuers: Record<string, (request: Asked) => Response | Promise<Response>> = {
  "repeats it as the code of an error": (request) =>
    Response.json({ error: shownIn(request), message: shownIn(request) }, { status: 400 }),
  "repeats it as an HTML page": (request) =>
    new Response(`<html>${shownIn(request)}</html>`, { status: 403 }),
  "repeats it as the name of an AWS error": (request) =>
    new Response(`<ErrorResponse><Error><Code>${shownIn(request)}</Code></Error></ErrorResponse>`, {
      status: 403,
      headers: { "content-type": "text/xml" },
    }),
  "returns a token with a line break": () =>
    raw(JSON.stringify({ access_token: `${token}\n`, token_type: "Bearer", expires_in: 60 })),
  "gives an AWS token with a line too many": () =>
    new Response(
      `<R><GetWebIdentityTokenResult><WebIdentityToken>${token} x</WebIdentityToken></GetWebIdentityTokenResult></R>`,
      { headers: { "content-type": "text/xml" } },
    ),
  "resets the connection": () => Promise.reject(connectionReset),
};

function shownIn({ form, headers, text }: Asked): string {
  const { client_secret, client_assertion, subject_token, assertion } = form;
  return (
    subject_token ??
    assertion ??
    client_secret ??
    client_assertion ??
    headers.get("x-amz-security-token") ??
    text
  );
}

async function callThrough(
  authorizer: (world: World) => Authorizer,
  answer: (request: Asked) => Response | Promise<Response>,
) {
  const issuer = closeAfterTest(await startIssuer({ answer }));
  const peer = closeAfterTest(await startWebServer({ handle: async () => raw("{}") }));
  const sts = createSts({
    region: "eu-central-1",
    credentials: async () => credentials,
    endpoint: issuer.url,
  });
  const transport = createHttpsTransport({
    url: peer.url,
    authorizer: authorizer({ sts, issuer: issuer.url }),
  });
  closeAfterTest(transport);
  const { log, lines } = collectLog({ level: "debug" });
  const error = await execute(clientOver((request) => transport.send(request), { log })).catch(
    (error: SekishoError) => error,
  );
  return { error, lines };
}

describe.each(Object.keys(authorizers))("secrets of the authorizer %s", (name) => {
  it.each(Object.keys(issuers))(
    "shows no secret in an error or a log if the issuer %s",
    async (behaviour) => {
      const authorizer = authorizers[name];
      const answer = issuers[behaviour];
      if (authorizer === undefined || answer === undefined) throw new Error("no such case");
      const { error, lines } = await callThrough(authorizer, answer);
      expect(error?.reason).toMatch(/^(unauthenticated|unavailable)$/);
      expect(lines.length).toBeGreaterThan(0);
      expect(`${inspect(error, { depth: 20 })}${lines.join("")}`).not.toMatch(secrets);
    },
  );
});

const never = new AbortController().signal;
const form = new URLSearchParams({ grant_type: "client_credentials", secret: "secret-of-nobody" });

async function issuerThat(answer: Answer) {
  return closeAfterTest(await startIssuer({ answer }));
}

function html(status: number): Response {
  return new Response("<html>secret-of-nobody</html>", {
    status,
    headers: { "content-type": "text/html" },
  });
}

describe("a POST to an issuer", () => {
  it("posts a form or JSON and returns the object", async () => {
    const { url, asked: tokenRequests } = await issuerThat(() =>
      Response.json({ access_token: "t" }),
    );
    expect(await postToIssuer({ url, body: form, signal: never })).toEqual({ access_token: "t" });
    await postToIssuer({
      url,
      body: { audience: "a" },
      headers: { authorization: "Bearer b" },
      signal: never,
    });
    expect(tokenRequests.map(({ headers }) => headers.get("content-type"))).toEqual([
      "application/x-www-form-urlencoded",
      "application/json",
    ]);
    expect(tokenRequests.map(({ text }) => text)).toEqual([form.toString(), '{"audience":"a"}']);
    expect(tokenRequests[1]?.headers.get("authorization")).toBe("Bearer b");
  });

  it.each<[string, Answer, "unauthenticated" | "unavailable", string]>([
    [
      "an error of OAuth",
      () => oauthError("invalid_client", 401),
      "unauthenticated",
      "invalid_client",
    ],
    [
      "an error of Google's APIs",
      () => apiError(403, "PERMISSION_DENIED"),
      "unauthenticated",
      "PERMISSION_DENIED",
    ],
    [
      "a refusal without a word",
      () => new Response(null, { status: 404 }),
      "unauthenticated",
      "Http404",
    ],
    ["a refusal as an HTML page", () => html(403), "unauthenticated", "Http403"],
    ["an invalid error code", () => oauthError("secret-of-nobody"), "unauthenticated", "Http400"],
    [
      "the longest word",
      () => oauthError(`a_${"b".repeat(38)}`),
      "unauthenticated",
      `a_${"b".repeat(38)}`,
    ],
    ["a longer word", () => oauthError(`a_${"b".repeat(39)}`), "unauthenticated", "Http400"],
    ["too many requests", () => oauthError("slow_down", 429), "unavailable", "slow_down"],
    ["HTTP 408", () => html(408), "unavailable", "Http408"],
    ["an outage", () => html(503), "unavailable", "Http503"],
    [
      "a server error of OAuth",
      () => oauthError("server_error", 500),
      "unavailable",
      "server_error",
    ],
    ["an HTML page instead of a token", () => html(200), "unavailable", "Http200"],
    ["a list", () => Response.json([{ access_token: "t" }]), "unavailable", "Http200"],
    [
      "half of a token",
      () => new Response('{"access_t', { headers: { "content-type": "application/json" } }),
      "unavailable",
      "Http200",
    ],
    [
      "an oversized body",
      () => Response.json({ access_token: "t".repeat(100_000) }),
      "unavailable",
      "too_large",
    ],
    ["a connection reset", () => Promise.reject(connectionReset), "unavailable", "ECONNRESET"],
  ])("reports a response with %s without repeating it", async (_what, answer, reason, code) => {
    const { url } = await issuerThat(answer);
    const error = await postToIssuer({ url, body: form, signal: never }).catch(
      (error: SekishoError) => error,
    );
    expect(error).toMatchObject({ reason, certainty: "undelivered", cause: { code } });
    expect(inspect(error, { depth: 20 })).not.toMatch(/secret-of-nobody|nobody should repeat|ttt/);
  });

  it.each([301, 302, 303, 307, 308])(
    "never follows a redirect (%i), so that a secret stays with its issuer",
    async (status) => {
      const elsewhere = await issuerThat(() => Response.json({ access_token: "t" }));
      const { url } = await issuerThat(
        () => new Response(null, { status, headers: { location: elsewhere.url.href } }),
      );
      const post = postToIssuer({ url, body: form, signal: never });
      await expect(post).rejects.toMatchObject({
        reason: "unavailable",
        cause: { code: `Http${status}` },
      });
      expect(elsewhere.asked).toHaveLength(0);
    },
  );

  it("passes on the Retry-After of the issuer", async () => {
    const { url } = await issuerThat(
      () => new Response(null, { status: 429, headers: { "retry-after": "7" } }),
    );
    await expect(postToIssuer({ url, body: form, signal: never })).rejects.toMatchObject({
      reason: "unavailable",
      details: { retry_after_ms: 7000 },
    });
  });

  it("reports an issuer that does not respond in time as unavailable", async () => {
    const { url } = await issuerThat(() => silence({ signal: never }));
    const post = postToIssuer({ url, body: form, signal: AbortSignal.timeout(50) });
    await expect(post).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "TimeoutError" },
    });
  });

  it("reports an unreachable issuer as unavailable with the code of the network", async () => {
    const { url, close } = await startIssuer({ answer: () => Response.json({}) });
    await close();
    const post = postToIssuer({ url, body: form, signal: never });
    await expect(post).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "ECONNREFUSED" },
    });
  });

  it("requires TLS except on loopback", async () => {
    const post = postToIssuer({ url: "http://issuer.example/token", body: form, signal: never });
    await expect(post).rejects.toThrow("must be https");
  });
});
