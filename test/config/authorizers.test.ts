/** From the configuration's word for an authorizer to what it really sends: each one against an issuer on a socket. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { createAuthorizer } from "@sekisho/config/authorizers.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { decodeJwt } from "jose";
import { assumableRoleArn, externalId, startAwsSts } from "../doubles/issuers/aws-sts.ts";
import { createAuthority } from "../doubles/issuers/certificates.ts";
import {
  serviceAccount,
  startGoogle,
  workloadIdentityProvider,
} from "../doubles/issuers/google.ts";
import { clientId, scope, startEntra, startOAuth, tenantId } from "../doubles/issuers/oauth.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { addCredentials, tokenOf } from "../runtime/auth/sample.ts";
import { hangSignal } from "../tooling/hang.ts";
import { credentials } from "../verification/transport/agentcore/sample.ts";

const region = "eu-central-1";
const url = "https://agents.example/some/path";

afterEach(() => {
  delete process.env.AWS_ENDPOINT_URL_STS;
});

async function startSts() {
  const sts = closeAfterTest(await startAwsSts({ credentials, region }));
  process.env.AWS_ENDPOINT_URL_STS = sts.url.href;
  return sts;
}

type Dependencies = {
  issuers?: { google?: URL; microsoft?: URL };
  secrets?: Record<string, string>;
  region?: string | undefined;
};

/** The authorizer of a destination that the configuration describes so. */
function authorizerOf(authorizer: object, { issuers, secrets = {}, ...args }: Dependencies = {}) {
  const { far } = parseConfig({
    json: { destinations: { far: { transport: "https", url, authorizer } }, routes: [] },
  }).destinations;
  if (far?.transport !== "https") throw new Error("there is no destination");
  return createAuthorizer({
    authorizer: far.authorizer,
    url,
    readSecret: async (reference: SecretReference) =>
      secrets["env" in reference ? reference.env : ""] ?? "",
    credentials: async () => credentials,
    region: "region" in args ? args.region : region,
    ...(issuers === undefined ? {} : { issuers }),
  });
}

