/** Verifiers of others, as their documentation or source describes them, get our valid tokens and the invalid ones. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openAgentCore } from "../doubles/token-verifiers/agentcore.ts";
import { openAgentGateway } from "../doubles/token-verifiers/agentgateway.ts";
import { openApiGateway } from "../doubles/token-verifiers/api-gateway.ts";
import { openEnvoy } from "../doubles/token-verifiers/envoy.ts";
import { type Admits, type FetchJson, readToken } from "../doubles/token-verifiers/read-token.ts";
import { servePublishedFiles } from "./published-files.ts";
import { createVectorFile, type Vector } from "./vectors/vectors.ts";
import { issueReusedToken, issueZoneTokens } from "./zone-tokens.ts";

const { settings, vectors } = createVectorFile();
const { issuer, audience, zones, jwks } = settings;
const discoveryUrl = `${issuer}/.well-known/openid-configuration`;
const jwksUri = `${issuer}/.well-known/jwks.json`;

let published: Awaited<ReturnType<typeof servePublishedFiles>>;
beforeAll(async () => {
  published = await servePublishedFiles();
});
afterAll(() => published.close());

/** The issuer's name leads to loopback. */
const fetchJson: FetchJson = async (url) => {
  if (!url.startsWith(`${issuer}/`)) throw new Error(`another host: ${url}`);
  const response = await fetch(published.url + url.slice(issuer.length));
  return (await response.json()) as Record<string, unknown>;
};

const valid = vectors.filter(({ expected }) => expected === "valid");
/** No verifier of others reads a body or remembers ids: the code behind it does. */
const invalid = vectors.filter(
  ({ expected }) => expected !== "valid" && expected !== "body" && expected !== "replayed",
);

/** What somebody can make who has no key of the zone. */
const unsigned = invalid.filter(({ token }) => {
  const { header, isSignedBy } = readToken(token) ?? {};
  return !jwks.keys.some((key) => key.alg === header?.alg && isSignedBy?.(key));
});
/** What somebody can have who got another token of the zone. */
const misplaced = [
  "expired for an hour",
  "another issuer",
  "an issuer with a slash at its end",
  "another destination",
  "a destination that begins with ours",
  "a destination in another case",
  "an empty list of destinations",
];

/** What the zone never signs, so that nobody can have it, and what these verifiers therefore need not find out. */
const types = [
  "the type JWT",
  "no type",
  "the type of another token",
  "a type in a list",
  "an ID token",
];
const criticalFields = [
  "a critical field",
  "an empty list of critical fields",
  "a payload that is not encoded",
];
const repeatedKeys = [
  "a header with a key twice",
  "claims with a key twice",
  "claims with a key twice in the actor",
  "claims with a key twice, once escaped",
];
/** The content is the zone's own. */
const spellings = [
  "padding",
  "a line break at the end",
  "a line break in the signature",
  "a character outside of the alphabet",
  "a character outside of ASCII",
  "the alphabet with plus and slash",
  "another spelling of the same signature",
];
const starts = [
  "issued in the future",
  "not valid yet",
  "issued in the future, though valid before",
  "expired before it was issued",
];
const startTypes = [
  "a start in text",
  "a start in text beside a start of validity",
  "a start of validity in text",
];
const personTypes = ["a subject that is a number", "a jti that is a number"];
const ofAll = [
  "valid for an hour",
  "an end with a fraction",
  "a start with a fraction",
  ...["no sub", "no jti", "no iat", "no act", "an empty subject", "an empty jti"],
  ...["another actor", "an actor in text", "an actor of null", "an actor without a subject"],
  ...["a list of destinations with ours", "a list of only our destination", "a zone in a list"],
  ...["a user that is an object", "a team that is a number", "an address of null"],
  "a token of more than 8 KB",
  ...criticalFields,
  ...repeatedKeys,
];

type Row = {
  name: string;
  open: () => Promise<Admits>;
  /** Valid tokens that it does not take. */
  refused: readonly string[];
  /** Invalid tokens that it does not find out, or may not. */
  unnoticed: readonly string[];
  /** What it fetches. */
  paths: readonly string[];
};

const keysPath = "/.well-known/jwks.json";
const discoveryPath = "/.well-known/openid-configuration";
const agentCore = { discoveryUrl, allowedAudience: [audience], allowedClients: zones };
const apiGateway = { issuer, audience: [audience] };
const agentGateway = {
  ...{ mode: "strict" as const, issuer, audiences: [audience] },
  jwks: { url: jwksUri },
};
const envoy = {
  ...{ issuer, audiences: [audience], require_expiration: true },
  remote_jwks: { http_uri: { uri: jwksUri } },
};

