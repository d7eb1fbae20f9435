/**
 * Keeps secrets out of the answers to an operator, who may lack the permission to read them. A peer may repeat the credential that it
 * received. This does not stop a peer that encodes the credential on purpose, but such a peer could leak it in any case.
 */
import type { PeerDescription, Transport } from "../transport/transport.ts";

export type Redaction = {
  add(value: string): void;
  /** Headers with a credential, such as `authorization`. */
  addHeaders(headers: Readonly<Record<string, string>>): void;
  text(text: string): string;
};

/** Shorter values are not redacted: that would make texts unreadable, and secrets are longer. */
const minSecretLength = 6;

export function createRedaction(): Redaction {
  const values = new Set<string>();
  function add(value: string): void {
    for (const each of [value, value.trim()]) if (each.length >= minSecretLength) values.add(each);
  }
  return {
    add,
    addHeaders(headers) {
      for (const value of Object.values(headers)) {
        add(value);
        // Skips the scheme, such as `Bearer`, and splits the fields of a signature.
        const parts = value.split(/[\s,]+/).slice(1);
        for (const part of parts) add(part.replace(/^(Credential|SignedHeaders|Signature)=/, ""));
      }
    },
    text(text) {
      // Longest first, because one value may be part of another.
      const sortedValues = [...values].sort((one, other) => other.length - one.length);
      return sortedValues.reduce(
        (redactedText, value) => redactedText.replaceAll(value, "[redacted]"),
        text,
      );
    },
  };
}

/** Redacts the peer's responses before anything shortens them. Otherwise, the beginning of a cut secret would stay visible. */
export function redactTransport({
  transport,
  redaction,
}: {
  transport: Transport;
  redaction: Redaction;
}): Transport {
  const { describe } = transport;
  return {
    ...transport,
    async send(request) {
      const response = await transport.send(request);
      return { ...response, body: redactJson({ body: response.body, redaction }) };
    },
    ...(describe && {
      async describe(request): Promise<PeerDescription> {
        const { name, url, version } = await describe(request);
        return {
          name: redaction.text(name),
          url: redaction.text(url),
          version: redaction.text(version),
        };
      },
    }),
  };
}

/** A body that is not JSON stays unchanged, because it is never shown. */
function redactJson({ body, redaction }: { body: Uint8Array; redaction: Redaction }): Uint8Array {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    const redactedJson = JSON.stringify(value, (_key, field: unknown) =>
      typeof field === "string" ? redaction.text(field) : field,
    );
    return Buffer.from(redactedJson);
  } catch {
    return body;
  }
}
