/** The agent card: what it says, who signed it, and how clients of each version and caches get it. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  canonicalizeAgentCard,
  AgentCard as SdkAgentCard,
  verifyAgentCardSignature,
} from "@a2a-js/sdk";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { a2aSchema } from "@sekisho/config/a2a-schema.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { type AgentCard, agentCardSchema } from "@sekisho/contracts/a2a/card.ts";
import {
  type Cards,
  createCard,
  createCardEndpoint,
  createCards,
} from "@sekisho/execution/a2a/cards.ts";
import fc from "fast-check";
import { decodeProtectedHeader, flattenedVerify } from "jose";

const url = "https://agents.example/a2a";
const skill = { id: "reports", name: "Reports", description: "Writes reports.", tags: ["report"] };
const extendedSkill = { ...skill, id: "ledgers", name: "Ledgers" };
const bearer = { type: "bearer", tokens: [{ env: "TOKEN" }] } as const;

/** The rest of what a card is made of. */
function settingsOf({
  a2a = {},
  authenticator = bearer,
}: {
  a2a?: object;
  authenticator?: object;
} = {}): Pick<Config["execution"], "a2a" | "authenticator"> & {
  url: string;
  streaming: boolean;
  push: boolean;
} {
  const { execution } = parseConfig({
    json: { execution: { a2a, authenticator }, destinations: {}, routes: [] },
  });
  return {
    a2a: execution.a2a,
    authenticator: execution.authenticator,
    url,
    streaming: true,
    push: true,
  };
}

const issuer = {
  issuer: "https://issuer.example/",
  audience: "sekisho",
  subjects: ["secret-subject"],
};

/** By the authenticator's type, what the card asks for. */
function securityOf(authenticator: object) {
  const card = createCard({ ...settingsOf({ authenticator }), isExtended: false });
  const { securitySchemes = {}, securityRequirements = [] } = card;
  return {
    card,
    securitySchemes,
    wanted: securityRequirements.map(({ schemes }) => Object.keys(schemes)),
  };
}

describe("the agent card", () => {
  it("names the agent, its skills and one address for both versions of the protocol", () => {
    const a2a = {
      name: "Clerk",
      description: "Writes.",
      version: "2.1.0",
      tenant: "acme",
      skills: [skill],
    };
    const card = createCard({ ...settingsOf({ a2a }), isExtended: false });
    expect(card).toMatchObject({
      name: "Clerk",
      description: "Writes.",
      version: "2.1.0",
      skills: [skill],
    });
    const common = { url, protocolBinding: "JSONRPC", tenant: "acme" };
    expect(card.supportedInterfaces).toEqual([
      { ...common, protocolVersion: "1.0" },
      { ...common, protocolVersion: "0.3" },
    ]);
  });

  it("lists the capabilities of the host", () => {
    const { capabilities } = createCard({ ...settingsOf(), streaming: false, isExtended: false });
    expect(capabilities).toMatchObject({
      streaming: false,
      pushNotifications: true,
      extendedAgentCard: false,
    });
    expect(capabilities.extensions?.map(({ uri, required }) => [uri, required])).toEqual([
      ["urn:sekisho:slack-message:v1", undefined],
      ["urn:sekisho:question:v1", undefined],
      ["urn:sekisho:task:v1", undefined],
    ]);
  });

  it("shows extended skills only in the extended card, and announces that card", () => {
    const settings = settingsOf({ a2a: { skills: [skill], extendedSkills: [extendedSkill] } });
    const [open, extendedCard] = [false, true].map((each) =>
      createCard({ ...settings, isExtended: each }),
    );
    expect(open?.skills).toEqual([skill]);
    expect(extendedCard?.skills).toEqual([skill, extendedSkill]);
    expect(open?.capabilities.extendedAgentCard).toBe(true);
    expect({ ...extendedCard, skills: [] }).toEqual({ ...open, skills: [] });
  });

  it("hides secret references, callers and host settings from every card", () => {
    const clients = {
      ...issuer,
      issuer: "https://pool.example",
      audience: undefined,
      clients: ["secret-client"],
    };
    const { card } = securityOf({ type: "jwt", issuers: [issuer, clients] });
    const a2a = {
      signature: { key: { env: "SIGNING_KEY" }, keyId: "k" },
      push: { allowLoopback: true },
    };
    const all = JSON.stringify([card, createCard({ ...settingsOf({ a2a }), isExtended: true })]);
    expect(all).not.toMatch(
      /secret-subject|secret-client|undefined|SIGNING_KEY|TOKEN|allowLoopback/,
    );
  });
});

