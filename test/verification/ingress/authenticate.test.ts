/** The signature: what is refused, and that only the right bytes under the right secret pass. */
import { describe, expect, it } from "@jest/globals";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { verifySignature } from "@sekisho/verification/ingress/authenticate.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { setUp } from "./setup.ts";
import {
  bytesOf,
  createSignedRequest,
  fixture,
  nowMs,
  secret,
  signatureOf,
} from "./slack-request.ts";

const nowSeconds = nowMs / 1000;
const timestamp = String(nowSeconds);
const body = bytesOf(fixture("app-mention"));
const signature = signatureOf({ body, timestamp });
const args = { secret, timestamp, signature, body, nowSeconds };
const at = (timestamp: string) => ({
  ...args,
  timestamp,
  signature: signatureOf({ body, timestamp }),
});

const flip = (bytes: Uint8Array, bit: number): Buffer => {
  const flippedBytes = Buffer.from(bytes);
  const index = Math.floor(bit / 8) % flippedBytes.length;
  flippedBytes[index] = (flippedBytes[index] ?? 0) ^ (1 << (bit % 8));
  return flippedBytes;
};

describe("the signature", () => {
  it("accepts the example that Slack publishes", () => {
    const publishedBody =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
      "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
      "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
      "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const example = {
      secret: "8f742231b10e8888abcd99yyyzzz85a5",
      timestamp: "1531420618",
      signature: "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      body: Buffer.from(publishedBody),
      nowSeconds: 1_531_420_618,
    };
    expect(verifySignature(example)).toBe("valid");
  });

  it("accepts a body that is not ASCII after it was decoded from base64", () => {
    const deliveredText = body.toString("base64");
    expect(verifySignature({ ...args, body: Buffer.from(deliveredText, "base64") })).toBe("valid");
    const asAscii = Buffer.from(deliveredText, "base64").toString("ascii");
    expect(verifySignature({ ...args, body: Buffer.from(asAscii) })).toBe("mismatch");
  });

  it("accepts any secret and any bytes that were signed with it", () => {
    forAll(fc.string({ minLength: 1 }), fc.uint8Array({ maxLength: 2000 })).hold((key, bytes) => {
      const signature = signatureOf({ body: bytes, timestamp, key });
      expect(verifySignature({ ...args, secret: key, body: bytes, signature })).toBe("valid");
    });
  });

  it("refuses a signature of another secret", () => {
    forAll(fc.string({ minLength: 1 })).hold((key) => {
      fc.pre(key !== secret);
      expect(verifySignature({ ...args, signature: signatureOf({ body, timestamp, key }) })).toBe(
        "mismatch",
      );
    });
  });

  it("refuses any flipped bit of body, timestamp or signature", () => {
    forAll(fc.nat(), fc.constantFrom("body", "timestamp", "signature")).hold((bit, part) => {
      const changedArgs = {
        ...args,
        ...(part === "body" ? { body: flip(body, bit) } : {}),
        ...(part === "timestamp"
          ? { timestamp: flip(Buffer.from(timestamp), bit).toString("latin1") }
          : {}),
        ...(part === "signature"
          ? { signature: flip(Buffer.from(signature), bit).toString("latin1") }
          : {}),
      };
      expect(verifySignature(changedArgs)).not.toBe("valid");
    }, 1000);
  });

  it.each([
    ["no timestamp", { timestamp: undefined }],
    ["an empty timestamp", { timestamp: "" }],
    ["no signature", { signature: undefined }],
    ["an empty signature", { signature: "" }],
    ["a signature without its version", { signature: signature.slice(3) }],
    ["another version", { signature: signature.replace("v0", "v1") }],
    ["a short signature", { signature: signature.slice(0, -2) }],
    ["a long signature", { signature: `${signature}00` }],
    ["a signature in capitals", { signature: signature.toUpperCase().replace("V0", "v0") }],
    ["two signatures in one header", { signature: `${signature}, ${signature}` }],
    ["an invalid signature", { signature: "v0=関所" }],
  ])("refuses a request as unsigned: %s", (_name, change) => {
    expect(verifySignature({ ...args, ...change })).toBe("unsigned");
  });

  it.each([
    "NaN",
    "Infinity",
    "1e9",
    "0x10",
    " 1",
    "-1",
    "1762750300.5",
    "１７６２",
    `${timestamp}\n`,
    "9".repeat(13),
  ])("refuses the signed timestamp %j", (timestamp) => {
    expect(verifySignature(at(timestamp))).toBe("unsigned");
  });

  it("allows a clock difference of exactly five minutes in both directions", () => {
    const results = [-301, -300, 0, 300, 301].map((away) =>
      verifySignature(at(String(nowSeconds + away))),
    );
    expect(results).toEqual(["stale", "valid", "valid", "valid", "stale"]);
  });

  it("refuses everything if the secret is empty, also a signature made with an empty one", () => {
    const empty = signatureOf({ body, timestamp, key: "" });
    expect(verifySignature({ ...args, secret: "", signature: empty })).toBe("no_secret");
  });
});

