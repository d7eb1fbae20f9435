/** Runs the verifier over a file of test vectors: `node run-vectors.ts vectors.json`. */
import { readFileSync } from "node:fs";
import { createLocalJWKSet } from "jose";
import { Refused, type Settings, verify } from "./verify-asker.ts";

type Request = { now: number; token: string; body: string };

const file = JSON.parse(readFileSync(process.argv[2] ?? "vectors.json", "utf8"));
const { issuer, audience, zones, tolerance_seconds: toleranceSeconds, jwks } = file.settings;
const keys = createLocalJWKSet(jwks);

async function verdict({ token, body, now }: Request, settings: Settings): Promise<string> {
  try {
    await verify({ token, body: Buffer.from(body, "base64") }, settings, now);
    return "valid";
  } catch (error) {
    return error instanceof Refused ? error.message : `an error: ${error}`;
  }
}

let wrong = 0;
for (const vector of file.vectors) {
  const settings = { issuer, audience, zones, toleranceSeconds, keys, usedIds: new Map() };
  if (vector.first) await verdict(vector.first, settings);
  const given = await verdict(vector, settings);
  if (given !== vector.expected) wrong += 1;
  console.log(`${given === vector.expected ? "ok" : "WRONG"} ${given}: ${vector.name}`);
}
console.log(`${file.vectors.length} vectors, ${wrong} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
