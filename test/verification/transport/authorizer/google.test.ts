import { describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { createSts } from "../../../../lambdas/shared/aws/sts.ts";
import { createGoogleAuthorizer } from "../../../../lambdas/verification/transport/authorizer/google.ts";
import { refuse, startAwsSts } from "../../../doubles/issuers/aws-sts.ts";
import { apiError, serviceAccount, startGoogle, workloadIdentityProvider } from "../../../doubles/issuers/google.ts";
import { oauthError } from "../../../doubles/issuers/issuer.ts";
import { credentials } from "../agentcore/sample.ts";
import { added, closedAfterwards, movableClock, tokenOf } from "./sample.ts";

const region = "eu-central-1";
const audience = "https://agent-abcdef-ey.a.run.app";
const tokenAudience = `https://iam.googleapis.com/${workloadIdentityProvider}`;

async function setUp({ provider = workloadIdentityProvider } = {}) {
  const aws = closedAfterwards(await startAwsSts({ credentials, region }));
  const isSubject = (token: string) => aws.tokens.issued.includes(token) && decodeJwt(token).aud === tokenAudience;
  const google = closedAfterwards(await startGoogle({ isSubject }));
  const { clock, cacheOptions } = movableClock();
  const authorizer = createGoogleAuthorizer({
    sts: createSts({ region, credentials: async () => credentials, endpoint: aws.url }),
    workloadIdentityProvider: provider,
    serviceAccount,
    audience,
    tokenAudience,
    stsBase: google.url,
    iamCredentialsBase: google.url,
    ...cacheOptions,
  });
  return { aws, google, clock, authorizer };
}

describe("the google authorizer", () => {
  it("makes an ID token for the service out of a token of AWS, in two exchanges", async () => {
    const { google, authorizer } = await setUp();
    const { aud, email } = decodeJwt(await tokenOf(authorizer));
    expect({ aud, email }).toEqual({ aud: audience, email: serviceAccount });
    expect(google.asked.map(({ target }) => target.split(":").at(-1))).toEqual(["/v1/token", "generateIdToken"]);
  });

  it("keeps the ID token for as long as its own times say, whatever the clocks", async () => {
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

  it("is refused for good where AWS, the pool or the service account's permissions say so", async () => {
    const { aws, google, authorizer } = await setUp();
    const refusal = () => added(authorizer).catch(({ reason, cause }) => [reason, cause.code]);
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

  it("asks for the provider that is configured", async () => {
    const { authorizer } = await setUp({ provider: `${workloadIdentityProvider}-of-others` });
    await expect(added(authorizer)).rejects.toMatchObject({ cause: { code: "invalid_request" } });
  });

  it.each([
    ["no token", {}],
    ["a text that is no token", { token: "not-a-jwt" }],
    ["a token without times", { token: `${segment({ alg: "none" })}.${segment({ aud: audience })}.` }],
    ["a token with a line of its own", { token: `a.${segment({ iat: 1, exp: 2 })}.c\r\nx-injected: yes` }],
  ])("takes %s of Google's for none", async (_what, body) => {
    const { google, authorizer } = await setUp();
    google.instead = ({ target }) =>
      Response.json(target === "/v1/token" ? { access_token: "f", token_type: "Bearer" } : body);
    await expect(added(authorizer)).rejects.toMatchObject({ reason: "unavailable", cause: { code: "NoToken" } });
  });
});

function segment(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString("base64url");
}
