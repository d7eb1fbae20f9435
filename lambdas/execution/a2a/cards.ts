/** The host's agent cards of A2A 1.0 (section 4.4.1), made from the configuration and signed if a key is configured. */

import { createHash } from "node:crypto";
import type { A2aConfig, CardSignatureConfig } from "@sekisho/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { AgentCard, SecurityScheme } from "@sekisho/contracts/a2a/card.ts";
import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { createCombinedCard } from "@sekisho/contracts/a2a/v03/card.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createCachedValue } from "@sekisho/runtime/async/cache.ts";
import canonicalize from "canonicalize";
import { FlattenedSign, importPKCS8 } from "jose";
import type { Exchange, WholeResponse } from "../exchange.ts";

export type Cards = {
  /** Serves the public card to everyone. */
  endpoint: CardEndpoint;
  /**
   * The result of GetExtendedAgentCard in the form of 1.0, for authenticated callers. If no extended card is configured, throws
   * `unsupported_operation` in 1.0 (section 3.3.4) and `extended_card_not_configured` in 0.3 (section 8).
   */
  extended(request: { version: "1.0" | "0.3" }): AgentCard;
};

/** `url` is where clients send requests. Rejects if the configured key cannot be read or cannot sign. */
export async function createCards(options: {
  a2a: A2aConfig;
  url: string;
  authenticator: AuthenticatorConfig;
  streaming: boolean;
  push: boolean;
  readSecret: (reference: SecretReference) => Promise<string>;
  lastModifiedAtMs?: number;
}): Promise<Cards> {
  const { readSecret, lastModifiedAtMs = Date.now(), ...settings } = options;
  const { signature, extendedSkills } = settings.a2a;
  const sign = signature && (await createSignCard({ signature, readSecret }));
  const make = async (isExtended: boolean) => {
    const card = createCard({ ...settings, isExtended });
    return sign === undefined ? card : sign(card);
  };
  const extendedCard = extendedSkills && (await make(true));
  return {
    endpoint: createCardEndpoint({
      card: await make(false),
      defaultVersion: settings.a2a.cardVersion,
      lastModifiedAtMs,
    }),
    extended({ version }) {
      if (extendedCard !== undefined) return extendedCard;
      throw new SekishoError(
        version === "1.0" ? "unsupported_operation" : "extended_card_not_configured",
      );
    },
  };
}

/** The package is CommonJS, although its types declare an ES module. */
const canonicalForm = canonicalize as unknown as (value: unknown) => string;

type SignCard = (card: AgentCard) => Promise<AgentCard>;

/**
 * Signs agent cards (A2A 1.0, section 8.4) with a JSON Web Signature over the canonical form (RFC 8785). Reads the key once. Rejects if it
 * cannot be read, and with a ConfigError if it is not a key of that algorithm.
 */
async function createSignCard(options: {
  signature: CardSignatureConfig;
  readSecret: (reference: SecretReference) => Promise<string>;
}): Promise<SignCard> {
  const { readSecret } = options;
  const { key, keyId, algorithm, jku } = options.signature;
  const pem = await readSecret(key);
  const header = { alg: algorithm, kid: keyId, typ: "JOSE", ...(jku && { jku }) };
  const privateKey = await importPKCS8(pem, algorithm).catch(refuse);

  function refuse(cause: unknown): never {
    const problem = `execution.a2a.signature.key: it must be a private key for ${algorithm}, in PEM (PKCS#8)`;
    throw new ConfigError("The configuration", [problem], { cause });
  }

  return async (card) => {
    const payload = new TextEncoder().encode(canonicalForm(card));
    const { protected: protectedHeader = "", signature } = await new FlattenedSign(payload)
      .setProtectedHeader(header)
      .sign(privateKey)
      .catch(refuse);
    return { ...card, signatures: [{ protected: protectedHeader, signature }] };
  };
}

/** The media types of the card. A client may send other types too: the agent decides what it accepts. */
const modes = ["text/plain", "application/json", "application/octet-stream"];

/** The extensions for `metadata`. None is required, which is the protocol's default and therefore left out. */
const extensions = [
  { uri: slackMessageKey, description: "In a message: the Slack message behind it." },
  {
    uri: questionKey,
    description: "In a status message: the options of a question. In the reply: the chosen option.",
  },
  {
    uri: taskKey,
    description:
      "In a task: the poll interval, the progress in percent, and why it failed. In its first message: its time limit.",
  },
];

