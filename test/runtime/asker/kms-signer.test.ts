/** The signer with keys of KMS, through our own client of AWS, against the emulated KMS. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AskerAlgorithm } from "@sekisho/runtime/asker/asker.ts";
import { createKmsSigner, type KmsKey, type KmsSign } from "@sekisho/runtime/asker/kms-signer.ts";
import { createAskerTokens } from "@sekisho/runtime/asker/tokens.ts";
import { throwAwsFailure } from "@sekisho/runtime/auth/assumed-role.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { jwtVerify } from "jose";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { createKms } from "../../doubles/aws/kms.ts";

const account = "111111111111";
const issuer = "https://asker.example";
const audience = "https://agent.example";
const from = "2026-01-01T00:00:00Z";
const { signal } = new AbortController();

let aws: AwsServices;
beforeEach(async () => {
  aws = await startAwsServices({ account });
});
afterEach(() => aws.close());

/** As the worker signs. */
function openSign(): KmsSign {
  const { url } = { url: String(aws.env.AWS_ENDPOINT_URL) };
  const client = createJsonClient({
    region: "eu-central-1",
    credentials: async () => ({
      accessKeyId: String(aws.env.AWS_ACCESS_KEY_ID),
      secretAccessKey: String(aws.env.AWS_SECRET_ACCESS_KEY),
    }),
    endpointOf: () => new URL(url),
    ...{ service: "kms", timeoutMs: 5000, maxAttempts: 2, retryBaseMs: 1 },
  });
  return (input, limits) => client.call("Sign", input, limits).catch(throwAwsFailure);
}

function issueWith(options: {
  sign: KmsSign;
  keys: readonly KmsKey[];
  algorithm?: AskerAlgorithm;
  nowMs?: number;
}) {
  const { algorithm = "RS256", nowMs = Date.now(), ...signer } = options;
  const now = () => nowMs;
  const tokens = createAskerTokens({
    ...{ issuer, clientId: "zone", now },
    signer: createKmsSigner({ ...signer, algorithm, now }),
  });
  return tokens.issue({
    to: { audience, claims: [], subject: "slack" },
    asker: { person: { team: "T1", user: "U1" }, requestId: "r", isOwnWord: true },
    body: Buffer.from("{}"),
    signal,
  });
}

const signCalls = () => aws.calls.filter(({ action }) => action === "kms:Sign").length;

it.each([
  ["RS256", "RSA_2048"],
  ["ES256", "ECC_NIST_P256"],
] as const)(
  "makes tokens of %s that other software verifies, with the key's id as kid",
  async (algorithm, spec) => {
    const { arn, publicKey } = aws.kms.addKey("alias/one", spec);
    const token = await issueWith({
      sign: openSign(),
      keys: [{ id: "one", from, arn }],
      algorithm,
    });
    const { protectedHeader } = await jwtVerify(token, publicKey, {
      issuer,
      audience,
      typ: "at+jwt",
    });
    expect(protectedHeader).toEqual({ alg: algorithm, kid: arn.split("/")[1], typ: "at+jwt" });
    expect(signCalls()).toBe(1);
  },
);

it("pads the numbers of an ECDSA signature that are shorter than 32 bytes", async () => {
  const kms = createKms({ account });
  const { arn, publicKey } = kms.addKey("alias/one", "ECC_NIST_P256");
  const lengths = new Set<number>();
  const sign: KmsSign = async (input) => {
    const { Signature } = (await kms.handle("Sign", input as never).json()) as {
      Signature: string;
    };
    const der = Buffer.from(Signature, "base64");
    const rLength = der[3] ?? 0;
    for (const length of [rLength, der[5 + rLength] ?? 0]) lengths.add(length);
    return { Signature };
  };
  // One number in 256 is a byte shorter.
  for (let index = 0; index < 3000 && !(lengths.has(31) && lengths.has(33)); index += 1) {
    const token = await issueWith({ sign, keys: [{ id: "one", from, arn }], algorithm: "ES256" });
    await jwtVerify(token, publicKey, { issuer, audience });
  }
  expect([31, 32, 33].filter((length) => lengths.has(length))).toEqual([31, 32, 33]);
});

it("signs with the newest key whose time has come", async () => {
  const old = aws.kms.addKey("alias/old");
  const young = aws.kms.addKey("alias/young");
  const keys = [
    { id: "young", from: "2026-12-01T00:00:00Z", arn: young.arn },
    { id: "old", from, arn: old.arn },
  ];
  const kidAt = async (time: string) => {
    const token = await issueWith({ sign: openSign(), keys, nowMs: Date.parse(time) });
    return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid;
  };
  expect([await kidAt("2026-11-30T23:59:59Z"), await kidAt("2026-12-01T00:00:00Z")]).toEqual([
    old.arn.split("/")[1],
    young.arn.split("/")[1],
  ]);
});

describe("a signature that KMS does not make", () => {
  const key = () => aws.kms.addKey("alias/one");

  it.each([
    ["is disabled", () => key(), "Disabled"],
    ["waits for its deletion", () => key(), "PendingDeletion"],
  ] as const)(
    "ends the call for good and sends nothing if the key %s",
    async (_name, add, state) => {
      const newKey = add();
      newKey.state = state;
      const attempt = issueWith({ sign: openSign(), keys: [{ id: "one", from, arn: newKey.arn }] });
      await expect(attempt).rejects.toMatchObject({
        ...{ reason: "unauthenticated", certainty: "undelivered" },
      });
      expect(signCalls()).toBe(1);
    },
  );

  it("ends the call for good and sends nothing if the key does not exist", async () => {
    const arn = `arn:aws:kms:eu-central-1:${account}:key/none`;
    await expect(
      issueWith({ sign: openSign(), keys: [{ id: "one", from, arn }] }),
    ).rejects.toMatchObject({
      ...{ reason: "unauthenticated", certainty: "undelivered" },
    });
  });

  it("ends the call for good if the algorithm is not the key's", async () => {
    const { arn } = key();
    const attempt = issueWith({
      sign: openSign(),
      keys: [{ id: "one", from, arn }],
      algorithm: "ES256",
    });
    await expect(attempt).rejects.toMatchObject({ reason: "unauthenticated" });
  });

  it.each([
    ["AccessDeniedException", 400, "unauthenticated", 1],
    ["ThrottlingException", 400, "unavailable", 2],
    ["KMSInternalException", 500, "unavailable", 2],
    ["DependencyTimeoutException", 500, "unavailable", 2],
  ])(
    "turns %s (HTTP %s) into %s after %s attempts, and sends nothing",
    async (name, status, reason, attempts) => {
      aws.refusals.set("kms:Sign", { status, name });
      const attempt = issueWith({ sign: openSign(), keys: [{ id: "one", from, arn: key().arn }] });
      await expect(attempt).rejects.toMatchObject({ reason, certainty: "undelivered" });
      expect(signCalls()).toBe(attempts);
    },
  );

  it("says nothing of the key or the claims in its error", async () => {
    const { arn } = key();
    aws.refusals.set("kms:Sign", { status: 400, name: "AccessDeniedException" });
    const error: unknown = await issueWith({
      sign: openSign(),
      keys: [{ id: "one", from, arn }],
    }).catch((refusal: unknown) => refusal);
    const { message, cause } = error as Error;
    expect(`${message} ${String(cause)}`).not.toMatch(/arn:|slack:|U1/);
  });

  it("fails without a key in the environment", async () => {
    await expect(issueWith({ sign: openSign(), keys: [] })).rejects.toMatchObject({
      ...{ reason: "internal", certainty: "undelivered" },
    });
  });
});
