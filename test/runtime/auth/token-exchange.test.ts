import { describe, expect, it } from "@jest/globals";
import type { AskerTokens, CallAsker } from "@sekisho/runtime/asker/asker.ts";
import type { AddedCredentials, OutgoingRequest } from "@sekisho/runtime/auth/authorizer.ts";
import { postToIssuer } from "@sekisho/runtime/auth/post-to-issuer.ts";
import { createTokenExchangeAuthorizer } from "@sekisho/runtime/auth/token-exchange.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import {
  assertionGrant,
  exchangeGrant,
  startExchangeServer,
  subjectOf,
  tokenFor,
} from "../../doubles/issuers/exchange-server.ts";
import { type Answer, oauthError } from "../../doubles/issuers/issuer.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { movableClock } from "./sample.ts";

const zone = "a-zone";

/** Tokens that are the subject in a prefix, which the server below trusts. */
const plainTokens: AskerTokens = {
  issue: async ({ to, asker, body }) =>
    `trusted:${asker?.person.user ?? zone}:${to.audience}:${asker?.isOwnWord ?? false}:${body.byteLength}`,
};

function readSubject(token: string): string | undefined {
  const [prefix, subject] = token.split(":");
  return prefix === "trusted" ? subject : undefined;
}

function askerOf(user: string, team = "T1"): CallAsker {
  return { person: { team, user }, requestId: "request-1", isOwnWord: true };
}

function requestOf(more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return {
    ...{ method: "POST", url: new URL("https://agent.example/"), headers: {} },
    ...{ body: Buffer.from("{}"), signal: hangSignal(), ...more },
  };
}

function bearerOf({ headers }: AddedCredentials): string {
  return (headers?.authorization ?? "").replace(/^Bearer /, "");
}

type Settings = Partial<Parameters<typeof createTokenExchangeAuthorizer>[0]>;

async function setUp(
  settings: Settings = {},
  server: Partial<Parameters<typeof startExchangeServer>[0]> = {},
) {
  const issuer = closeAfterTest(await startExchangeServer({ readSubject, ...server }));
  const { clock, cacheOptions } = movableClock();
  const authorizer = createTokenExchangeAuthorizer({
    ...{ tokenUrl: issuer.tokenUrl, grant: "token-exchange", clientAuthentication: "basic" },
    asker: {
      tokens: plainTokens,
      to: { audience: "unused", claims: [], subject: "slack" },
    },
    post: postToIssuer,
    ...cacheOptions,
    ...settings,
  });
  return {
    issuer,
    clock,
    authorizer,
    tokenOf: async (asker?: CallAsker) =>
      bearerOf(await authorizer.authorize(requestOf({ asker }))),
  };
}

