/** A Verification zone that tells who asked: its tokens, and the settings and keys of a host that takes them. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { askerHeader } from "@sekisho/contracts/asker.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { parseUsedToken, type UsedToken } from "@sekisho/execution/tasks/used-token.ts";
import type { AskerPerson, AskerSigner } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { createLocalJWKSet } from "jose";
import { createMemoryTaskStore, type MemoryTaskStore } from "../world/records.ts";

export const issuer = "https://asker.example";
export const clientId = "arn:aws:iam::111111111111:role/verification";
const audience = "sekisho";

export type SentToken = {
  /** A member of the workspace T1. Undefined if no person is behind the call. */
  user?: string | undefined;
  person?: Partial<AskerPerson>;
  aud?: string;
  subject?: "slack" | "opaque";
  body: string;
  nowMs?: number;
  isOwnWord?: boolean;
  iss?: string;
};

type AskerOptions = NonNullable<HostOptions["asker"]>;

export function createAskerZone() {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" };
  const signer: AskerSigner = {
    algorithm: "ES256",
    async sign({ textOf }) {
      const text = textOf("k");
      const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
      return { text, signature };
    },
  };
  const usedTokens: MemoryTaskStore<UsedToken> = createMemoryTaskStore({ parse: parseUsedToken });

  async function token({ user, person, body, ...options }: SentToken): Promise<string> {
    const { aud = audience, nowMs = Date.now(), iss = issuer, isOwnWord = true } = options;
    const { subject = "slack" } = options;
    const now = () => nowMs;
    const tokens = createAskerTokens({ issuer: iss, clientId, signer, now });
    const ids = { team: "T1", channel: "C1", thread: "1.1" };
    return tokens.issue({
      to: { audience: aud, claims: ["team", "user", "channel", "thread", "email"], subject },
      asker:
        user === undefined
          ? undefined
          : {
              person: { ...ids, user, ...person },
              requestId: randomUUID(),
              isOwnWord,
            },
      body: Buffer.from(body),
      signal: new AbortController().signal,
    });
  }

  return {
    jwk,
    token,
    usedTokens,
    /** The option of a host. All hosts with these share the store of used tokens. */
    asker(
      mode: "required" | "optional" = "required",
      options: Partial<AskerOptions> = {},
    ): AskerOptions {
      const zones = [{ issuer, algorithms: ["RS256", "ES256"] as const }];
      const localKeys = new Map([[issuer, createLocalJWKSet({ keys: [jwk] })]]);
      return { settings: { mode, audience, zones }, usedTokens, localKeys, ...options };
    },
    header: async (request: SentToken) => ({ [askerHeader]: await token(request) }),
  };
}
