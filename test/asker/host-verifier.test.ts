/** The host's own verifier gets the vectors of the verifiers in other languages. It verifies a person's words only: polls bring none. */
import { describe, expect, it } from "@jest/globals";
import { AskerRefusal } from "@sekisho/execution/authenticator/asker-token.ts";
import { createAskerVerifier } from "@sekisho/execution/authenticator/asker-verifier.ts";
import { createLocalJWKSet, decodeJwt } from "jose";
import { listFlips, pickValid } from "./vectors/flips.ts";
import { createVectorFile, type Vector } from "./vectors/vectors.ts";
import { issueZoneTokens } from "./zone-tokens.ts";

const { settings, vectors } = createVectorFile();
const { issuer, audience, zones: clients, jwks } = settings;

function openVerifier() {
  let nowSeconds = 0;
  const used = new Set<string>();
  const verifier = createAskerVerifier({
    settings: {
      ...{ mode: "required", audience },
      zones: [{ issuer, clients, algorithms: ["RS256", "ES256"] }],
    },
    localKeys: new Map([[issuer, createLocalJWKSet(jwks)]]),
    claimToken: async ({ jti }) => {
      const isFirst = !used.has(jti);
      used.add(jti);
      return isFirst;
    },
    now: () => nowSeconds * 1000,
  });
  /** True if it accepts. Any error but a refusal is thrown. */
  return async ({ token, body, now }: Pick<Vector, "token" | "body" | "now">) => {
    nowSeconds = now;
    const request = { token, body: Buffer.from(body, "base64"), namedPerson: {} };
    try {
      return (await verifier.verify(request)) !== undefined;
    } catch (error) {
      if (error instanceof AskerRefusal) return false;
      throw error;
    }
  };
}

/** A token that is for one request of a person. */
function isWord({ token }: Vector): boolean {
  const { sub, client_id, body_sha256 } = decodeJwt(token);
  return typeof body_sha256 === "string" && sub !== client_id;
}

it.each(vectors.map((vector) => [vector.expected, vector.name, vector] as const))(
  "decides like the verifiers in other languages, %s: %s",
  async (expected, _name, vector) => {
    const accepts = openVerifier();
    if (vector.first) await accepts(vector.first);
    expect(await accepts(vector)).toBe(expected === "valid" && isWord(vector));
  },
);

it("accepts each word of a person that the zone signs, and no poll", async () => {
  for (const vector of await issueZoneTokens())
    expect([vector.name, await openVerifier()(vector)]).toEqual([vector.name, isWord(vector)]);
});

describe.each(pickValid())("$name", (valid) => {
  it("becomes invalid for the host by any one flipped bit", async () => {
    const accepts = openVerifier();
    const accepted: string[] = [];
    for (const { token, where } of listFlips(valid.token))
      if (await accepts({ ...valid, token })) accepted.push(where);
    expect(accepted).toEqual([]);
    expect(await accepts(valid)).toBe(true);
  });
});
