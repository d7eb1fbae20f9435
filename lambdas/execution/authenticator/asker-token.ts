/** The token that says who asked: what a host takes, and why it refuses one. It loads no package, so that cold starts stay short. */
import { isAmbiguousOrTooDeep } from "@sekisho/runtime/repeated-keys.ts";
import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import type { JWTVerifyGetKey } from "jose";
import type { NamedPerson, ReceivedAsker } from "../received-asker.ts";

/** What is wrong with a request's token. docs/reference/logs-and-metrics.md says what to do about each. */
export type AskerProblem =
  | "missing"
  | "malformed"
  | "type"
  | "algorithm"
  | "key"
  | "signature"
  | "issuer"
  | "audience"
  | "client"
  | "expired"
  | "early"
  | "lifetime"
  | "claims"
  | "person"
  | "digest"
  | "params"
  | "replayed";

/** Holds nothing of the token. */
export class AskerRefusal extends Error {
  override name = "AskerRefusal";
  /** For log lines. */
  readonly code: string;

  constructor(problem: AskerProblem) {
    super(`The token of the person who asked is refused: ${problem}.`);
    this.code = `ASKER_${problem.toUpperCase()}`;
  }
}

/** A zone whose tokens the host takes. */
type TrustedZone = {
  issuer: string;
  jwksUrl?: string | undefined;
  /** The admitted values of `client_id`. Default: all of the issuer. */
  clients?: readonly string[] | undefined;
  algorithms: readonly ("RS256" | "ES256")[];
};

export type VerifierSettings = {
  /** `optional`: a task may come without a token, but not with a wrong one. */
  mode: "required" | "optional";
  audience: string;
  zones: readonly TrustedZone[];
};

export type AskerVerifier = {
  /** Rejects with an AskerRefusal, with `unavailable`, or with the error of keys that cannot be fetched. */
  verify(request: {
    token: string;
    body: Uint8Array;
    namedPerson: NamedPerson;
  }): Promise<ReceivedAsker | undefined>;
};

/** The keys of issuers that are not fetched, because their zone is on the same machine. */
export type LocalKeys = ReadonlyMap<string, JWTVerifyGetKey>;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a part of a token. Undefined for anything but a JSON object, and for a repeated key, which two parsers might read differently. */
export function decodePart(part = ""): Record<string, unknown> | undefined {
  try {
    const json = strictUtf8.decode(Buffer.from(part, "base64url"));
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) && !isAmbiguousOrTooDeep({ json, value }) ? value : undefined;
  } catch {
    return undefined;
  }
}
