/** Signed cards: what the signature covers, who can check it, and which keys are refused at the start. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { canonicalizeAgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { decodeProtectedHeader, flattenedVerify } from "jose";
import type { AgentCard } from "../../../contracts/a2a/card.ts";
import { type Cards, createCards } from "../../../lambdas/execution/a2a/cards.ts";
import { ConfigError } from "../../../lambdas/shared/config/load.ts";
import { extendedSkill, settingsOf } from "./card-settings.ts";

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
  const a2a = { extendedSkills, signature: { key: { env: "KEY" }, keyId: "key-1", algorithm, ...signature } };
  const readSecret = async (reference: object) => ("env" in reference && reference.env === "KEY" ? secret : "");
  return createCards({ ...settingsOf({ a2a }), readSecret, lastModifiedAtMs: 0 });
}

function publicCard({ endpoint }: Cards, version = "1.0"): AgentCard {
  return JSON.parse(endpoint({ version, header: () => undefined }).body);
}

/** With the official SDK; rejects where no signature fits. */
function verify({ card, algorithm = "ES256" }: { card: AgentCard; algorithm?: Algorithm }): Promise<void> {
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
  it.each(["ES256", "RS256", "EdDSA"] as const)("with %s is taken by the official SDK", async (algorithm) => {
    const cards = await signedCards({ algorithm });
    for (const card of [publicCard(cards), cards.extended({ version: "1.0" })]) {
      expect(card.signatures).toHaveLength(1);
      await verify({ card, algorithm });
    }
  });

  it("is refused by it as soon as a word of it is another", async () => {
    const card = publicCard(await signedCards());
    await expect(verify({ card: { ...card, name: "Another" } })).rejects.toThrow("No valid signatures");
    const url = "https://elsewhere.example/";
    const supportedInterfaces = card.supportedInterfaces.map((each) => ({ ...each, url }));
    await expect(verify({ card: { ...card, supportedInterfaces } })).rejects.toThrow("No valid signatures");
  });

  it("says in its protected header which key it is and, where configured, where that is", async () => {
    const jku = "https://agents.example/keys.json";
    const [plain, located] = await Promise.all([signedCards(), signedCards({ jku })]);
    const headerOf = (cards: Cards) => decodeProtectedHeader(publicCard(cards).signatures?.[0] ?? {});
    expect(headerOf(plain)).toEqual({ alg: "ES256", kid: "key-1", typ: "JOSE" });
    expect(headerOf(located)).toEqual({ alg: "ES256", kid: "key-1", typ: "JOSE", jku });
  });

  it("is signed over what is served, sorted and without the signatures", async () => {
    const { signatures: [signature] = [], ...card } = publicCard(await signedCards());
    const payload = Buffer.from(sorted(card)).toString("base64url");
    const { protected: header = "", signature: value = "" } = signature ?? {};
    await flattenedVerify({ payload, protected: header, signature: value }, keys.ES256.publicKey);
    const sdkForm = canonicalizeAgentCard(card as unknown as Parameters<typeof canonicalizeAgentCard>[0]);
    expect(sdkForm).toBe(sorted(card));
  });

  it("carries no signature in the form of 0.3, which it would not fit", async () => {
    expect(publicCard(await signedCards(), "0.3")).not.toHaveProperty("signatures");
  });

  it("has the same entity tag on every instance where the algorithm gives the same signature again", async () => {
    const tagOf = async (algorithm: Algorithm) =>
      (await signedCards({ algorithm })).endpoint({ version: "1.0", header: () => undefined }).headers.etag;
    expect(await tagOf("EdDSA")).toBe(await tagOf("EdDSA"));
    expect(await tagOf("RS256")).toBe(await tagOf("RS256"));
  });
});

describe("a key", () => {
  it.each([
    ["is no PEM", "not a key"],
    ["is of another algorithm", pemOf(keys.RS256.privateKey)],
    ["is of another curve", pemOf(generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey)],
    ["is the public one", keys.ES256.publicKey.export({ type: "spki", format: "pem" }).toString()],
    ["is in the older form", keys.ES256.privateKey.export({ type: "sec1", format: "pem" }).toString()],
  ])("that %s is refused at the start, in words for a person and without the key", async (_name, secret) => {
    const thrown = await signedCards({ secret }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as ConfigError).problems).toEqual([
      "execution.a2a.signature.key: it must be a private key for ES256, in PEM (PKCS#8)",
    ]);
    expect((thrown as ConfigError).message).not.toContain(secret.slice(0, 40));
  });

  it("that is too short to sign with is refused at the start, too", async () => {
    const secret = pemOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey);
    await expect(signedCards({ algorithm: "RS256", secret })).rejects.toThrow("a private key for RS256");
  });

  it("that cannot be read is told by whoever reads it", async () => {
    const a2a = { signature: { key: { env: "KEY" }, keyId: "key-1" } };
    const readSecret = async () => Promise.reject(new Error("KEY is not set"));
    await expect(createCards({ ...settingsOf({ a2a }), readSecret })).rejects.toThrow("KEY is not set");
  });
});

describe("the extended card", () => {
  it("is refused in the words of each version where there is none, and no secret is read for it", async () => {
    const readSecret = async () => Promise.reject(new Error("read"));
    const { extended } = await createCards({ ...settingsOf(), readSecret });
    expect(() => extended({ version: "1.0" })).toThrow(expect.objectContaining({ reason: "unsupported_operation" }));
    expect(() => extended({ version: "0.3" })).toThrow(
      expect.objectContaining({ reason: "extended_card_not_configured" }),
    );
  });

  it("has the skills that the public card keeps to itself", async () => {
    const cards = await signedCards();
    const ids = (card: AgentCard) => card.skills.map(({ id }) => id);
    expect(ids(publicCard(cards))).toEqual(["task"]);
    expect(ids(cards.extended({ version: "0.3" }))).toEqual(["task", "ledgers"]);
  });
});

/** RFC 8785, by other means than the code under test. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${sorted(each)}`).join(",")}}`;
}
