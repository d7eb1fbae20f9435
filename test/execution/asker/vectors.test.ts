/** The host's verifier gets the vectors of the token that says who asked, as each verifier of the examples does. */
import { describe, expect, it } from "@jest/globals";
import { AskerRefusal } from "@sekisho/execution/authenticator/asker-token.ts";
import { createAskerVerifier } from "@sekisho/execution/authenticator/asker-verifier.ts";
import { createLocalJWKSet } from "jose";
import { listFlips, pickValid } from "../../asker/vectors/flips.ts";
import { createVectorFile, type Vector } from "../../asker/vectors/vectors.ts";

const { settings, vectors } = createVectorFile();
const { issuer, audience, zones: clients, jwks } = settings;
const localKeys = new Map([[issuer, createLocalJWKSet(jwks)]]);

/** What the log says of each verdict of the vectors. */
const codes: Readonly<Record<string, readonly string[]>> = {
  malformed: ["MALFORMED"],
  header: ["KEY", "TYPE", "ALGORITHM", "MALFORMED"],
  signature: ["SIGNATURE", "MALFORMED"],
  claims: ["ISSUER", "AUDIENCE", "CLIENT", "CLAIMS", "EXPIRED"],
  time: ["EXPIRED", "EARLY", "LIFETIME", "CLAIMS"],
  body: ["DIGEST", "CLAIMS"],
  replayed: ["REPLAYED"],
};

function openVerifier() {
  let nowMs = 0;
  const usedTokens = new Set<string>();
  const algorithms = ["RS256", "ES256"] as const;
  const verifier = createAskerVerifier({
    settings: { mode: "optional", audience, zones: [{ issuer, clients, algorithms }] },
    async claimToken({ jti }) {
      if (usedTokens.has(jti)) return false;
      usedTokens.add(jti);
      return true;
    },
    localKeys,
    now: () => nowMs,
  });
  return async ({ token, body, now }: Pick<Vector, "token" | "body" | "now">) => {
    nowMs = now * 1000;
    try {
      await verifier.verify({ token, body: Buffer.from(body, "base64"), namedPerson: {} });
      return "valid";
    } catch (error) {
      if (error instanceof AskerRefusal) return error.code.replace("ASKER_", "");
      throw error;
    }
  };
}

/** The host verifies the tokens of requests that bring a person's word only. */
const polls = /"(get_task|cancel_task|feedback|GetTask)"/;
const own = vectors.filter(
  ({ expected, body }) =>
    expected !== "valid" || !polls.test(Buffer.from(body, "base64").toString()),
);

it.each(own.map((vector) => [vector.expected, vector.name, vector] as const))(
  "gives the verdict %s: %s",
  async (expected, _name, vector) => {
    const judge = openVerifier();
    if (vector.first) await judge(vector.first);
    const verdict = await judge(vector);
    if (expected === "valid") expect(verdict).toBe("valid");
    else expect(codes[expected]).toContain(verdict);
  },
);

describe.each(pickValid())("$name", (valid) => {
  it("becomes invalid by any one flipped bit, and counts as used by none", async () => {
    const judge = openVerifier();
    const accepted: string[] = [];
    for (const { token, where } of listFlips(valid.token))
      if ((await judge({ ...valid, token })) === "valid") accepted.push(where);
    expect(accepted).toEqual([]);
    expect(await judge(valid)).toBe("valid");
  });
});
