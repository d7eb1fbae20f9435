/** What the card says, and that every reader comes to the same form of it. */
import { AgentCard } from "@a2a-js/sdk";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { agentCardSchema } from "../../../contracts/a2a/card.ts";
import { createCard } from "../../../lambdas/execution/a2a/cards.ts";
import { extendedSkill, settingsOf, skill, url } from "./card-settings.ts";

const issuer = { issuer: "https://issuer.example/", audience: "sekisho", subjects: ["secret-subject"] };

/** By the authenticator's type, what the card asks for. */
function securityOf(authenticator: object) {
  const card = createCard({ ...settingsOf({ authenticator }), extended: false });
  const { securitySchemes = {}, securityRequirements = [] } = card;
  return { card, securitySchemes, wanted: securityRequirements.map(({ schemes }) => Object.keys(schemes)) };
}

describe("the agent card", () => {
  it("names the agent, its skills and one address for both versions of the protocol", () => {
    const a2a = { name: "Clerk", description: "Writes.", version: "2.1.0", tenant: "acme", skills: [skill] };
    const card = createCard({ ...settingsOf({ a2a }), extended: false });
    expect(card).toMatchObject({ name: "Clerk", description: "Writes.", version: "2.1.0", skills: [skill] });
    const common = { url, protocolBinding: "JSONRPC", tenant: "acme" };
    expect(card.supportedInterfaces).toEqual([
      { ...common, protocolVersion: "1.0" },
      { ...common, protocolVersion: "0.3" },
    ]);
  });

  it("says what the host can do, as it is told", () => {
    const { capabilities } = createCard({ ...settingsOf(), streaming: false, extended: false });
    expect(capabilities).toMatchObject({ streaming: false, pushNotifications: true, extendedAgentCard: false });
    expect(capabilities.extensions?.map(({ uri, required }) => [uri, required])).toEqual([
      ["urn:sekisho:slack-message:v1", undefined],
      ["urn:sekisho:question:v1", undefined],
      ["urn:sekisho:task:v1", undefined],
    ]);
  });

  it("keeps the extended skills to the extended card, and says that there is one", () => {
    const settings = settingsOf({ a2a: { skills: [skill], extendedSkills: [extendedSkill] } });
    const [open, extended] = [false, true].map((each) => createCard({ ...settings, extended: each }));
    expect(open?.skills).toEqual([skill]);
    expect(extended?.skills).toEqual([skill, extendedSkill]);
    expect(open?.capabilities.extendedAgentCard).toBe(true);
    expect({ ...extended, skills: [] }).toEqual({ ...open, skills: [] });
  });

  it("never names where secrets are, who is let in, or what only the host has to know", () => {
    const { card } = securityOf({ type: "jwt", issuers: [issuer] });
    const a2a = { signature: { key: { env: "SIGNING_KEY" }, keyId: "k" }, push: { allowLoopback: true } };
    const all = JSON.stringify([card, createCard({ ...settingsOf({ a2a }), extended: true })]);
    expect(all).not.toMatch(/secret-subject|SIGNING_KEY|TOKEN|allowLoopback/);
  });
});

describe("the security of the card", () => {
  it.each(["none", "platform"])("is not there where the authenticator is %s", (type) => {
    const card = createCard({ ...settingsOf({ authenticator: { type } }), extended: false });
    expect([card.securitySchemes, card.securityRequirements]).toEqual([undefined, undefined]);
  });

  it("is a bearer token for the authenticator bearer", () => {
    const { securitySchemes, wanted } = securityOf({ type: "bearer", tokens: [{ env: "TOKEN" }] });
    expect(securitySchemes).toEqual({
      bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: expect.any(String) } },
    });
    expect(wanted).toEqual([["bearer"]]);
  });

  it("is a JSON Web Token of any issuer for the authenticator jwt, with the discovery documents that there are", () => {
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

  it("is a token of the account's issuer for the authenticator web-identity, without the roles", () => {
    const arn = "arn:aws:iam::111111111111:role/verification";
    const authenticator = { type: "web-identity", issuer: "https://sts.example", audience: "sekisho", roles: [arn] };
    const { card, wanted } = securityOf(authenticator);
    expect(wanted).toEqual([["openid"], ["bearer"]]);
    expect(JSON.stringify(card)).not.toContain("111111111111");
  });
});

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((each) => each.trim() !== "");
const address = fc.webUrl({ validSchemes: ["https"] });
const skillOf = (id: string) =>
  fc.record(
    {
      ...{ id: fc.constant(id), name: text, description: text, tags: fc.array(text, { minLength: 1, maxLength: 3 }) },
      examples: fc.array(text, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ["id", "name", "description", "tags"] },
  );
const a2aConfig = fc.record(
  {
    ...{ name: text, description: text, version: text, tenant: text, documentationUrl: address, iconUrl: address },
    provider: fc.record({ organization: text, url: address }),
    skills: fc.tuple(skillOf("a"), skillOf("b")),
    extendedSkills: fc.tuple(skillOf("c")),
  },
  { requiredKeys: [] },
);
const authenticatorConfig = fc.oneof(
  fc.constant({ type: "bearer", tokens: [{ env: "TOKEN" }] }),
  fc.constant({ type: "platform" }),
  fc.record({ ...issuer, issuer: address, audience: text, subjects: fc.constant(["s"]) }).map((each) => ({
    type: "jwt",
    issuers: [each],
  })),
);

describe("any card", () => {
  it("has all that A2A requires and nothing that is empty, and the official SDK reads and writes it without loss", () => {
    const cards = fc
      .record({ a2a: a2aConfig, authenticator: authenticatorConfig, extended: fc.boolean(), streaming: fc.boolean() })
      .map(({ extended, streaming, ...config }) => createCard({ ...settingsOf(config), streaming, extended }));
    fc.assert(
      fc.property(cards, (card) => {
        agentCardSchema.parse(card);
        expect(emptyPaths(card)).toEqual([]);
        expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toEqual(card);
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
  return entries.length === 0 ? [path] : entries.flatMap(([key, each]) => emptyPaths(each, `${path}.${key}`));
}