describe("the token-exchange authorizer", () => {
  it("trades the person's token as the subject, with what the new token is for", async () => {
    const { issuer, tokenOf } = await setUp({
      audience: "crm",
      resource: "https://crm.example/api",
      scope: "read write",
      clientId: "the zone",
    });
    expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 1));
    expect(issuer.asked.map(({ form }) => form)).toEqual([
      {
        grant_type: exchangeGrant,
        subject_token: `trusted:U1:${issuer.tokenUrl}:false:0`,
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
        audience: "crm",
        resource: "https://crm.example/api",
        scope: "read write",
        client_id: "the zone",
      },
    ]);
  });

  it("trades the person's token as an assertion, for the audience that is configured", async () => {
    const { issuer, tokenOf } = await setUp({
      grant: "jwt-bearer",
      subjectAudience: "https://login.example",
    });
    expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 1));
    expect(issuer.asked.map(({ form }) => form)).toEqual([
      { grant_type: assertionGrant, assertion: "trusted:U1:https://login.example:false:0" },
    ]);
  });

  it.each(["basic", "post"] as const)(
    "sends a client secret by %s",
    async (clientAuthentication) => {
      const client = { id: "the client: 関所", secret: "s+e/c:r e%t&=" };
      const readClientSecret = async () => client.secret;
      const { tokenOf } = await setUp(
        { clientAuthentication, clientId: client.id, readClientSecret },
        { client },
      );
      expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 1));
    },
  );

  it("trades the zone's own token for calls without a person", async () => {
    const { tokenOf } = await setUp();
    expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 1));
    expect(await tokenOf()).toBe(tokenFor(zone, 2));
  });

  it("keeps one token per person until shortly before it expires", async () => {
    const { issuer, clock, tokenOf } = await setUp();
    for (const user of ["U1", "U2", "U1", "U2"]) await tokenOf(askerOf(user));
    await tokenOf(askerOf("U1", "T2"));
    expect(issuer.subjects).toEqual(["U1", "U2", "U1"]);
    clock.nowMs += 600_000;
    await tokenOf(askerOf("U2"));
    expect(issuer.subjects).toEqual(["U1", "U2", "U1", "U2"]);
  });

  it("trades again for a person whose token the peer refused, and for no other", async () => {
    const { issuer, authorizer, tokenOf } = await setUp();
    const refused = await authorizer.authorize(requestOf({ asker: askerOf("U1") }));
    await tokenOf(askerOf("U2"));
    authorizer.refresh?.(refused);
    authorizer.refresh?.(refused);
    expect(await tokenOf(askerOf("U2"))).toBe(tokenFor("U2", 2));
    expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 3));
    authorizer.refresh?.(refused);
    await tokenOf(askerOf("U1"));
    expect(issuer.subjects).toEqual(["U1", "U2", "U1"]);
  });

  it("never sends the token of one person for another, however calls overlap", async () => {
    const users = fc.constantFrom("U1", "U2", "U3", undefined);
    const steps = fc.array(fc.record({ user: users, isRefused: fc.boolean(), waits: fc.nat(3) }), {
      minLength: 1,
      maxLength: 12,
    });
    const { issuer, authorizer } = await setUp();
    await forAll(steps).holdAsync(async (calls) => {
      await Promise.all(
        calls.map(async ({ user, isRefused, waits }) => {
          for (let turn = 0; turn < waits; turn += 1) await Promise.resolve();
          const asker = user === undefined ? undefined : askerOf(user);
          const credentials = await authorizer.authorize(requestOf({ asker }));
          expect(subjectOf(bearerOf(credentials))).toBe(user ?? zone);
          if (isRefused) authorizer.refresh?.(credentials);
        }),
      );
    }, 40);
    expect(new Set(issuer.subjects)).toEqual(new Set(["U1", "U2", "U3", zone]));
  });

  it("trades the token that the host has received, for each person apart", async () => {
    const { issuer, authorizer } = await setUp({ asker: undefined });
    const tokenOfReceived = async (person: string) => {
      const received = { person, token: `trusted:${person}` };
      return bearerOf(await authorizer.authorize(requestOf({ received })));
    };
    expect(await tokenOfReceived("alice")).toBe(tokenFor("alice", 1));
    expect(await tokenOfReceived("bob")).toBe(tokenFor("bob", 2));
    expect(await tokenOfReceived("alice")).toBe(tokenFor("alice", 1));
    expect(issuer.asked[0]?.form.subject_token).toBe("trusted:alice");
  });

  it("asks no server if the host has received no token", async () => {
    const { issuer, authorizer } = await setUp({ asker: undefined });
    await expect(authorizer.authorize(requestOf())).rejects.toMatchObject({
      reason: "unauthenticated",
      certainty: "undelivered",
      cause: { code: "NoAskerToken" },
    });
    expect(issuer.asked).toEqual([]);
  });
});

const invalid = "OAUTH_INVALID_RESPONSE";

