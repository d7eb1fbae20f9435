/** Signs tokens with the test keys. The same input gives the same bytes, so that the file of vectors can be made anew. */
import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign,
} from "node:crypto";
import testKeys from "./test-keys.json" with { type: "json" };

/** The zone has the keys `test-…`. Those of the attacker are not published. */
export type KeyName = keyof typeof testKeys;

export function publicJwk(name: KeyName): Record<string, string> {
  const {
    d: _d,
    p: _p,
    q: _q,
    dp: _dp,
    dq: _dq,
    qi: _qi,
    ...jwk
  }: Record<string, string> = testKeys[name];
  return { ...jwk, kid: name, use: "sig" };
}

/** The PEM of the public key, which is no secret: a verifier must not take it for one. */
function publicPem(name: KeyName): string {
  const key = createPublicKey({ key: publicJwk(name), format: "jwk" });
  return key.export({ type: "spki", format: "pem" }).toString();
}

function privateKey(name: KeyName) {
  return createPrivateKey({ key: testKeys[name], format: "jwk" });
}

export function signRs256(name: KeyName, input: string): Buffer {
  return sign("sha256", Buffer.from(input), privateKey(name));
}

export function signHs256WithPublicKey(name: KeyName, input: string): Buffer {
  return createHmac("sha256", publicPem(name)).update(input).digest();
}

/** The order of the group of P-256. */
export const groupOrder = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** ECDSA with a nonce made of the key and the message, since a random one would give other bytes each time. For test keys only. */
export function signEs256(name: "test-ec" | "attacker-ec", input: string): Buffer {
  const d = Buffer.from(testKeys[name].d, "base64url");
  const digest = createHash("sha256").update(input).digest();
  const nonce =
    1n + (toInteger(createHmac("sha512", d).update(digest).digest()) % (groupOrder - 1n));
  const point = createECDH("prime256v1");
  point.setPrivateKey(toBytes(nonce));
  const r = toInteger(point.getPublicKey().subarray(1, 33)) % groupOrder;
  const s = (invert(nonce) * (toInteger(digest) + r * toInteger(d))) % groupOrder;
  return Buffer.concat([toBytes(r), toBytes(s)]);
}

/** Another valid signature of the same text, which everybody can make. */
export function negateS(signature: Buffer): Buffer {
  const s = groupOrder - toInteger(signature.subarray(32));
  return Buffer.concat([signature.subarray(0, 32), toBytes(s)]);
}

/** The form of KMS and of most libraries for certificates: a SEQUENCE of two INTEGERs. JOSE wants the 64 bytes. */
export function toDer(signature: Buffer): Buffer {
  const integers = [signature.subarray(0, 32), signature.subarray(32)].map((half) => {
    const bytes = toInteger(half).toString(16).padStart(2, "0");
    const even = Buffer.from(bytes.length % 2 === 0 ? bytes : `0${bytes}`, "hex");
    const value = (even[0] ?? 0) < 0x80 ? even : Buffer.concat([Buffer.of(0), even]);
    return Buffer.concat([Buffer.of(0x02, value.length), value]);
  });
  const content = Buffer.concat(integers);
  return Buffer.concat([Buffer.of(0x30, content.length), content]);
}

function toInteger(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex")}`);
}

export function toBytes(integer: bigint): Buffer {
  return Buffer.from(integer.toString(16).padStart(64, "0"), "hex");
}

/** The inverse modulo the order of the group, which is prime: Fermat's little theorem. */
function invert(value: bigint): bigint {
  let [result, base] = [1n, value % groupOrder];
  for (let exponent = groupOrder - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % groupOrder;
    base = (base * base) % groupOrder;
  }
  return result;
}