describe("the security of the card", () => {
  it.each(["none", "platform"])("declares no security scheme for the authenticator %s", (type) => {
    const card = createCard({ ...settingsOf({ authenticator: { type } }), isExtended: false });
    expect([card.securitySchemes, card.securityRequirements]).toEqual([undefined, undefined]);
  });

  it("declares a bearer token for the authenticator bearer", () => {
    const { securitySchemes, wanted: requirements } = securityOf({
      type: "bearer",
      tokens: [{ env: "TOKEN" }],
    });
    expect(securitySchemes).toEqual({
      bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: expect.any(String) } },
    });
    expect(requirements).toEqual([["bearer"]]);
  });

  it("declares a JSON Web Token of any issuer for the authenticator jwt, with known discovery documents", () => {
    const issuers = [
      issuer,
      { ...issuer, issuer: "https://second.example/tenant", audience: "other" },
      { ...issuer, issuer: "https://keys.example", jwksUrl: "https://keys.example/jwks" },
    ];
    const { securitySchemes, wanted } = securityOf({ type: "jwt", issuers });
    expect(securitySchemes).toMatchObject({
      openid: {
        openIdConnectSecurityScheme: {
          openIdConnectUrl: "https://issuer.example/.well-known/openid-configuration",
          description: expect.stringContaining("https://issuer.example/ for the audience sekisho"),
        },
      },
      openid2: {
        openIdConnectSecurityScheme: {
          openIdConnectUrl: "https://second.example/tenant/.well-known/openid-configuration",
        },
      },
      bearer: {
        httpAuthSecurityScheme: {
          scheme: "Bearer",
          bearerFormat: "JWT",
          description: expect.stringContaining("https://keys.example for the audience sekisho"),
        },
      },
    });
    expect(wanted).toEqual([["openid"], ["openid2"], ["bearer"]]);
  });

  it("declares a token of the account's issuer for the authenticator web-identity, without roles", () => {
    const arn = "arn:aws:iam::111111111111:role/verification";
    const authenticator = {
      type: "web-identity",
      issuer: "https://sts.example",
      audience: "sekisho",
      roles: [arn],
    };
    const { card, wanted } = securityOf(authenticator);
    expect(wanted).toEqual([["openid"], ["bearer"]]);
    expect(JSON.stringify(card)).not.toContain("111111111111");
  });
});

const text = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((each) => each.trim() !== "");
const address = fc.webUrl({ validSchemes: ["https"] });

