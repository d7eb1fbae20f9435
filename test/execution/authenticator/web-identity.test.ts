/** The ready-made policy for tokens of AWS STS: the role, its account, and the two algorithms. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createWebIdentityAuthenticator } from "@sekisho/execution/authenticator/web-identity.ts";
import { type JwksIssuer, startJwksIssuer } from "../../doubles/issuers/jwks.ts";
import { permissionDenied, serveAuthenticator, unauthenticated } from "./ask.ts";

const audience = "https://agents.example";
const role = "arn:aws:iam::111122223333:role/sekisho-dev-Verification";
const ofSts = (aws_account: unknown) => ({
  "https://sts.amazonaws.com/": { aws_account, source_region: "eu-central-1" },
});
const good = { aud: audience, sub: role, jti: "a", ...ofSts("111122223333") };

describe.each(["RS256", "ES384"])("a token of AWS STS, signed with %s,", (alg) => {
  let issuer: JwksIssuer;
  beforeAll(async () => {
    issuer = await startJwksIssuer({ alg });
  });
  afterAll(() => issuer.close());
  const open = () =>
    serveAuthenticator(
      createWebIdentityAuthenticator({ issuer: issuer.issuer, audience, roles: [role] }),
    );

  it("accepts a token of the role", async () => {
    const { call } = await open();
    expect(await call(await issuer.sign(good))).toBe("success");
  });

  it.each([
    ["of another audience", { aud: "https://iam.googleapis.com/x" }],
    ["of another account than the role's", ofSts("444455556666")],
    ["with an account that is not a string", ofSts(111122223333)],
    ["with a longer lifetime than STS allows", { exp: Math.floor(Date.now() / 1000) + 3700 }],
    ["without the claims of STS", { "https://sts.amazonaws.com/": undefined }],
  ])("refuses a token %s", async (_name, claims) => {
    const { hear } = await open();
    expect(await hear(await issuer.sign({ ...good, ...claims }))).toEqual(unauthenticated);
  });

  it.each([
    "arn:aws:iam::111122223333:role/Another",
    "arn:aws:iam::111122223333:user/sekisho-dev-Verification",
    "arn:aws:sts::111122223333:assumed-role/sekisho-dev-Verification/session",
  ])("answers 403 to a token of %s", async (sub) => {
    const { hear } = await open();
    expect(await hear(await issuer.sign({ ...good, sub }))).toEqual(permissionDenied);
  });
});

it("refuses a token with an algorithm that STS does not use", async () => {
  const issuer = await startJwksIssuer({ alg: "ES256" });
  const { hear } = await serveAuthenticator(
    createWebIdentityAuthenticator({ issuer: issuer.issuer, audience, roles: [role] }),
  );
  expect(await hear(await issuer.sign(good))).toEqual(unauthenticated);
  await issuer.close();
});