describe("a configured authorizer", () => {
  it("bearer sends the configured secret as its token", async () => {
    const authorizer = authorizerOf(
      { type: "bearer", token: { env: "TOKEN" } },
      { secrets: { TOKEN: "a-token" } },
    );
    expect(await tokenOf(authorizer)).toBe("a-token");
  });

  it("web-identity requests the configured audience, algorithm, lifetime and region", async () => {
    const sts = await startSts();
    const authorizer = authorizerOf({
      type: "web-identity",
      audience: "agents",
      durationSeconds: 600,
    });
    expect(decodeJwt(await tokenOf(authorizer)).aud).toBe("agents");
    expect(sts.inputs).toEqual([
      { Audience: ["agents"], SigningAlgorithm: "RS256", DurationSeconds: "600" },
    ]);
    const elsewhere = authorizerOf({
      type: "web-identity",
      audience: "agents",
      region: "eu-west-1",
    });
    // The double believes signatures for its own region alone.
    await expect(tokenOf(elsewhere)).rejects.toMatchObject({ reason: "unauthenticated" });
  });

  it("web-identity with tags has a token for each person, which says who it is", async () => {
    const sts = await startSts();
    const authorizer = authorizerOf({ type: "web-identity", audience: "agents", tags: true });
    const claimsOf = async (asker?: CallAsker) => {
      const { headers } = await authorizer.authorize({
        ...{ method: "POST", url: new URL(url), headers: {} },
        ...{ body: new Uint8Array(), signal: hangSignal(), asker },
      });
      const claims = decodeJwt(headers?.authorization?.replace("Bearer ", "") ?? "");
      return Object(claims["https://sts.amazonaws.com/"]).request_tags;
    };
    const askers = [
      { team: "T1", user: "U1", channel: "C1", thread: "1.1" },
      { team: "T1", user: "U2" },
      { team: "T2", user: "U1", enterprise: "E1", channel: "C2" },
    ].map((person) => ({ person, requestId: "r", isOwnWord: true }));
    const tags = [
      { slack_team: "T1", slack_user: "U1" },
      { slack_team: "T1", slack_user: "U2" },
      { slack_team: "T2", slack_user: "U1", slack_enterprise: "E1" },
      undefined,
    ];
    const all = () => Promise.all([...askers, undefined].map(claimsOf));
    expect(await all()).toEqual(tags);
    expect(await all()).toEqual(tags);
    expect(sts.inputs).toHaveLength(4);
  });

  it("google exchanges a token for an ID token, by default for the origin of the call", async () => {
    const sts = await startSts();
    const tokenAudience = `https://iam.googleapis.com/${workloadIdentityProvider}`;
    const isSubject = (token: string) =>
      sts.tokens.issued.includes(token) && decodeJwt(token).aud === tokenAudience;
    const google = closeAfterTest(await startGoogle({ isSubject }));
    const config = { type: "google", workloadIdentityProvider, serviceAccount };
    const issuers = { google: google.url };
    expect(decodeJwt(await tokenOf(authorizerOf(config, { issuers }))).aud).toBe(
      "https://agents.example",
    );
    const otherAudience = authorizerOf(
      { ...config, audience: "https://other.example" },
      { issuers },
    );
    expect(decodeJwt(await tokenOf(otherAudience)).aud).toBe("https://other.example");
  });

  it("google exchanges a token for an access token if there is a scope", async () => {
    const sts = await startSts();
    const isSubject = (token: string) => sts.tokens.issued.includes(token);
    const google = closeAfterTest(await startGoogle({ isSubject }));
    const scope = "https://www.googleapis.com/auth/cloud-platform openid";
    const config = { type: "google", workloadIdentityProvider, serviceAccount, scope };
    const authorizer = authorizerOf(config, { issuers: { google: google.url } });
    expect(await tokenOf(authorizer)).toBe(google.accessTokens[0]);
    expect(JSON.parse(google.asked[1]?.text ?? "")).toEqual({
      ...{ scope: scope.split(" "), lifetime: "3600s" },
    });
  });

  it("azure sends a token of the audience that Entra ID expects for its tenant, client and scope", async () => {
    const sts = await startSts();
    const isAssertion = (token: string) =>
      sts.tokens.issued.includes(token) && decodeJwt(token).aud === "api://AzureADTokenExchange";
    const entra = closeAfterTest(await startEntra({ isAssertion }));
    const authorizer = authorizerOf(
      { type: "azure", tenantId, clientId, scope },
      { issuers: { microsoft: entra.url } },
    );
    expect(await tokenOf(authorizer)).toBe(entra.issued[0]);
  });

  it.each(["basic", "post"])(
    "oauth-client-credentials sends its secret by %s",
    async (clientAuthentication) => {
      const oauth = closeAfterTest(
        await startOAuth({ id: "us", secrets: { current: "a-client-secret" } }),
      );
      const authorizer = authorizerOf(
        {
          type: "oauth-client-credentials",
          tokenUrl: new URL("/token", oauth.url).href,
          clientId: "us",
          clientSecret: { env: "CLIENT_SECRET" },
          scope: "tasks",
          audience: "agents",
          clientAuthentication,
        },
        { secrets: { CLIENT_SECRET: "a-client-secret" } },
      );
      expect(await tokenOf(authorizer)).toBe(oauth.issued[0]);
      expect(oauth.asked[0]?.form).toMatchObject({ scope: "tasks", audience: "agents" });
      expect(oauth.asked[0]?.headers.has("authorization")).toBe(clientAuthentication === "basic");
    },
  );

  it("mtls presents its certificate and key and trusts only the configured authority", async () => {
    const authority = await createAuthority("an authority");
    const { cert, key } = await authority.issue({ name: "us" });
    const authorizer = authorizerOf(
      { type: "mtls", certificate: { env: "CERTIFICATE" }, key: { env: "KEY" }, ca: { env: "CA" } },
      { secrets: { CERTIFICATE: cert, KEY: key, CA: authority.ca } },
    );
    expect(await addCredentials(authorizer, url)).toEqual({ tls: { cert, key, ca: authority.ca } });
  });

  it("sigv4 signs as itself or as the role that it assumes with its external id", async () => {
    const sts = await startSts();
    const sigv4Settings = { type: "sigv4", service: "lambda", region };
    expect(
      (await addCredentials(authorizerOf(sigv4Settings), url)).headers?.authorization,
    ).toContain(credentials.accessKeyId);
    const roleAuthorizer = authorizerOf({
      ...sigv4Settings,
      assumeRoleArn: assumableRoleArn,
      externalId,
    });
    const { headers } = await addCredentials(roleAuthorizer, url);
    expect(headers?.authorization).toContain(sts.lent[0]?.accessKeyId);
    expect(headers?.["x-amz-security-token"]).toBe(sts.lent[0]?.sessionToken);
  });

  it("refuses an authorizer that needs AWS STS if no region is known, with a code for the log", async () => {
    const authorizer = authorizerOf(
      { type: "web-identity", audience: "agents" },
      { region: undefined },
    );
    await expect(tokenOf(authorizer)).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: expect.objectContaining({ code: "NoAwsRegion" }),
    });
  });
});
