/** Signs the asker's tokens with asymmetric keys of AWS KMS, which never leave it. */
import { hash } from "node:crypto";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { AskerAlgorithm, AskerSigner } from "./asker.ts";
import { type AskerKey, findCurrentKey } from "./current-key.ts";

/** The names of the algorithms at KMS (https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html). */
const kmsAlgorithms = {
  RS256: "RSASSA_PKCS1_V1_5_SHA_256",
  ES256: "ECDSA_SHA_256",
} as const;

/** `arn` is that of a KMS key. Its last part is the `kid`. */
export type KmsKey = AskerKey & { arn: string };

/** The operation Sign of KMS. Rejects with a SekishoError whose certainty is `undelivered`. */
export type KmsSign = (input: object, limits: { signal: AbortSignal }) => Promise<object>;

export function createKmsSigner(options: {
  sign: KmsSign;
  algorithm: AskerAlgorithm;
  keys: readonly KmsKey[];
  now?: () => number;
}): AskerSigner {
  const { algorithm, keys, now = Date.now } = options;
  return {
    algorithm,
    async sign({ textOf, signal }) {
      const key = findCurrentKey(keys, now());
      if (key === undefined) throw new SekishoError("internal", { certainty: "undelivered" });
      const text = textOf(toKid(key.arn));
      const input = {
        KeyId: key.arn,
        // A digest, because KMS takes at most 4,096 bytes of a message.
        Message: hash("sha256", text, "base64"),
        MessageType: "DIGEST",
        SigningAlgorithm: kmsAlgorithms[algorithm],
      };
      const { Signature } = Object(await options.sign(input, { signal }));
      const signature = Buffer.from(String(Signature), "base64");
      return { text, signature: algorithm === "ES256" ? fromDer(signature) : signature };
    },
  };
}

function toKid(arn: string): string {
  return arn.slice(arn.lastIndexOf("/") + 1);
}

/**
 * Takes the two numbers of an ECDSA signature out of their DER encoding (RFC 3279, section 2.2.3), as RFC 7518, section 3.4, wants them:
 * 32 bytes each.
 */
function fromDer(der: Uint8Array): Uint8Array {
  const rLength = der[3] ?? 0;
  const numbers = [der.subarray(4, 4 + rLength), der.subarray(6 + rLength)];
  return Buffer.concat(
    numbers.map((number) => Buffer.concat([Buffer.alloc(32), number]).subarray(-32)),
  );
}