const skillOf = (id: string) =>
  fc.record(
    {
      ...{
        id: fc.constant(id),
        name: text,
        description: text,
        tags: fc.array(text, { minLength: 1, maxLength: 3 }),
      },
      examples: fc.array(text, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ["id", "name", "description", "tags"] },
  );

const a2aConfig = fc.record(
  {
    ...{
      name: text,
      description: text,
      version: text,
      tenant: text,
      documentationUrl: address,
      iconUrl: address,
    },
    provider: fc.record({ organization: text, url: address }),
    skills: fc.tuple(skillOf("a"), skillOf("b")),
    extendedSkills: fc.tuple(skillOf("c")),
  },
  { requiredKeys: [] },
);

const authenticatorConfig = fc.oneof(
  fc.constant({ type: "bearer", tokens: [{ env: "TOKEN" }] }),
  fc.constant({ type: "platform" }),
  fc
    .record({ ...issuer, issuer: address, audience: text, subjects: fc.constant(["s"]) })
    .map((each) => ({
      type: "jwt",
      issuers: [each],
    })),
);

describe("any card", () => {
  it("creates complete cards without empty members, which the official SDK preserves", () => {
    const cards = fc
      .record({
        a2a: a2aConfig,
        authenticator: authenticatorConfig,
        extended: fc.boolean(),
        streaming: fc.boolean(),
      })
      .map(({ extended: isExtended, streaming, ...config }) =>
        createCard({ ...settingsOf(config), streaming, isExtended }),
      );
    fc.assert(
      fc.property(cards, (card) => {
        agentCardSchema.parse(card);
        expect(emptyPaths(card)).toEqual([]);
        expect(SdkAgentCard.toJSON(SdkAgentCard.fromJSON(card))).toEqual(card);
      }),
      { numRuns: 50 },
    );
  });
});

/** Where a text, a list or an object is empty, or a value is null. */
function emptyPaths(value: unknown, path = "card"): string[] {
  if (value === null || value === "") return [path];
  if (typeof value !== "object") return [];
  const entries = Object.entries(value);
  return entries.length === 0
    ? [path]
    : entries.flatMap(([key, each]) => emptyPaths(each, `${path}.${key}`));
}

const keys = {
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  EdDSA: generateKeyPairSync("ed25519"),
};

type Algorithm = keyof typeof keys;

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

async function signedCards({
  algorithm = "ES256",
  secret = pemOf(keys[algorithm].privateKey),
  extendedSkills = [extendedSkill],
  ...signature
}: {
  algorithm?: Algorithm;
  secret?: string;
  extendedSkills?: object[] | undefined;
  jku?: string;
} = {}): Promise<Cards> {
  const a2a = {
    extendedSkills,
    signature: { key: { env: "KEY" }, keyId: "key-1", algorithm, ...signature },
  };
  const readSecret = async (reference: object) =>
    "env" in reference && reference.env === "KEY" ? secret : "";
  return createCards({ ...settingsOf({ a2a }), readSecret, lastModifiedAtMs: 0 });
}

function publicCard({ endpoint }: Cards, version = "1.0"): AgentCard {
  return JSON.parse(endpoint({ version, header: () => undefined }).body);
}

/** With the official SDK; rejects where no signature fits. */
function verify({
  card,
  algorithm = "ES256",
}: {
  card: AgentCard;
  algorithm?: Algorithm;
}): Promise<void> {
  const check = verifyAgentCardSignature(async () => keys[algorithm].publicKey);
  return check(card as unknown as Parameters<typeof check>[0]);
}

// The SDK says there which signature did not fit.
beforeAll(() => {
  jest.spyOn(console, "debug").mockImplementation(() => {});
});

afterAll(() => {
  jest.restoreAllMocks();
});

describe("a signed card", () => {
  it.each(["ES256", "RS256", "EdDSA"] as const)(
    "signs a card with %s so that the official SDK verifies it",
    async (algorithm) => {
      const cards = await signedCards({ algorithm });
      for (const card of [publicCard(cards), cards.extended({ version: "1.0" })]) {
        expect(card.signatures).toHaveLength(1);
        await verify({ card, algorithm });
      }
    },
  );

  it("the official SDK refuses a signed card after any change", async () => {
    const card = publicCard(await signedCards());
    await expect(verify({ card: { ...card, name: "Another" } })).rejects.toThrow(
      "No valid signatures",
    );
    const url = "https://elsewhere.example/";
    const supportedInterfaces = card.supportedInterfaces.map((each) => ({ ...each, url }));
    await expect(verify({ card: { ...card, supportedInterfaces } })).rejects.toThrow(
      "No valid signatures",
    );
  });

  it("names the key and its configured location in the protected header", async () => {
    const jku = "https://agents.example/keys.json";
    const [plain, locatedCard] = await Promise.all([signedCards(), signedCards({ jku })]);
    const headerOf = (cards: Cards) =>
      decodeProtectedHeader(publicCard(cards).signatures?.[0] ?? {});
    expect(headerOf(plain)).toEqual({ alg: "ES256", kid: "key-1", typ: "JOSE" });
    expect(headerOf(locatedCard)).toEqual({ alg: "ES256", kid: "key-1", typ: "JOSE", jku });
  });

  it("signs the served card, sorted and without the signatures", async () => {
    const { signatures: [signature] = [], ...card } = publicCard(await signedCards());
    const payload = Buffer.from(sortedText(card)).toString("base64url");
    const { protected: header = "", signature: value = "" } = signature ?? {};
    await flattenedVerify({ payload, protected: header, signature: value }, keys.ES256.publicKey);
    const sdkForm = canonicalizeAgentCard(
      card as unknown as Parameters<typeof canonicalizeAgentCard>[0],
    );
    expect(sdkForm).toBe(sortedText(card));
  });

  it("omits the signature in the form of 0.3, which it would not fit", async () => {
    expect(publicCard(await signedCards(), "0.3")).not.toHaveProperty("signatures");
  });

  it("uses the same entity tag on every instance if the signature is deterministic", async () => {
    const tagOf = async (algorithm: Algorithm) =>
      (await signedCards({ algorithm })).endpoint({ version: "1.0", header: () => undefined })
        .headers.etag;
    expect(await tagOf("EdDSA")).toBe(await tagOf("EdDSA"));
    expect(await tagOf("RS256")).toBe(await tagOf("RS256"));
  });
});

describe("a signing key", () => {
  it.each([
    ["is not PEM", "not a key"],
    ["has another algorithm", pemOf(keys.RS256.privateKey)],
    ["has another curve", pemOf(generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey)],
    ["is public", keys.ES256.publicKey.export({ type: "spki", format: "pem" }).toString()],
    ["has the SEC1 form", keys.ES256.privateKey.export({ type: "sec1", format: "pem" }).toString()],
  ])("refuses at the start, without showing it, a signing key that %s", async (_name, secret) => {
    const thrown = await signedCards({ secret }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as ConfigError).problems).toEqual([
      "execution.a2a.signature.key: it must be a private key for ES256, in PEM (PKCS#8)",
    ]);
    expect((thrown as ConfigError).message).not.toContain(secret.slice(0, 40));
  });

  it("refuses a signing key that is too short at the start", async () => {
    const secret = pemOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey);
    await expect(signedCards({ algorithm: "RS256", secret })).rejects.toThrow(
      "a private key for RS256",
    );
  });

  it("passes on the error of a signing key that cannot be read", async () => {
    const a2a = { signature: { key: { env: "KEY" }, keyId: "key-1" } };
    const readSecret = async () => Promise.reject(new Error("KEY is not set"));
    await expect(createCards({ ...settingsOf({ a2a }), readSecret })).rejects.toThrow(
      "KEY is not set",
    );
  });
});