describe("answers of an authorization server", () => {
  it.each<[string, Record<string, unknown>, number]>([
    ["no expires_in", { expires_in: undefined }, 300],
    ["an expires_in in text", { expires_in: "120" }, 120],
    ["an expires_in of years", { expires_in: 1e15 }, 3600],
    ["no issued_token_type", { issued_token_type: undefined }, 600],
    ["another form of Bearer", { token_type: "bEARER" }, 600],
    ["an ID token that nobody can check", { id_token: "x.y.z" }, 600],
  ])("uses a token with %s for its time", async (_title, answer, seconds) => {
    const { issuer, clock, tokenOf } = await setUp({}, { answer });
    await tokenOf(askerOf("U1"));
    clock.nowMs += seconds * 900;
    await tokenOf(askerOf("U1"));
    // A due renewal gets the person a new token, but the old one may be used.
    const count = issuer.subjects.length;
    clock.nowMs += seconds * 1000;
    await tokenOf(askerOf("U1"));
    expect(issuer.subjects.length).toBe(count + 1);
  });

  it("uses a token without a life for one call", async () => {
    const { issuer, tokenOf } = await setUp({}, { answer: { expires_in: 0 } });
    await tokenOf(askerOf("U1"));
    await tokenOf(askerOf("U1"));
    expect(issuer.subjects).toEqual(["U1", "U1"]);
  });

  it.each<[string, Answer, "unauthenticated" | "unavailable", string]>([
    ["refuses the subject", () => oauthError("invalid_grant"), "unauthenticated", "invalid_grant"],
    ["refuses the target", () => oauthError("invalid_target"), "unauthenticated", "invalid_target"],
    [
      "refuses with a challenge",
      () => challenge(oauthError("invalid_client", 401)),
      "unauthenticated",
      "invalid_client",
    ],
    [
      "refuses with a 200",
      () => oauthError("invalid_grant", 200),
      "unauthenticated",
      "invalid_grant",
    ],
    [
      "is overloaded",
      () => oauthError("temporarily_unavailable", 503),
      "unavailable",
      "temporarily_unavailable",
    ],
    ["asks for patience", () => new Response(null, { status: 429 }), "unavailable", "Http429"],
    ["redirects", () => Response.redirect("https://elsewhere.example/"), "unavailable", "Http302"],
    ["answers with a page", () => new Response("<html>"), "unavailable", "Http200"],
    ["answers with a list", () => Response.json([]), "unavailable", "Http200"],
    ["answers with too much", () => new Response("x".repeat(70_000)), "unavailable", "too_large"],
    ["resets the connection", () => Promise.reject(connectionReset), "unavailable", "ECONNRESET"],
    ["gives no token", () => answerWith({ access_token: undefined }), "unavailable", invalid],
    [
      "gives a token that is no text",
      () => answerWith({ access_token: 7 }),
      "unavailable",
      invalid,
    ],
    ["names no type", () => answerWith({ token_type: undefined }), "unavailable", invalid],
    ["gives a DPoP token", () => answerWith({ token_type: "DPoP" }), "unavailable", "NoToken"],
    [
      "gives a token that is none",
      () => answerWith({ token_type: "N_A" }),
      "unavailable",
      "OAUTH_UNSUPPORTED_OPERATION",
    ],
    ["gives a negative life", () => answerWith({ expires_in: -1 }), "unavailable", invalid],
    ["gives a life in words", () => answerWith({ expires_in: "soon" }), "unavailable", invalid],
    [
      "gives a refresh token instead",
      () => answerWith({ issued_token_type: "urn:ietf:params:oauth:token-type:refresh_token" }),
      "unavailable",
      "NoToken",
    ],
  ])("fails for good or for now if the server %s", async (_title, answer, reason, code) => {
    const { issuer, tokenOf } = await setUp();
    issuer.instead = answer;
    await expect(tokenOf(askerOf("U1"))).rejects.toMatchObject({
      ...{ reason, certainty: "undelivered", cause: { code } },
    });
  });

  it("refuses a token that no header can hold", async () => {
    const { issuer, tokenOf } = await setUp();
    issuer.instead = () => answerWith({ access_token: "two words" });
    await expect(tokenOf(askerOf("U1"))).rejects.toMatchObject({
      ...{ reason: "unauthenticated", certainty: "undelivered" },
    });
  });

  it("gives up a server that does not answer in time", async () => {
    const { issuer, tokenOf } = await setUp({ timeoutMs: 20 });
    issuer.instead = () => new Promise(() => {});
    await expect(tokenOf(askerOf("U1"))).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it.each(["http://login.example/token", "https://me:secret@login.example/token"])(
    "sends nothing to %s",
    async (tokenUrl) => {
      const { tokenOf } = await setUp({ tokenUrl });
      await expect(tokenOf(askerOf("U1"))).rejects.toThrow(/The url must/);
    },
  );

  it("asks again after a failure", async () => {
    const { issuer, tokenOf } = await setUp();
    issuer.instead = () => oauthError("invalid_grant");
    await expect(tokenOf(askerOf("U1"))).rejects.toMatchObject({ reason: "unauthenticated" });
    issuer.instead = undefined;
    expect(await tokenOf(askerOf("U1"))).toBe(tokenFor("U1", 1));
  });
});

function answerWith(members: Record<string, unknown>): Response {
  return Response.json({
    ...{ access_token: "a-token", token_type: "Bearer", expires_in: 600 },
    issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
    ...members,
  });
}

function challenge(response: Response): Response {
  response.headers.set("www-authenticate", 'Basic realm="tokens"');
  return response;
}
