/** KMS, as far as the asker's tokens use it: asymmetric keys that sign, and their public halves. As strict as AWS documents it. */
import {
  constants,
  createECDH,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  randomBytes,
} from "node:crypto";
import { json, jsonError } from "./json-services-wire.ts";

type KeySpec = "RSA_2048" | "ECC_NIST_P256";
type KeyState = "Enabled" | "Disabled" | "PendingDeletion";
export type EmulatedKey = {
  arn: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
  spec: KeySpec;
  state: KeyState;
};

const algorithms: Record<KeySpec, readonly string[]> = {
  RSA_2048: ["RSASSA_PKCS1_V1_5_SHA_256", "RSASSA_PSS_SHA_256"],
  ECC_NIST_P256: ["ECDSA_SHA_256"],
};
const maxMessageBytes = 4096;
const region = "eu-central-1";

/** DigestInfo of SHA-256 (RFC 8017, section 9.2, note 1). */
const digestInfo = Buffer.from("3031300d060960864801650304020105000420", "hex");

export function createKms({ account }: { account: string }) {
  const keys = new Map<string, EmulatedKey>();
  const find = (id: unknown) =>
    keys.get(String(id)) ?? [...keys.values()].find(({ arn }) => arn === id);
  const refuse = (name: string, message = "refused") => jsonError({ status: 400, name, message });

  function problemOf(key: EmulatedKey | undefined, id: unknown): Response | undefined {
    if (key === undefined) return refuse("NotFoundException", `Key ${String(id)} does not exist`);
    if (key.state === "Disabled") return refuse("DisabledException", `${key.arn} is disabled.`);
    if (key.state === "PendingDeletion")
      return refuse("KMSInvalidStateException", `${key.arn} is pending deletion.`);
    return undefined;
  }

  return {
    /** By alias. */
    keys,
    addKey(alias: string, spec: KeySpec = "RSA_2048"): EmulatedKey {
      const pair =
        spec === "RSA_2048"
          ? generateKeyPairSync("rsa", { modulusLength: 2048 })
          : generateKeyPairSync("ec", { namedCurve: "P-256" });
      const id = `00000000-0000-4000-8000-${String(keys.size + 1).padStart(12, "0")}`;
      const key: EmulatedKey = {
        ...{ arn: `arn:aws:kms:${region}:${account}:key/${id}`, ...pair, spec },
        state: "Enabled",
      };
      keys.set(alias, key);
      return key;
    },
    handle(action: string, input: Record<string, unknown>): Response {
      const key = find(input.KeyId);
      const problem = problemOf(key, input.KeyId);
      if (problem !== undefined || key === undefined) return problem ?? refuse("NotFoundException");
      if (action === "GetPublicKey")
        return json({
          ...{ KeyId: key.arn, KeySpec: key.spec, KeyUsage: "SIGN_VERIFY" },
          SigningAlgorithms: algorithms[key.spec],
          PublicKey: key.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
        });
      if (action !== "Sign") return refuse("UnknownOperationException", action);
      const { Message, MessageType = "RAW", SigningAlgorithm } = input;
      if (!algorithms[key.spec].includes(String(SigningAlgorithm)))
        return refuse("InvalidKeyUsageException", "The algorithm does not fit the key.");
      const message = Buffer.from(String(Message), "base64");
      if (message.byteLength === 0 || message.byteLength > maxMessageBytes)
        return refuse("ValidationException", "The message has a length that is not allowed.");
      if (MessageType === "DIGEST" && message.byteLength !== 32)
        return refuse("ValidationException", "Digest is invalid length for algorithm.");
      const digest =
        MessageType === "DIGEST" ? message : createHash("sha256").update(message).digest();
      const Signature = signDigest(key, digest).toString("base64");
      return json({ KeyId: key.arn, Signature, SigningAlgorithm });
    },
  };
}

/** Node signs texts only, so the arithmetic of a digest is here. */
function signDigest({ spec, privateKey: key }: EmulatedKey, digest: Buffer): Buffer {
  if (spec === "ECC_NIST_P256") return signEcdsa(key, digest);
  const padding = constants.RSA_PKCS1_PADDING;
  return privateEncrypt({ key, padding }, Buffer.concat([digestInfo, digest]));
}

/** The order of P-256 (FIPS 186-5 and SP 800-186). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** ECDSA (FIPS 186-5, section 6.4.1), in the DER encoding of RFC 3279, section 2.2.3. */
function signEcdsa(key: KeyObject, digest: Buffer): Buffer {
  const d = toNumber(Buffer.from(String(key.export({ format: "jwk" }).d), "base64url"));
  const k = toNumber(randomBytes(32)) % order;
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(toBytes(k));
  const r = toNumber(curve.getPublicKey().subarray(1, 33)) % order;
  const s = (inverse(k) * ((toNumber(digest) + r * d) % order)) % order;
  const numbers = Buffer.concat([r, s].map((number) => toDer(toBytes(number))));
  return Buffer.concat([Buffer.from([0x30, numbers.byteLength]), numbers]);
}

/** By Fermat's little theorem, because the order is a prime. */
function inverse(number: bigint): bigint {
  let result = 1n;
  let base = number;
  for (let exponent = order - 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % order;
    base = (base * base) % order;
  }
  return result;
}

function toDer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = bytes.subarray(first);
  const value = (short[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), short]) : short;
  return Buffer.concat([Buffer.from([0x02, value.byteLength]), value]);
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

function toBytes(number: bigint): Buffer {
  return Buffer.from(number.toString(16).padStart(64, "0"), "hex");
}
