import { describe, expect, it } from "@jest/globals";
import { decodeJwt } from "jose";
import { createSts } from "../../../../lambdas/shared/aws/sts.ts";
import { createAzureAuthorizer } from "../../../../lambdas/verification/transport/authorizer/azure.ts";
import { createOAuthClientCredentialsAuthorizer } from "../../../../lambdas/verification/transport/authorizer/oauth-client-credentials.ts";
import { startAwsSts } from "../../../doubles/issuers/aws-sts.ts";
import { clientId, scope, startEntra, startOAuth, tenantId } from "../../../doubles/issuers/oauth.ts";
import { credentials } from "../agentcore/sample.ts";
import { added, closedAfterwards, movableClock, tokenOf } from "./sample.ts";

const region = "eu-central-1";
const tokenAudience = "api://AzureADTokenExchange";

describe("the azure authorizer", () => {
  async function setUp(over: { clientId?: string } = {}) {
    const aws = closedAfterwards(await startAwsSts({ credentials, region }));
    const isAssertion = (token: string) => aws.tokens.issued.includes(token) && decodeJwt(token).aud === tokenAudience;
    const entra = closedAfterwards(await startEntra({ isAssertion }));
    const { clock, cacheOptions } = movableClock();
    const sts = createSts({ region, credentials: async () => credentials, endpoint: aws.url });
    const named = { sts, tenantId, clientId, scope, tokenAudience, loginBase: entra.url };
    return { aws, entra, clock, authorizer: createAzureAuthorizer({ ...named, ...over, ...cacheOptions }) };
  }

  it("shows a token of AWS as the client's assertion, and keeps the token that it gets", async () => {
    const { entra, clock, authorizer } = await setUp();
    expect(await tokenOf(authorizer)).toBe("access-token-1");
    clock.nowMs += 2800_000;
    expect(await tokenOf(authorizer)).toBe("access-token-1");
    clock.nowMs += 100_000;
    expect(await tokenOf(authorizer)).toBe("access-token-2");
    expect(entra.issued).toHaveLength(2);
  });

  it("is refused for good where the assertion is not trusted, or the client is another", async () => {
    const { aws, authorizer } = await setUp();
    aws.tokens.issued.includes = () => false;
    await expect(added(authorizer)).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: { code: "invalid_client" },
    });
    const other = await setUp({ clientId: "another" });
    await expect(added(other.authorizer)).rejects.toMatchObject({ cause: { code: "invalid_request" } });
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
    const issuer = closedAfterwards(await startOAuth({ id, secrets, ...(lifetime === undefined ? {} : { lifetime }) }));
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
    "shows id and secret in one place alone (%s), encoded as it must be",
    async (way) => {
      const { issuer, authorizer } = await setUp({ clientAuthentication: way });
      expect(await tokenOf(authorizer)).toBe("access-token-1");
      const [asked] = issuer.asked;
      expect(asked?.headers.has("authorization")).toBe(way === "basic");
      const shown = way === "basic" ? {} : { client_id: id, client_secret: secret };
      expect(asked?.form).toEqual({ grant_type: "client_credentials", ...shown });
    },
  );

  it("asks for a scope and an audience where they are configured", async () => {
    const { issuer, authorizer } = await setUp({ scope: "tasks:write tasks:read", audience: "https://agent.example" });
    await tokenOf(authorizer);
    expect(issuer.asked[0]?.form).toMatchObject({ scope: "tasks:write tasks:read", audience: "https://agent.example" });
  });

  it("takes a rotated secret for the next token", async () => {
    const { issuer, secrets, authorizer } = await setUp();
    const refused = await added(authorizer);
    secrets.current = "rotated";
    authorizer.refresh?.(refused);
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
  ])("renews a token that lives as long as %j says after %d seconds", async (lifetime, seconds) => {
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
    ["a token with a line of its own", { token_type: "bearer", access_token: "t\r\nx-injected: yes" }],
    ["a number", { token_type: "bearer", access_token: 12 }],
  ])("takes %s for none", async (_what, body) => {
    const { issuer, authorizer } = await setUp();
    issuer.instead = () => Response.json(body);
    await expect(added(authorizer)).rejects.toMatchObject({ reason: "unavailable", cause: { code: "NoToken" } });
  });

  it("is unavailable where the secret cannot be read in time", async () => {
    const authorizer = createOAuthClientCredentialsAuthorizer({
      tokenUrl: "https://issuer.example/token",
      clientId: id,
      readClientSecret: () => new Promise(() => {}),
      clientAuthentication: "basic",
      timeoutMs: 20,
    });
    await expect(added(authorizer)).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
