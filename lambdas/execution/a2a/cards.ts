/** The host's agent cards of A2A 1.0 (section 4.4.1): made of the configuration, and signed where that is configured, once at the start. */
import canonicalize from "canonicalize";
import { FlattenedSign, importPKCS8 } from "jose";
import type { AgentCard, SecurityScheme } from "../../../contracts/a2a/card.ts";
import { questionKey, slackMessageKey, taskKey } from "../../../contracts/a2a/extension.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { A2aConfig, CardSignatureConfig } from "../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import { ConfigError } from "../../shared/config/load.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import { type CardEndpoint, createCardEndpoint } from "./card-endpoint.ts";

export type Cards = {
  /** Whoever asks may read the public card. */
  endpoint: CardEndpoint;
  /**
   * The result of GetExtendedAgentCard in the shape of 1.0, for callers who are let in. Where there is none:
   * `unsupported_operation` by 1.0 (section 3.3.4), `extended_card_not_configured` by 0.3 (section 8).
   */
  extended(request: { version: "1.0" | "0.3" }): AgentCard;
};

/** `url` is where clients send their requests. Rejects where a configured key cannot be read or cannot sign. */
export async function createCards({
  readSecret,
  lastModifiedAtMs = Date.now(),
  ...settings
}: {
  a2a: A2aConfig;
  url: string;
  authenticator: AuthenticatorConfig;
  streaming: boolean;
  push: boolean;
  readSecret: (reference: SecretReference) => Promise<string>;
  lastModifiedAtMs?: number;
}): Promise<Cards> {
  const { signature, extendedSkills } = settings.a2a;
  const sign = signature && (await createSignCard({ signature, readSecret }));
  const make = async (extended: boolean) => {
    const card = createCard({ ...settings, extended });
    return sign === undefined ? card : sign(card);
  };
  const extendedCard = extendedSkills && (await make(true));
  return {
    endpoint: createCardEndpoint({ card: await make(false), lastModifiedAtMs }),
    extended({ version }) {
      if (extendedCard !== undefined) return extendedCard;
      throw new SekishoError(version === "1.0" ? "unsupported_operation" : "extended_card_not_configured");
    },
  };
}

/** The package is CommonJS, although its types say otherwise. */
const canonicalForm = canonicalize as unknown as (value: unknown) => string;

type SignCard = (card: AgentCard) => Promise<AgentCard>;

/**
 * Signs agent cards (A2A 1.0, section 8.4): a JSON Web Signature over the card's canonical form (RFC 8785). The key is read once.
 * Rejects where it cannot be read, and with a ConfigError where it is no key of that algorithm.
 */
async function createSignCard({
  signature: { key, keyId, algorithm, jku },
  readSecret,
}: {
  signature: CardSignatureConfig;
  readSecret: (reference: SecretReference) => Promise<string>;
}): Promise<SignCard> {
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

/**
 * Texts and files of any kind come in; what agents make goes out as text, JSON and files. A client may send another media
 * type all the same: the agent decides.
 */
const modes = ["text/plain", "application/json", "application/octet-stream"];

/** What `metadata` may hold beside the protocol. None is required: that is the default, which a card leaves out. */
const extensions = [
  { uri: slackMessageKey, description: "In a message: the Slack message that it is made of." },
  { uri: questionKey, description: "In a status message: the options of a question; in its answer: the chosen one." },
  {
    uri: taskKey,
    description:
      "In a task: when to look again, how far it is, why it failed. In its first message: how much time it has.",
  },
];

/**
 * Nothing in it is empty or a
 * default of the protocol that need not be there, so that all readers come to the same canonical form (section 8.4.1). `url` is where
 * requests go; `extended`: the card for callers who have proven who they are.
 */
export function createCard({
  a2a,
  url,
  authenticator,
  streaming,
  push,
  extended,
}: {
  a2a: A2aConfig;
  url: string;
  authenticator: AuthenticatorConfig;
  streaming: boolean;
  push: boolean;
  extended: boolean;
}): AgentCard {
  const { name, description, version, provider, documentationUrl, iconUrl, tenant, extendedSkills = [] } = a2a;
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
    skills: extended ? [...a2a.skills, ...extendedSkills] : a2a.skills,
    ...(iconUrl && { iconUrl }),
  };
}

type Security = Required<Pick<AgentCard, "securitySchemes" | "securityRequirements">>;

/**
 * Nothing for `none`, where nothing is asked, and for `platform`, where only the platform knows what it asks. Tokens are
 * always sent as bearer tokens; where their issuers have a discovery document, the card says from whom they come.
 */
function createSecurity(authenticator: AuthenticatorConfig): Security | undefined {
  switch (authenticator.type) {
    case "none":
    case "platform":
      return undefined;
    case "bearer":
      return anyOf({ bearer: httpBearer("A token that both sides know.") });
    case "jwt":
      return ofIssuers(authenticator.issuers);
    case "web-identity":
      return ofIssuers([authenticator]);
  }
}

type Issuer = { issuer: string; audience: string; jwksUrl?: string | undefined };

/** An issuer whose keys are named may have no discovery document. */
function ofIssuers(issuers: readonly Issuer[]): Security {
  const discovered = issuers
    .filter(({ jwksUrl }) => jwksUrl === undefined)
    .map(({ issuer, audience }, index) => {
      const openIdConnectUrl = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const description = `A token of ${issuer} for the audience ${audience}, sent as a bearer token.`;
      return [
        index === 0 ? "openid" : `openid${index + 1}`,
        { openIdConnectSecurityScheme: { description, openIdConnectUrl } },
      ];
    });
  const sources = issuers.map(({ issuer, audience }) => `${issuer} for the audience ${audience}`).join(", or of ");
  return anyOf({ ...Object.fromEntries(discovered), bearer: httpBearer(`A token of ${sources}.`, "JWT") });
}

function httpBearer(description: string, bearerFormat?: "JWT"): SecurityScheme {
  return { httpAuthSecurityScheme: { description, scheme: "Bearer", ...(bearerFormat && { bearerFormat }) } };
}

/** A scope or role each, since verifiers drop empty lists from the canonical form, and the whole requirement with them. */
function anyOf(securitySchemes: Record<string, SecurityScheme>): Security {
  const securityRequirements = Object.entries(securitySchemes).map(([name, scheme]) => {
    return { schemes: { [name]: { list: ["openIdConnectSecurityScheme" in scheme ? "openid" : "caller"] } } };
  });
  return { securitySchemes, securityRequirements };
}
