import { describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { createSts } from "../../../../lambdas/shared/aws/sts.ts";
import { createWebIdentityAuthorizer } from "../../../../lambdas/verification/transport/authorizer/web-identity.ts";
import { refuse, roleArn, startAwsSts } from "../../../doubles/issuers/aws-sts.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { credentials } from "../agentcore/sample.ts";
import { added, closedAfterwards, movableClock, tokenOf } from "./sample.ts";

const region = "eu-central-1";
const audience = "https://agent.example";

async function setUp() {
  const aws = closedAfterwards(await startAwsSts({ credentials, region }));
  const sts = createSts({ region, credentials: async () => credentials, endpoint: aws.url });
  const { clock, cacheOptions } = movableClock();
  return { aws, sts, clock, authorizer: createWebIdentityAuthorizer({ sts, audience, ...cacheOptions }) };
}

describe("the web-identity authorizer", () => {
  it("adds a token that says whose request it is, for whom, and not for long", async () => {
    const { aws, authorizer } = await setUp();
    const token = await tokenOf(authorizer);
    expect(aws.tokens.issued).toEqual([token]);
    const { sub, aud, exp = 0, iat = 0 } = decodeJwt(token);
    expect({ sub, aud, seconds: exp - iat }).toEqual({ sub: roleArn, aud: audience, seconds: 300 });
    expect(aws.inputs).toEqual([{ Audience: [audience], SigningAlgorithm: "RS256", DurationSeconds: "300" }]);
  });

  it("keeps it, and renews it before it expires, even while the issuer is down for a moment", async () => {
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

  it("fetches one for many calls at once, and another one when that is refused to all of them", async () => {
    const { aws, authorizer } = await setUp();
    const refused = await Promise.all(Array.from({ length: 10 }, () => added(authorizer)));
    for (const credential of refused) authorizer.refresh?.(credential);
    const renewed = await Promise.all(Array.from({ length: 10 }, () => tokenOf(authorizer)));
    expect(new Set(renewed)).toEqual(new Set(aws.tokens.issued.slice(1)));
    expect(aws.tokens.issued).toHaveLength(2);
  });

  it("asks for what it is told to", async () => {
    const { aws, sts } = await setUp();
    aws.instead = () => refuse("ValidationError", "", 400);
    const authorizer = createWebIdentityAuthorizer({ sts, audience, signingAlgorithm: "ES384", durationSeconds: 60 });
    await expect(added(authorizer)).rejects.toMatchObject({ reason: "unauthenticated" });
    const form = { "Audience.member.1": audience, SigningAlgorithm: "ES384", DurationSeconds: "60" };
    expect(aws.asked[0]?.form).toMatchObject(form);
  });

  it.each<[string, () => Response | Promise<Response>, "unauthenticated" | "unavailable", string]>([
    [
      "an account that has it switched off",
      () => refuse("OutboundWebIdentityFederationDisabledException"),
      "unauthenticated",
      "OutboundWebIdentityFederationDisabledException",
    ],
    ["a policy", () => refuse("AccessDenied"), "unauthenticated", "AccessDenied"],
    ["throttling, which has a 400", () => refuse("Throttling", "", 400), "unavailable", "Throttling"],
    [
      "credentials that are about to be replaced",
      () => refuse("ExpiredTokenException", "", 403),
      "unavailable",
      "ExpiredTokenException",
    ],
    ["an outage", () => refuse("InternalFailure", "", 500), "unavailable", "InternalFailure"],
  ])("refused by %s, says what that means and gives the name", async (_who, answer, reason, code) => {
    const { aws, authorizer } = await setUp();
    aws.instead = answer;
    await expect(added(authorizer)).rejects.toMatchObject({ reason, undelivered: true, cause: { code } });
  });

  it("is unavailable, and not in doubt, where the connection to the issuer breaks", async () => {
    const { aws, authorizer } = await setUp();
    aws.instead = () => Promise.reject(connectionReset);
    await expect(added(authorizer)).rejects.toMatchObject({ reason: "unavailable", undelivered: true });
  });

  it("is refused where the signature is not that of known credentials", async () => {
    const { aws } = await setUp();
    const others = { ...credentials, secretAccessKey: "another-secret" };
    const sts = createSts({ region, credentials: async () => others, endpoint: aws.url });
    await expect(added(createWebIdentityAuthorizer({ sts, audience }))).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: { code: "SignatureDoesNotMatch" },
    });
  });

  it.each([
    ["no token", "<GetWebIdentityTokenResult/>"],
    ["no answer", "<html/>"],
    [
      "what is no token",
      "<GetWebIdentityTokenResult><WebIdentityToken>a b</WebIdentityToken></GetWebIdentityTokenResult>",
    ],
  ])("takes %s for none", async (_what, inner) => {
    const { aws, authorizer } = await setUp();
    const body = `<GetWebIdentityTokenResponse>${inner}</GetWebIdentityTokenResponse>`;
    aws.instead = () => new Response(body, { headers: { "content-type": "text/xml" } });
    await expect(added(authorizer)).rejects.toMatchObject({ reason: expect.stringMatching(/^un/) });
  });
});
