/** Tokens that the Verification zone itself makes, signed with the test keys, in the form of vectors. */
import type { AskerAudience, AskerSigner, CallAsker } from "@sekisho/runtime/asker/asker.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { signEs256, signRs256 } from "./vectors/sign.ts";
import { createVectorFile, type Vector } from "./vectors/vectors.ts";

const { settings } = createVectorFile();
const now = 1_800_000_000;
const requestId = "0198a5b2-0000-7000-8000-000000000001";
const person = { team: "T012AB3CD", user: "U023BECGF", channel: "C0G9QF9GW", thread: "1.2" };

const signers: readonly AskerSigner[] = [
  {
    algorithm: "RS256",
    async sign({ textOf }) {
      const text = textOf("test-rsa");
      return { text, signature: signRs256("test-rsa", text) };
    },
  },
  {
    algorithm: "ES256",
    async sign({ textOf }) {
      const text = textOf("test-ec");
      return { text, signature: signEs256("test-ec", text) };
    },
  },
];

const speaking: Pick<AskerAudience, "claims" | "subject"> = {
  claims: ["team", "user", "channel", "thread", "email"],
  subject: "slack",
};
const calls: { name: string; method: string; asker?: CallAsker; to?: typeof speaking }[] = [
  {
    name: "a person's word",
    method: "execute_task",
    asker: { person, requestId, isOwnWord: true },
  },
  {
    name: "a word of somebody in an organization, with an address",
    method: "answer_task",
    asker: {
      person: { ...person, enterprise: "E0HXYZ123", email: "kim@example.com" },
      ...{ requestId, isOwnWord: true },
    },
  },
  {
    name: "a word of somebody unnamed",
    method: "SendMessage",
    asker: { person, requestId, isOwnWord: true },
    to: { claims: [], subject: "opaque" },
  },
  { name: "a poll", method: "get_task", asker: { person, requestId, isOwnWord: false } },
  { name: "a poll without a person", method: "get_task" },
];

export async function issueZoneTokens(): Promise<Vector[]> {
  const { issuer, audience, zones } = settings;
  const { signal } = new AbortController();
  const vectors: Vector[] = [];
  for (const signer of signers) {
    let ids = 0;
    const tokens = createAskerTokens({
      ...{ issuer, clientId: zones[0] ?? "", signer },
      now: () => now * 1000,
      newId: () => `id-${++ids}`,
    });
    for (const { name, method, asker, to = speaking } of calls) {
      const body = Buffer.from(
        JSON.stringify({ jsonrpc: "2.0", id: requestId, method, params: {} }),
      );
      const token = await tokens.issue({ to: { audience, ...to }, asker, body, signal });
      vectors.push({
        name: `${name}, ${signer.algorithm}`,
        ...{ expected: "valid", now, token, body: body.toString("base64") },
      });
    }
  }
  return vectors;
}

/** The token of a poll, and the last second in which the zone still sends it. */
export async function issueReusedToken(): Promise<{ token: string; lastSecond: number }> {
  const { issuer, audience, zones } = settings;
  const [signer] = signers;
  if (signer === undefined) throw new Error("there is no signer");
  let seconds = now;
  const tokens = createAskerTokens({
    ...{ issuer, clientId: zones[0] ?? "", signer },
    now: () => seconds * 1000,
  });
  const asker = { person, requestId, isOwnWord: false };
  const { signal } = new AbortController();
  const issue = () =>
    tokens.issue({ to: { audience, ...speaking }, asker, body: new Uint8Array(), signal });
  const token = await issue();
  while ((await issue()) === token) seconds += 1;
  return { token, lastSecond: seconds - 1 };
}
