/** Signs agent cards (A2A 1.0, section 8.4): a JSON Web Signature over the card's canonical form (RFC 8785). */
import canonicalize from "canonicalize";
import { FlattenedSign, importPKCS8 } from "jose";
import type { AgentCard } from "../../../../../contracts/a2a/agent-card.ts";
import type { CardSignatureConfig } from "../../../../shared/config/a2a-schema.ts";
import { ConfigError } from "../../../../shared/config/load.ts";
import type { SecretReference } from "../../../../shared/config/values.ts";

/** The package is CommonJS, although its types say otherwise. */
const canonicalForm = canonicalize as unknown as (value: unknown) => string;

export type SignCard = (card: AgentCard) => Promise<AgentCard>;

/** The key is read once. Rejects where it cannot be read, and with a ConfigError where it is no key of that algorithm. */
export async function createSignCard({
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