/**
 * Leaves out empty values and optional defaults, so that all readers compute the same canonical form (section 8.4.1). `url` is where
 * requests go. `extended` adds the skills for authenticated callers.
 */
export function createCard(options: {
  a2a: A2aConfig;
  url: string;
  authenticator: AuthenticatorConfig;
  streaming: boolean;
  push: boolean;
  isExtended: boolean;
}): AgentCard {
  const { a2a, url, authenticator, streaming, push, isExtended } = options;
  const {
    name,
    description,
    version,
    provider,
    documentationUrl,
    iconUrl,
    tenant,
    extendedSkills = [],
  } = a2a;
  const common = { url, protocolBinding: "JSONRPC", ...(tenant && { tenant }) };
  return {
    name,
    description,
    supportedInterfaces: [
      { ...common, protocolVersion: "1.0" },
      { ...common, protocolVersion: "0.3" },
    ],
    ...(provider && { provider }),
    version,
    ...(documentationUrl && { documentationUrl }),
    capabilities: {
      streaming,
      pushNotifications: push,
      extensions,
      extendedAgentCard: extendedSkills.length > 0,
    },
    ...createSecurity(authenticator),
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: isExtended ? [...a2a.skills, ...extendedSkills] : a2a.skills,
    ...(iconUrl && { iconUrl }),
  };
}

type Security = Required<Pick<AgentCard, "securitySchemes" | "securityRequirements">>;

/**
 * Describes how callers authenticate. The card has no scheme for `none`, nor for `platform`, whose scheme only the platform knows. All
 * others use bearer tokens. An issuer with a discovery document is listed as an OpenID Connect scheme too.
 */
function createSecurity(authenticator: AuthenticatorConfig): Security | undefined {
  switch (authenticator.type) {
    case "none":
    case "platform":
      return undefined;
    case "bearer":
      return anyOf({ bearer: httpBearer("A shared token.") });
    case "jwt":
      return createIssuerSecurity(authenticator.issuers);
    case "web-identity":
      return createIssuerSecurity([authenticator]);
  }
}

type Issuer = { issuer: string; audience?: string | undefined; jwksUrl?: string | undefined };

