/** The host's agent cards: made, and signed where that is configured, once at the start. */

import canonicalize from "canonicalize";
import { FlattenedSign, importPKCS8 } from "jose";
import type { AgentCard } from "../../../contracts/a2a/agent-card.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { A2aConfig, CardSignatureConfig } from "../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import { ConfigError } from "../../shared/config/load.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import { createCard } from "./card.ts";
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

// Signs agent cards (A2A 1.0, section 8.4): a JSON Web Signature over the card's canonical form (RFC 8785).

/** The package is CommonJS, although its types say otherwise. */
const canonicalForm = canonicalize as unknown as (value: unknown) => string;

export type SignCard = (card: AgentCard) => Promise<AgentCard>;

/** The key is read once. Rejects where it cannot be read, and with a ConfigError where it is no key of that algorithm. */
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
