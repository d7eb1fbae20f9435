/** The kinds of key that the algorithms of the asker's tokens take (RFC 7518, sections 3.3 and 3.4). */
import type { KeyObject } from "node:crypto";
import type { AskerAlgorithm } from "./asker.ts";

/** False for a key with which verifiers would refuse each signature. */
export function isKeyOf(options: { key: KeyObject; algorithm: AskerAlgorithm }): boolean {
  const { key, algorithm } = options;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  return algorithm === "RS256"
    ? type === "rsa" && (details.modulusLength ?? 0) >= 2048
    : type === "ec" && details.namedCurve === "prime256v1";
}
