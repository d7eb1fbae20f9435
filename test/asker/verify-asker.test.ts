/** The verifier in TypeScript, which is also run by test/examples/verify-asker.test.ts as a process. */
import { describe, expect, it } from "@jest/globals";
import { createLocalJWKSet } from "jose";
import { Refused, type Settings, verify } from "../../examples/verify-asker/verify-asker.ts";
import { listFlips, pickValid } from "./vectors/flips.ts";
import { createVectorFile, type Vector } from "./vectors/vectors.ts";
import { issueZoneTokens } from "./zone-tokens.ts";

const { settings, vectors } = createVectorFile();
const { tolerance_seconds: toleranceSeconds, jwks, ...names } = settings;

function createSettings(): Settings {
  return { ...names, toleranceSeconds, keys: createLocalJWKSet(jwks), usedIds: new Map() };
}

async function verdictOf(
  { token, body, now }: Pick<Vector, "token" | "body" | "now">,
  own: Settings,
) {
  try {
    await verify({ token, body: Buffer.from(body, "base64") }, own, now);
    return "valid";
  } catch (error) {
    if (error instanceof Refused) return error.message;
    throw error;
  }
}

it.each(vectors.map((vector) => [vector.expected, vector.name, vector] as const))(
  "gives the verdict %s: %s",
  async (expected, _name, vector) => {
    const own = createSettings();
    if (vector.first) await verdictOf(vector.first, own);
    expect(await verdictOf(vector, own)).toBe(expected);
  },
);

it("accepts each token that the zone itself makes", async () => {
  const own = createSettings();
  const tokens = await issueZoneTokens();
  const verdicts = [];
  for (const vector of tokens)
    verdicts.push(await verdictOf(vector, vector.name.endsWith("RS256") ? own : createSettings()));
  expect(verdicts).toEqual(tokens.map(() => "valid"));
});

describe.each(pickValid())("$name", (valid) => {
  it("becomes invalid by any one flipped bit", async () => {
    const own = createSettings();
    const verdicts = new Map<string, number>();
    const accepted: string[] = [];
    const flips = [...listFlips(valid.token)];
    for (const { token, where } of flips) {
      const verdict = await verdictOf({ ...valid, token }, own);
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      if (verdict === "valid") accepted.push(where);
    }
    expect(accepted).toEqual([]);
    // Each bit of the text, and each bit of the bytes.
    const bytes = valid.token.split(".").map((part) => Buffer.from(part, "base64url").length);
    const byteCount = bytes.reduce((sum, count) => sum + count, 0);
    expect(flips).toHaveLength(8 * (valid.token.length + byteCount));
    expect([...verdicts.keys()].sort()).toEqual(["header", "malformed", "signature"]);
    // Nothing of it counts as used: the token itself is still good.
    expect(await verdictOf(valid, own)).toBe("valid");
  });

  it("has other spellings of the same signature, which a lax decoder accepts", () => {
    const signature = valid.token.split(".")[2] ?? "";
    const same = [...listFlips(valid.token)].filter(({ token }) => {
      const other = token.split(".")[2] ?? "";
      return (
        other !== signature &&
        Buffer.from(other, "base64url").equals(Buffer.from(signature, "base64url"))
      );
    });
    expect(same.length).toBeGreaterThan(0);
  });
});

describe("the verifier in TypeScript", () => {
  const [valid] = pickValid();
  if (valid === undefined) throw new Error("there is no valid vector");
  const request = { token: valid.token, body: Buffer.from(valid.body, "base64") };

  it("returns the claims, with the person as the subject", async () => {
    expect(await verify(request, createSettings(), valid.now)).toMatchObject({
      sub: "slack:T012AB3CD:U023BECGF",
      client_id: settings.zones[0],
      slack_user: "U023BECGF",
    });
  });

  it("accepts one of two concurrent requests with one token", async () => {
    const own = createSettings();
    const verdicts = await Promise.all([verdictOf(valid, own), verdictOf(valid, own)]);
    expect(verdicts.sort()).toEqual(["replayed", "valid"]);
  });

  it("forgets the id of a used token once the token has expired, and not before", async () => {
    const own = createSettings();
    await verdictOf(valid, own);
    const exp = valid.now + 290;
    expect([...own.usedIds.values()]).toEqual([exp + toleranceSeconds]);
    const second = vectors.find(({ name }) => name === "the last second");
    if (second === undefined) throw new Error("there is no vector of the last second");
    expect(await verdictOf(second, own)).toBe("valid");
    expect(own.usedIds.size).toBe(2);
    expect(await verdictOf({ ...valid, now: second.now }, own)).toBe("replayed");
    own.usedIds.set("of another token", second.now);
    await verdictOf({ ...second, now: second.now }, own);
    expect([...own.usedIds.keys()]).not.toContain("of another token");
  });

  it("throws another error if the keys cannot be fetched, which is no fault of the token", async () => {
    const cause = new Error("unreachable");
    const keys = () => Promise.reject(cause);
    await expect(verify(request, { ...createSettings(), keys }, valid.now)).rejects.toBe(cause);
  });
});