/** RFC 8785, by other means than the code under test. */
function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${sortedText(each)}`).join(",")}}`;
}

const card = createCard({
  ...settingsOf({ a2a: { tenant: "acme", skills: [skill] } }),
  isExtended: false,
});
const lastModifiedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const endpoint = createCardEndpoint({ card, defaultVersion: "0.3", lastModifiedAtMs });

/** `version` as a client would send it. */
function get({
  version,
  headers = {},
}: {
  version?: string;
  headers?: Record<string, string>;
} = {}) {
  const request = new Headers({ ...headers, ...(version && { "A2A-Version": version }) });
  const header = (name: string) => request.get(name) ?? undefined;
  const answer = endpoint({ version, header });
  return new Response(answer.body || null, answer);
}

describe("the version of a requested card", () => {
  it("serves the configured form of the card to a client that names no version", () => {
    const readCard = (defaultVersion: "1.0" | "0.3") =>
      JSON.parse(
        createCardEndpoint({ card, defaultVersion, lastModifiedAtMs })({
          version: undefined,
          header: () => undefined,
        }).body,
      );
    expect(readCard("1.0")).toEqual(card);
    expect(readCard("0.3")).toMatchObject({ url, protocolVersion: "0.3.0" });
    expect(a2aSchema.parse({}).cardVersion).toBe("0.3");
  });

  it.each(["1.0", "1", "1.1", "2.0"])(
    "serves the card of 1.0 for A2A-Version %s",
    async (version) => {
      expect(await get({ version }).json()).toEqual(card);
    },
  );

  it.each([undefined, "0.3", "0.2", "unknown"])(
    "serves the card that clients of 0.3 read for A2A-Version %s",
    async (version) => {
      const body = await get(version === undefined ? {} : { version }).json();
      expect(body).toMatchObject({
        url,
        protocolVersion: "0.3.0",
        preferredTransport: "JSONRPC",
        skills: [skill],
      });
      expect(body).toMatchObject({
        securitySchemes: { bearer: { type: "http", scheme: "Bearer" } },
      });
      expect(body).toMatchObject(card);
    },
  );
});