const request = (key: string) => createSignedRequest({ body, key });

/** A store of the secret whose value and clock the test sets; counts the reads. */
function rotating(value: string) {
  const state = { value, reads: 0, nowMs };
  const readSecret = async () => {
    state.reads += 1;
    return state.value;
  };
  return { state, ...setUp({ readSecret, now: () => state.nowMs }), readSecret };
}

describe("the signing secret", () => {
  it("reads the signing secret once for many requests", async () => {
    const { ingress, state } = rotating("first");
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await ingress(request("first"))).status),
    );
    await ingress(request("first"));
    expect(statuses).toEqual([200, 200, 200]);
    expect(state.reads).toBe(1);
  });

  it("reads the signing secret again after a rotation and refuses the old one", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.value = "second";
    state.nowMs += 30_000;
    const both = await Promise.all([ingress(request("second")), ingress(request("second"))]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await ingress(request("first"))).status).toBe(401);
    expect(state.reads).toBe(2);
  });

  it("reads the signing secret at most once in 30 seconds, however many false signatures come", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.nowMs += 30_000;
    for (let round = 0; round < 20; round += 1)
      expect((await ingress(request("false"))).status).toBe(401);
    expect(state.reads).toBe(2);
    state.nowMs += 29_999;
    await ingress(request("false"));
    expect(state.reads).toBe(2);
    state.nowMs += 1;
    await ingress(request("false"));
    expect(state.reads).toBe(3);
  });

  it("does not read the secret again for a request that no secret could make valid", async () => {
    const { ingress, state } = rotating("first");
    await ingress(request("first"));
    state.nowMs += 60_000;
    await ingress({ headers: [], body });
    await ingress(createSignedRequest({ body, key: "false", timestamp: "1" }));
    expect(state.reads).toBe(1);
  });

  it("keeps the cached secret when reading it again fails or returns nothing", async () => {
    for (const outage of [async () => "", () => Promise.reject(new Error("store down"))]) {
      let readSecret = async () => "first";
      let clockMs = nowMs;
      const { ingress } = setUp({ readSecret: () => readSecret(), now: () => clockMs });
      await ingress(request("first"));
      readSecret = outage;
      clockMs += 30_000;
      expect((await ingress(request("false"))).status).toBe(401);
      expect((await ingress(request("first"))).status).toBe(200);
    }
  });

  it("answers 500 until a secret is configured", async () => {
    const { ingress, state, asks } = rotating("");
    expect((await ingress({ headers: [], body })).status).toBe(500);
    expect((await ingress(request(""))).status).toBe(500);
    expect(asks).toEqual([]);
    state.value = "first";
    expect((await ingress(request("first"))).status).toBe(200);
  });

  it("answers 500 without the cause if the secret cannot be read, and reads it again next time", async () => {
    let readSecret = (): Promise<string> =>
      Promise.reject(new Error("arn:aws:secretsmanager:secret"));
    const { ingress, lines } = setUp({ readSecret: () => readSecret() });
    const refusal = await ingress(request("first"));
    expect(refusal).toMatchObject({ status: 500, body: "" });
    expect(lines.join("")).toContain("signing_secret_unreadable");
    expect(lines.join("")).not.toContain("arn:");
    readSecret = async () => "first";
    expect((await ingress(request("first"))).status).toBe(200);
  });

  it("gives up reading the secret after a time-out", async () => {
    const secret = createCachedSecret({
      readSecret: () => new Promise(() => {}),
      readTimeoutMs: 5,
    });
    await expect(secret.current()).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