/** An issuer whose keys have a configured URL may have no discovery document. */
function createIssuerSecurity(issuers: readonly Issuer[]): Security {
  const discoverySchemes = issuers
    .filter(({ jwksUrl }) => jwksUrl === undefined)
    .map((each, index) => {
      const openIdConnectUrl = `${each.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const description = `A token of ${describeIssuer(each)}, sent as a bearer token.`;
      return [
        index === 0 ? "openid" : `openid${index + 1}`,
        { openIdConnectSecurityScheme: { description, openIdConnectUrl } },
      ];
    });
  const sources = issuers.map(describeIssuer).join(", or of ");
  return anyOf({
    ...Object.fromEntries(discoverySchemes),
    bearer: httpBearer(`A token of ${sources}.`, "JWT"),
  });
}

/** Clients are not named, because they are who is admitted. */
function describeIssuer({ issuer, audience }: Issuer): string {
  return audience === undefined
    ? `${issuer} (an access token)`
    : `${issuer} for the audience ${audience}`;
}

function httpBearer(description: string, bearerFormat?: "JWT"): SecurityScheme {
  return {
    httpAuthSecurityScheme: {
      description,
      scheme: "Bearer",
      ...(bearerFormat && { bearerFormat }),
    },
  };
}

/** Each requirement has a scope or role, because verifiers drop empty lists from the canonical form, and the requirement with them. */
function anyOf(securitySchemes: Record<string, SecurityScheme>): Security {
  const securityRequirements = Object.entries(securitySchemes).map(([name, scheme]) => {
    return {
      schemes: {
        [name]: { list: ["openIdConnectSecurityScheme" in scheme ? "openid" : "caller"] },
      },
    };
  });
  return { securitySchemes, securityRequirements };
}

/** How long clients may cache a card (A2A 1.0, section 8.6). */
const maxAgeSeconds = 300;

/** `version` is the request's A2A-Version header or query. Answers a GET with 200 or 304. */
export type CardEndpoint = (request: {
  version: string | undefined;
  header: Exchange["header"];
}) => WholeResponse;

/**
 * A client that names 1.0 or later gets the card of 1.0, and one that names 0.3 the combined card. `defaultVersion` counts for clients that name
 * none. The combined card is not signed, because the signature covers the card of 1.0.
 */
export function createCardEndpoint(options: {
  card: AgentCard;
  defaultVersion: A2aVersion;
  lastModifiedAtMs: number;
}): CardEndpoint {
  const { card, defaultVersion, lastModifiedAtMs } = options;
  const pure = representation(card);
  const combinedRepresentation = representation(createCombinedCard(card));
  return ({ version, header }) => {
    const { body, etag } = isFirstOrLater(version ?? defaultVersion)
      ? pure
      : combinedRepresentation;
    const headers = {
      etag,
      "last-modified": new Date(lastModifiedAtMs).toUTCString(),
      "cache-control": `public, max-age=${maxAgeSeconds}`,
      vary: "A2A-Version",
    };
    const conditions = {
      ifNoneMatch: header("if-none-match"),
      ifModifiedSince: header("if-modified-since"),
    };
    if (isUnchanged({ etag, lastModifiedAtMs, ...conditions }))
      return { status: 304, headers, body: "" };
    const content = { "content-type": "application/json", "x-content-type-options": "nosniff" };
    return { status: 200, headers: { ...headers, ...content }, body };
  };
}

function representation(card: object): { body: string; etag: string } {
  const body = JSON.stringify(card);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

function isFirstOrLater(version: string): boolean {
  return /^\s*[1-9]/.test(version);
}

/** True if the client has the current representation (RFC 9110, section 13). An entity tag takes precedence over a date. `etag` is strong. */
function isUnchanged(request: {
  etag: string;
  lastModifiedAtMs: number;
  ifNoneMatch: string | undefined;
  ifModifiedSince: string | undefined;
}): boolean {
  const { etag, lastModifiedAtMs, ifNoneMatch, ifModifiedSince } = request;
  if (ifNoneMatch !== undefined) {
    if (ifNoneMatch.trim() === "*") return true;
    // If-None-Match uses the weak comparison, which ignores the prefix W/.
    return ifNoneMatch.match(/"[^"]*"/g)?.some((tag) => tag === etag) ?? false;
  }
  const sinceMs = Date.parse(ifModifiedSince ?? "");
  // HTTP dates have whole seconds.
  return Math.floor(lastModifiedAtMs / 1000) * 1000 <= sinceMs;
}

/** The cards as a host serves them. A request may wait for its card, because the address or the signing key can be unknown at the start. */
export type ServedCards = {
  endpoint(request: Parameters<CardEndpoint>[0]): WholeResponse | Promise<WholeResponse>;
  extended(request: Parameters<Cards["extended"]>[0]): AgentCard | Promise<AgentCard>;
};

export type LateCards = {
  cards: ServedCards;
  /** Creates the cards unless they exist. Rejects as `make` does; the next call tries again. */
  ready(): Promise<void>;
};

/**
 * A request for a card waits until the cards exist and starts their creation if necessary, because a Lambda function is frozen after its
 * answer. If they cannot be created, the answer asks the client to retry. `make` must settle in limited time.
 */
export function createLateCards({ make }: { make: () => Promise<Cards> }): LateCards {
  const load = async () => ({ value: await make(), keepMs: Number.POSITIVE_INFINITY });
  // Cards do not expire, so no clock is needed.
  const cachedCards = createCachedValue({ load, now: () => 0 });
  const readCards = async () => cachedCards.get();

  return {
    async ready() {
      await readCards();
    },
    cards: {
      async endpoint(request) {
        const cards = await readCards().catch(() => undefined);
        if (cards !== undefined) return cards.endpoint(request);
        return {
          status: 503,
          headers: { "retry-after": "1", "cache-control": "no-store" },
          body: "",
        };
      },
      async extended(request) {
        const cards = await readCards().catch((cause: unknown) => {
          throw new SekishoError("unavailable", { details: { retry_after_ms: 1000 }, cause });
        });
        return cards.extended(request);
      },
    },
  };
}