describe("a cached card", () => {
  it("sends the content type, Cache-Control, Vary, Last-Modified and an entity tag", () => {
    const { status, headers } = get({ version: "1.0" });
    expect([status, headers.get("content-type"), headers.get("vary")]).toEqual([
      200,
      "application/json",
      "A2A-Version",
    ]);
    expect(headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
    expect(headers.get("last-modified")).toBe("Fri, 02 Jan 2026 03:04:05 GMT");
    expect(headers.get("etag")).toMatch(/^"[\w-]{43}"$/);
  });

  it("uses another entity tag for each form, and the same one on another instance", () => {
    const [first, old] = [get({ version: "1.0" }), get()];
    expect(old.headers.get("etag")).not.toBe(first.headers.get("etag"));
    const other = createCardEndpoint({
      card: structuredClone(card),
      defaultVersion: "0.3",
      lastModifiedAtMs: lastModifiedAtMs + 5000,
    });
    expect(other({ version: "1.0", header: () => undefined }).headers.etag).toBe(
      first.headers.get("etag"),
    );
  });

  it.each<[string, (etag: string) => Record<string, string>]>([
    ["the entity tag", (etag) => ({ "If-None-Match": etag })],
    ["the entity tag as a weak one", (etag) => ({ "If-None-Match": `W/${etag}` })],
    ["the entity tag among others", (etag) => ({ "If-None-Match": `"a", ${etag} , W/"b"` })],
    ["a wildcard", () => ({ "If-None-Match": "*" })],
    ["a card of the same second", () => ({ "If-Modified-Since": "Fri, 02 Jan 2026 03:04:05 GMT" })],
    ["a newer card", () => ({ "If-Modified-Since": "Sat, 03 Jan 2026 00:00:00 GMT" })],
  ])("answers 304 to a cache that has %s", async (_name, conditionOf) => {
    const { headers } = get();
    const response = get({ headers: conditionOf(headers.get("etag") ?? "") });
    expect([response.status, await response.text()]).toEqual([304, ""]);
    for (const name of ["etag", "cache-control", "vary", "last-modified"]) {
      expect([name, response.headers.get(name)]).toEqual([name, headers.get(name)]);
    }
  });

  it.each([
    ["another entity tag", { "If-None-Match": '"other"' }],
    ["a malformed entity tag", { "If-None-Match": "other" }],
    ["an older card", { "If-Modified-Since": "Fri, 02 Jan 2026 03:04:04 GMT" }],
    ["a malformed date", { "If-Modified-Since": "yesterday" }],
    [
      "another entity tag and the same date",
      { "If-None-Match": '"x"', "If-Modified-Since": "Sat, 03 Jan 2026 00:00:00 GMT" },
    ],
  ])("sends the card to a cache that has %s", async (_name, headers) => {
    const response = get({ version: "1.0", headers });
    expect([response.status, await response.json()]).toEqual([200, card]);
  });
});
