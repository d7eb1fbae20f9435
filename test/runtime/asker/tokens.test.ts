import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { askerClaimsSchema } from "@sekisho/contracts/asker-claims.ts";
import type {
  AskerAlgorithm,
  AskerAudience,
  AskerSigner,
  CallAsker,
} from "@sekisho/runtime/asker/asker.ts";
import { findCurrentKey } from "@sekisho/runtime/asker/current-key.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";

const pairs = {
  RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
};
const issuer = "https://asker.example";
const clientId = "arn:aws:iam::111111111111:role/sekisho-prod-verification";
const startMs = Date.UTC(2026, 10, 30);
const body = Buffer.from('{"jsonrpc":"2.0"}');
const { signal } = new AbortController();
const to: AskerAudience = {
  audience: "https://agent.example",
  claims: ["team", "user", "channel", "thread"],
  subject: "slack",
};
const asker: CallAsker = {
  person: { team: "T1", user: "U1", channel: "C1", thread: "1.1" },
  requestId: "0198a5b2-0000-7000-8000-000000000001",
  isOwnWord: true,
};

function signerOf(algorithm: AskerAlgorithm, key: KeyObject) {
  const counts = { signatures: 0 };
  const signer: AskerSigner = {
    algorithm,
    async sign({ textOf }) {
      counts.signatures += 1;
      const text = textOf("key-1");
      return {
        text,
        signature: sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }),
      };
    },
  };
  return { signer, counts };
}

function open(algorithm: AskerAlgorithm = "ES256") {
  let nowMs = startMs;
  let lastId = 0;
  const { signer, counts } = signerOf(algorithm, pairs[algorithm].privateKey);
  const tokens = createAskerTokens({
    ...{ issuer, clientId, signer },
    now: () => nowMs,
    newId: () => `id-${++lastId}`,
  });
  return {
    issue: (request: { asker?: CallAsker | undefined; to?: AskerAudience } = { asker }) =>
      tokens.issue({ to, body, signal, asker: undefined, ...request }),
    wait: (ms: number) => {
      nowMs += ms;
    },
    counts,
  };
}

describe("the asker's tokens", () => {
  it.each(["RS256", "ES256"] as const)(
    "a verifier of others accepts a token signed with %s",
    async (algorithm) => {
      const token = await open(algorithm).issue();
      const { payload, protectedHeader } = await jwtVerify(token, pairs[algorithm].publicKey, {
        issuer,
        audience: to.audience,
        typ: "at+jwt",
        algorithms: [algorithm],
        currentDate: new Date(startMs),
      });
      expect(protectedHeader).toEqual({ alg: algorithm, kid: "key-1", typ: "at+jwt" });
      expect(payload).toEqual({
        iss: issuer,
        aud: to.audience,
        sub: "slack:T1:U1",
        client_id: clientId,
        jti: "id-1",
        iat: startMs / 1000,
        exp: startMs / 1000 + 300,
        act: { sub: clientId },
        slack_team: "T1",
        slack_user: "U1",
        slack_channel: "C1",
        slack_thread: "1.1",
        request_id: asker.requestId,
        body_sha256: createHash("sha256").update(body).digest("hex"),
      });
      expect(askerClaimsSchema.parse(payload)).toEqual(payload);
    },
  );

  it("signs each call that brings the person's own word anew", async () => {
    const { issue, counts } = open();
    const tokens = [await issue(), await issue()];
    expect(new Set(tokens.map((token) => decodeJwt(token).jti)).size).toBe(2);
    expect(counts.signatures).toBe(2);
  });

  it("signs once per person and destination for polls of three and a half minutes", async () => {
    const { issue, wait, counts } = open();
    const poll = { ...asker, isOwnWord: false };
    const other = { ...poll, person: { ...poll.person, user: "U2" } };
    const first = await issue({ asker: poll });
    expect(await issue({ asker: { ...poll, requestId: "another" } })).toBe(first);
    wait(200_000);
    expect(await issue({ asker: poll })).toBe(first);
    expect(counts.signatures).toBe(1);
    expect(decodeJwt(await issue({ asker: other })).sub).toBe("slack:T1:U2");
    await issue({ asker: poll, to: { ...to, audience: "https://other.example" } });
    expect(counts.signatures).toBe(3);
    wait(10_000);
    expect(await issue({ asker: poll })).not.toBe(first);
    expect(decodeJwt(first)).not.toHaveProperty("body_sha256");
    expect(decodeJwt(first)).not.toHaveProperty("request_id");
  });

  it("names the zone itself if no person is behind the call", async () => {
    const claims = decodeJwt(await open().issue({ asker: undefined }));
    expect(claims).toMatchObject({ sub: clientId, client_id: clientId });
    expect(claims).not.toHaveProperty("act");
  });

  it("gives a person of an organization the same subject in all workspaces", async () => {
    const { issue } = open();
    const subjects = ["T1", "T2"].map(async (team) => {
      const person = { ...asker.person, team, enterprise: "E1" };
      return decodeJwt(await issue({ asker: { ...asker, person } })).sub;
    });
    expect(await Promise.all(subjects)).toEqual(["slack:E1:U1", "slack:E1:U1"]);
  });

  it("hides the ids of Slack from a destination with opaque subjects", async () => {
    const { issue } = open();
    const opaque: AskerAudience = { ...to, subject: "opaque", claims: [] };
    const token = await issue({ asker, to: opaque });
    const again = await issue({ asker, to: opaque });
    const { sub } = decodeJwt(token);
    expect(sub).toMatch(/^[\w-]{43}$/);
    expect(decodeJwt(again).sub).toBe(sub);
    expect(JSON.stringify(decodeJwt(token))).not.toMatch(/[TUC]1"/);
  });

  it("tells the e-mail address only to a destination that gets it", async () => {
    const { issue } = open();
    const named = { ...asker, person: { ...asker.person, email: "kim@example.com" } };
    expect(decodeJwt(await issue({ asker: named }))).not.toHaveProperty("email");
    const withEmail: AskerAudience = { ...to, claims: ["email"] };
    expect(decodeJwt(await issue({ asker: named, to: withEmail }))).toMatchObject({
      email: "kim@example.com",
    });
    expect(decodeProtectedHeader(await issue({ asker: named })).typ).toBe("at+jwt");
  });
});

describe("the current key", () => {
  const keys = [
    { id: "new", from: "2026-12-01T00:00:00Z" },
    { id: "old", from: "2026-01-01T00:00:00Z" },
  ];

  it.each([
    ["2025-01-01T00:00:00Z", "old"],
    ["2026-11-30T23:59:59Z", "old"],
    ["2026-12-01T00:00:00Z", "new"],
  ])("at %s is the newest one whose time has come: %s", (time, id) => {
    expect(findCurrentKey(keys, Date.parse(time))?.id).toBe(id);
  });
});
