/** Agent cards across the versions: ours for clients of 0.3, and the interfaces of any card. */

import { AgentCard as SdkAgentCard } from "@a2a-js/sdk";
import { parseLegacyAgentCard } from "@a2a-js/sdk/compat/v0_3/client";
import { describe, expect, it } from "@jest/globals";
import { type AgentCard, agentCardSchema, readCardSchema } from "@sekisho/contracts/a2a/card.ts";
import { cardToV03, createCombinedCard, listInterfaces } from "@sekisho/contracts/a2a/v03/card.ts";
import { Ajv } from "ajv";
import published from "../../../fixtures/a2a/v0.3.0-schema.json" with { type: "json" };
import { wire } from "../arbitraries.ts";

const url = "https://agent.test/a2a";
const jsonRpc = { url, protocolBinding: "JSONRPC" };
const card: AgentCard = {
  name: "Echo",
  description: "Says it again",
  version: "1.0.0",
  supportedInterfaces: [
    { ...jsonRpc, protocolVersion: "1.0" },
    { ...jsonRpc, protocolVersion: "0.3" },
  ],
  provider: { organization: "Test", url: "https://test" },
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: true,
    extensions: [{ uri: "urn:a" }],
  },
  securitySchemes: {
    token: { httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "JWT" } },
    issuer: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://issuer.test" } },
  },
  securityRequirements: [
    { schemes: { token: { list: ["caller"] } } },
    { schemes: { issuer: { list: ["read"] } } },
  ],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [
    { id: "echo", name: "Echo", description: "Says it again", tags: ["echo"], examples: ["hello"] },
  ],
  signatures: [{ protected: "a", signature: "b" }],
};

describe("a 1.0 card as a 0.3 card", () => {
  it("converts a card to the schema that 0.3.0 published, without signatures", () => {
    const legacy = wire(cardToV03(card));
    const ajv = new Ajv({ strict: false }).addSchema(published, "a2a");
    expect(ajv.validate("a2a#/definitions/AgentCard", legacy) ? [] : ajv.errors).toEqual([]);
    expect(legacy).toEqual({
      protocolVersion: "0.3.0",
      name: "Echo",
      description: "Says it again",
      version: "1.0.0",
      url,
      preferredTransport: "JSONRPC",
      additionalInterfaces: [],
      provider: { organization: "Test", url: "https://test" },
      capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: "urn:a" }] },
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: {
        token: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        issuer: { type: "openIdConnect", openIdConnectUrl: "https://issuer.test" },
      },
      security: [{ token: [] }, { issuer: ["read"] }],
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: card.skills,
    });
  });

  it("leads the official client of 0.3 to the interface of 0.3", () => {
    const result = parseLegacyAgentCard(wire(cardToV03(card)));
    expect(result.supportedInterfaces).toEqual([
      { ...jsonRpc, protocolVersion: "0.3.0", tenant: "" },
    ]);
    expect(Object.keys(result.securitySchemes)).toEqual(["token", "issuer"]);
  });

  it("returns no card of 0.3 if no interface speaks 0.3", () => {
    expect(
      cardToV03({ ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 1) }),
    ).toBeUndefined();
  });
});

describe("the combined card", () => {
  const combinedCard = wire(createCombinedCard(card)) as Record<string, unknown>;

  it("makes one A2A card for both versions that the schema of 0.3.0 accepts", () => {
    const ajv = new Ajv({ strict: false }).addSchema(published, "a2a");
    expect(ajv.validate("a2a#/definitions/AgentCard", combinedCard) ? [] : ajv.errors).toEqual([]);
    expect(combinedCard).toMatchObject({
      url,
      protocolVersion: "0.3.0",
      security: [{ token: [] }, { issuer: ["read"] }],
    });
  });

  it("keeps every member of the card of 1.0 in the combined card, except the signatures", () => {
    const { signatures: _, ...unsigned } = card;
    expect(combinedCard).toMatchObject(unsigned);
    expect(combinedCard).not.toHaveProperty("signatures");
    expect(SdkAgentCard.toJSON(SdkAgentCard.fromJSON(combinedCard))).toEqual(unsigned);
  });

  it("describes each security scheme of the combined card for both 0.3 and 1.0", () => {
    expect(combinedCard.securitySchemes).toMatchObject({
      token: { type: "http", scheme: "bearer", httpAuthSecurityScheme: { scheme: "bearer" } },
      issuer: {
        type: "openIdConnect",
        openIdConnectSecurityScheme: { openIdConnectUrl: "https://issuer.test" },
      },
    });
  });
});

describe("a published card", () => {
  it("refuses a published card with an empty required member", () => {
    expect(agentCardSchema.safeParse(card).success).toBe(true);
    for (const name of [
      "description",
      "skills",
      "supportedInterfaces",
      "defaultInputModes",
    ] as const) {
      const empty = typeof card[name] === "string" ? "" : [];
      expect(agentCardSchema.safeParse({ ...card, [name]: empty }).success).toBe(false);
    }
  });

  it("refuses a security scheme of two kinds", () => {
    const both = {
      httpAuthSecurityScheme: { scheme: "bearer" },
      openIdConnectSecurityScheme: { openIdConnectUrl: "u" },
    };
    expect(agentCardSchema.safeParse({ ...card, securitySchemes: { both } }).success).toBe(false);
  });
});

describe("the interfaces of an agent", () => {
  const bare = { name: "Echo" };
  const one = { ...jsonRpc, protocolVersion: "1.0" };
  const old = { url, protocolBinding: "JSONRPC", protocolVersion: "0.3.0" };

  it.each<[string, object, object[]]>([
    ["nowhere by a card without an address", { ...bare, url: "", supportedInterfaces: [] }, []],
    ["by a card of 1.0", { ...bare, ...card }, card.supportedInterfaces],
    [
      "over JSON-RPC by a card of 0.3 without a transport",
      { ...bare, url, protocolVersion: "0.3.0" },
      [old],
    ],
    ["by a card without a version", { ...bare, url }, [{ ...old, protocolVersion: "0.3" }]],
    [
      "at every interface that a card of 0.3 names",
      {
        ...bare,
        url,
        protocolVersion: "0.3.0",
        preferredTransport: "GRPC",
        additionalInterfaces: [{ url, transport: "JSONRPC" }],
      },
      [{ ...old, protocolBinding: "GRPC" }, old],
    ],
    [
      "at the interfaces of both versions of a combined card",
      createCombinedCard(card),
      [...card.supportedInterfaces, old],
    ],
    [
      "with the tenant of its interface",
      { ...bare, supportedInterfaces: [{ ...jsonRpc, protocolVersion: "1.0", tenant: "blue" }] },
      [{ ...jsonRpc, protocolVersion: "1.0", tenant: "blue" }],
    ],
    [
      "at the complete interfaces, despite malformed ones",
      { ...bare, supportedInterfaces: [{ url }, null, { ...jsonRpc, protocolVersion: "1.0" }] },
      [{ ...jsonRpc, protocolVersion: "1.0" }],
    ],
    [
      "by a card with malformed members that are not needed",
      { ...bare, capabilities: { streaming: null }, skills: null, supportedInterfaces: [one] },
      [one],
    ],
    [
      "at the first of very many interfaces",
      { ...bare, supportedInterfaces: Array(60).fill(one) },
      Array(50).fill(one),
    ],
  ])("lists where an agent is reachable: %s", (_name, result, interfaces) => {
    expect(wire(listInterfaces(readCardSchema.parse(wire(result))))).toEqual(interfaces);
  });
});