const rows: Row[] = [
  {
    name: "AgentCore",
    open: () => openAgentCore(agentCore, fetchJson),
    // Its documentation names neither its algorithms nor a tolerance for clocks. It refuses the last minute.
    refused: ["a token with ES256", "the last second"],
    unnoticed: [
      ...[...ofAll, ...types, ...spellings, ...startTypes, ...personTypes],
      ...starts.filter((name) => name !== "expired before it was issued"),
      "a huge end",
    ],
    paths: [discoveryPath, keysPath],
  },
  {
    name: "API Gateway",
    open: () => openApiGateway(apiGateway, fetchJson),
    refused: ["a token with ES256", "the last second", "issued by a clock that is a little fast"],
    unnoticed: [
      ...[...ofAll, ...types, ...spellings, ...personTypes],
      ...["a huge end", "no client_id", "another zone"],
    ],
    paths: [discoveryPath, keysPath],
  },
  {
    name: "agentgateway",
    open: () => openAgentGateway(agentGateway, fetchJson),
    refused: [],
    unnoticed: [
      ...[...ofAll, ...starts, ...startTypes, ...personTypes],
      ...types.filter((name) => name !== "a type in a list"),
      ...["the second after the last", "an issuer in a list"],
      ...["no iss", "no aud", "no client_id", "another zone"],
    ],
    paths: [keysPath],
  },
  {
    name: "Envoy",
    open: () => openEnvoy(envoy, fetchJson),
    refused: [],
    unnoticed: [
      ...[...ofAll, ...types, ...spellings, ...starts],
      ...["the second after the last", "no key id", "no client_id", "another zone"],
      "another spelling of the same signature of ES256",
    ],
    paths: [keysPath],
  },
];

const namesOf = (some: readonly Vector[]) => some.map(({ name }) => name).sort();

describe.each(rows)("the authorizer of $name", ({ open, refused, unnoticed, paths }) => {
  it("accepts our tokens, by the files that the zone publishes", async () => {
    published.requestedPaths.length = 0;
    const admits = await open();
    expect(published.requestedPaths).toEqual(paths);
    expect(namesOf(valid.filter(({ token, now }) => !admits(token, now)))).toEqual(
      [...refused].sort(),
    );
  });

  it("accepts tokens that the zone has just made, if it takes the algorithm", async () => {
    const admits = await open();
    const takesEs256 = !refused.includes("a token with ES256");
    for (const { name, token, now } of await issueZoneTokens())
      expect([name, admits(token, now)]).toEqual([name, takesEs256 || name.endsWith("RS256")]);
  });

  it("accepts the token of a poll as long as the zone uses it, and 25 seconds later", async () => {
    const admits = await open();
    const { token, lastSecond } = await issueReusedToken();
    expect(admits(token, lastSecond + 25)).toBe(true);
  });

  it("refuses each token that the zone has not signed", async () => {
    const admits = await open();
    expect(unsigned.length).toBeGreaterThan(40);
    expect(namesOf(unsigned.filter(({ token, now }) => admits(token, now)))).toEqual([]);
  });

  it("refuses each token of another time, destination or issuer", async () => {
    const admits = await open();
    const others = vectors.filter(({ name }) => misplaced.includes(name));
    expect(others).toHaveLength(misplaced.length);
    expect(namesOf(others.filter(({ token, now }) => admits(token, now)))).toEqual([]);
  });

  it("leaves no more unnoticed than what is listed", async () => {
    const admits = await open();
    const admitted = invalid.filter(({ token, now }) => admits(token, now));
    expect(namesOf(admitted)).toEqual([...unnoticed].sort());
  });
});

describe("the doubles", () => {
  const [token = ""] = valid.map((vector) => vector.token);
  const now = valid[0]?.now ?? 0;
  const nameless = invalid.find(({ name }) => name === "no aud")?.token ?? "";
  const endless = invalid.find(({ name }) => name === "no exp")?.token ?? "";

  it("AgentCore matches flat texts by custom claims, and nothing inside of an object", async () => {
    const admitsWith = async (inboundTokenClaimName: string, value: string) => {
      const rule = { inboundTokenClaimName, value, operator: "EQUALS" as const };
      const customClaims = [{ ...rule, inboundTokenClaimValueType: "STRING" as const }];
      return (await openAgentCore({ ...agentCore, customClaims }, fetchJson))(token, now);
    };
    expect(await admitsWith("slack_team", "T012AB3CD")).toBe(true);
    expect(await admitsWith("slack_team", "T0OTHER")).toBe(false);
    expect(await admitsWith("act", zones[0] ?? "")).toBe(false);
  });

  it("AgentCore takes an address of the discovery document only, and the listed clients and scopes", async () => {
    const wrong = { ...agentCore, discoveryUrl: jwksUri };
    await expect(openAgentCore(wrong, fetchJson)).rejects.toThrow("ValidationException");
    for (const config of [
      { ...agentCore, allowedClients: ["another"] },
      { ...agentCore, allowedScopes: ["agent.invoke"] },
    ])
      expect((await openAgentCore(config, fetchJson))(token, now)).toBe(false);
  });

  it("API Gateway compares the client only if there is no audience, and wants the scopes of the route", async () => {
    const byClient = await openApiGateway({ issuer, audience: zones }, fetchJson);
    expect([byClient(nameless, now), byClient(token, now)]).toEqual([true, false]);
    const scoped = { ...apiGateway, authorizationScopes: ["agent.invoke"] };
    expect((await openApiGateway(scoped, fetchJson))(token, now)).toBe(false);
  });

  it("agentgateway lets a request without a token through unless its mode is strict", async () => {
    const { mode: _strict, ...byDefault } = agentGateway;
    expect((await openAgentGateway(byDefault, fetchJson))("", now)).toBe(true);
    expect((await openAgentGateway(agentGateway, fetchJson))("", now)).toBe(false);
  });

  it("Envoy takes a token without an end for ever unless it requires one", async () => {
    const { require_expiration: _required, ...byDefault } = envoy;
    expect((await openEnvoy(byDefault, fetchJson))(endless, now)).toBe(true);
    expect((await openEnvoy(envoy, fetchJson))(endless, now)).toBe(false);
  });
});
