/** Makes the tokens that say who asked, for an endpoint that verifies them. */
import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  randomUUID,
  sign,
} from "node:crypto";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import type { AskerAlgorithm, AskerSigner } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { Sender } from "./sender.ts";

/** The zone that the run plays. The endpoint must trust its issuer, and know the public half of `key` by its `kid`. */
export type AskerZone = {
  issuer: string;
  audience: string;
  /** An RSA key (RS256), or one of the curve P-256 (ES256). Its `kid` is its thumbprint (RFC 7638). */
  key: KeyObject;
};

/** The defect of a token that a case sends. */
export type TokenFault = Partial<AskerZone> & { nowMs?: number };

export type TestAsker = {
  /** A token of the one person of the run, for the request with this body. */
  issue(request: { body: string | Uint8Array; fault?: TokenFault }): Promise<string>;
};

/** The `client_id`, which is that of a zone on one machine. */
const clientId = "sekisho";
const person = { team: "T0CONFORM", user: "U0CONFORM" };

export function createTestAsker(zone: AskerZone): TestAsker {
  const kid = toThumbprint(zone.key);
  return {
    async issue({ body, fault = {} }) {
      const { issuer, audience, key } = { ...zone, ...fault };
      const now = () => fault.nowMs ?? Date.now();
      const tokens = createAskerTokens({ issuer, clientId, signer: createSigner(key, kid), now });
      const bytes = Buffer.from(body);
      return tokens.issue({
        to: { audience, claims: [], subject: "slack" },
        asker: { person, requestId: readId(bytes), isOwnWord: true },
        body: bytes,
        signal: new AbortController().signal,
      });
    },
  };
}

/** Adds a new token to each request without one, as the Verification zone does with every attempt. */
export function withAskerTokens(sender: Sender, zone: AskerZone): Sender {
  const { issue } = createTestAsker(zone);
  const start = readStart(zone);
  return {
    ...sender,
    secrets: () => [...sender.secrets(), start],
    sentTokens: () => [...sender.sentTokens(), start],
    async send(request) {
      const { headers = {}, body } = request;
      if (body.byteLength === 0 || askerHeader in headers) return sender.send(request);
      const token = await issue({ body });
      return sender.send({ ...request, headers: { ...headers, [askerHeader]: token } });
    },
  };
}

/** Undefined for a text that is no private key of a kind that verifiers take. */
export function readAskerKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    const isUsable =
      key.asymmetricKeyType === "rsa" ? modulusLength >= 2048 : namedCurve === "prime256v1";
    return isUsable ? key : undefined;
  } catch {
    return undefined;
  }
}

/** `key` may be another one than `kid` says. */
function createSigner(key: KeyObject, kid: string): AskerSigner {
  return {
    algorithm: algorithmOf(key),
    async sign({ textOf }) {
      const text = textOf(kid);
      // The form of RFC 7518, section 3.4. RSA ignores it.
      const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
      return { text, signature };
    },
  };
}

function algorithmOf(key: KeyObject): AskerAlgorithm {
  return key.asymmetricKeyType === "rsa" ? "RS256" : "ES256";
}

/** RFC 7638, section 3: the required members in the order of their names. */
function toThumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = createPublicKey(key).export({ format: "jwk" });
  return hash(
    "sha256",
    JSON.stringify(kty === "RSA" ? { e, kty, n } : { crv, kty, x, y }),
    "base64url",
  );
}

/** The claim `request_id` is the id of the request, which most cases send. */
function readId(body: Buffer): string {
  const json = parseJson(body.toString());
  return isJsonObject(json) && typeof json.id === "string" && json.id !== ""
    ? json.id
    : randomUUID();
}

/** With what all tokens of the zone begin: the header, and the first claim as far as its letters are the same in base64. */
function readStart({ issuer, key }: AskerZone): string {
  const header = { alg: algorithmOf(key), kid: toThumbprint(key), typ: "at+jwt" };
  const claim = Buffer.from(JSON.stringify({ iss: issuer }).slice(0, -1));
  const firstClaim = claim.subarray(0, claim.length - (claim.length % 3));
  return [Buffer.from(JSON.stringify(header)), firstClaim]
    .map((part) => part.toString("base64url"))
    .join(".");
}
