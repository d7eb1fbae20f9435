import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AwsCredentials } from "@sekisho/runtime/aws/credentials.ts";
import { createS3FileStore } from "@sekisho/verification/files/s3-store.ts";
import { createS3Double, type S3Double } from "../../doubles/aws/s3.ts";
import { presignedProblem } from "../../doubles/aws/s3-check.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { png } from "./sample-files.ts";

const region = "eu-central-1";
const credentials: AwsCredentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "secret-of-the-role",
  sessionToken: "session+token/with=all of it",
};
const hourMs = 3600_000;
let nowMs = Date.now();
let s3: S3Double;
let server: WebServer;

beforeEach(async () => {
  nowMs = Date.now();
  s3 = createS3Double({
    buckets: ["files"],
    region,
    credentialsOf: (id) => (id === credentials.accessKeyId ? credentials : undefined),
    now: () => nowMs,
  });
  server = await startWebServer({ handle: s3.handle });
});

afterEach(() => server.close());

function storeWith({
  held: heldCredentials = credentials,
  bucket = "files",
}: {
  held?: AwsCredentials;
  bucket?: string;
} = {}) {
  const aws = {
    region,
    credentials: async () => heldCredentials,
    endpointOf: () => new URL(server.url),
  };
  return createS3FileStore({ bucket, aws, now: () => nowMs, timeoutMs: 20_000 });
}

function put({ store = storeWith(), bytes = png, mimetype = "image/png", lifeMs = hourMs } = {}) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const key = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d/F123";
  const { signal } = new AbortController();
  return store.put({ key, bytes, mimetype, sha256, expiresAtMs: nowMs + lifeMs, signal });
}

describe("a presigned URL", () => {
  it("verifies the presigned URL of the example in the AWS documentation", () => {
    // https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
    const target =
      "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
      "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
      "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
    const example = {
      received: {
        request: new Request("https://examplebucket.s3.amazonaws.com/", {
          headers: { host: "examplebucket.s3.amazonaws.com" },
        }),
        target,
      },
      credentials: {
        accessKeyId: "AKIAIOSFODNN7EXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      },
      region: "us-east-1",
      nowMs: Date.UTC(2013, 4, 24, 12),
    };
    expect(presignedProblem(example)).toBeUndefined();
    expect(presignedProblem({ ...example, nowMs: Date.UTC(2013, 4, 25) })).toBe("expired");
    expect(
      presignedProblem({ ...example, received: { ...example.received, target: `${target}0` } }),
    ).toBe("wrong signature");
  });
});

describe("a file in S3", () => {
  it("serves a stored file by its URL as a download with the same bytes and type", async () => {
    const { url, expiresAtMs } = await put();
    const response = await fetch(url);
    expect(s3.problems).toEqual([]);
    expect(response.status).toBe(200);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array(png));
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("content-disposition")).toBe("attachment");
    expect(expiresAtMs).toBe(nowMs + hourMs);
    expect(url.length).toBeLessThan(4096);
    expect(url).not.toContain(credentials.secretAccessKey);
    const [storedObject] = s3.objects.values();
    expect(storedObject?.checksum).toBe(createHash("sha256").update(png).digest("base64"));
  });

  it("stores the same file under the same key again", async () => {
    const [first, second] = [await put(), await put()];
    expect(new URL(second.url).pathname).toBe(new URL(first.url).pathname);
    expect([...s3.objects.keys()]).toEqual(["files/0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d/F123"]);
  });

  it("refuses a URL that is expired, changed or of another file", async () => {
    const { url } = await put({ lifeMs: 60_000 });
    const changedUrl = new URL(url);
    changedUrl.searchParams.set("X-Amz-Expires", "86400");
    const other = new URL(url);
    other.pathname = other.pathname.replace("F123", "F124");
    nowMs += 59_000;
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(changedUrl)).status).toBe(403);
    expect((await fetch(other)).status).toBe(403);
    expect((await fetch(new URL(new URL(url).pathname, url))).status).toBe(403);
    nowMs += 1000;
    expect((await fetch(url)).status).toBe(403);
    expect(s3.problems).toEqual([
      "wrong signature",
      "wrong signature",
      "unknown access key",
      "expired",
    ]);
  });

  it("limits the lifetime of a URL to that of the credentials that signed it", async () => {
    const expiration = new Date(nowMs + 60_000);
    const { expiresAtMs } = await put({
      store: storeWith({ held: { ...credentials, expiration } }),
    });
    expect(expiresAtMs).toBe(expiration.getTime());
  });

  it("assumes an hour for credentials without an expiry and never promises more than a day", async () => {
    expect((await put({ lifeMs: 8 * hourMs })).expiresAtMs).toBe(nowMs + hourMs);
    const shortCredentials = { ...credentials, expiration: new Date(nowMs + 100 * hourMs) };
    const { url, expiresAtMs } = await put({
      store: storeWith({ held: shortCredentials }),
      lifeMs: 48 * hourMs,
    });
    expect(expiresAtMs).toBe(nowMs + 24 * hourMs);
    expect(new URL(url).searchParams.get("X-Amz-Expires")).toBe("86400");
  });

  it("stores an empty file", async () => {
    const { url } = await put({ bytes: new Uint8Array(), mimetype: "text/plain" });
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });

  it("stores nothing if S3 refuses, and reports only the name of the error", async () => {
    const otherCredentials = { ...credentials, secretAccessKey: "another" };
    await expect(put({ store: storeWith({ held: otherCredentials }) })).rejects.toMatchObject({
      name: "SignatureDoesNotMatch",
      message: "AWS answered SignatureDoesNotMatch (403).",
    });
    await expect(put({ store: storeWith({ bucket: "others" }) })).rejects.toMatchObject({
      name: "NoSuchBucket",
    });
    expect(s3.objects.size).toBe(0);
  });

  it("addresses the bucket by its own host name on AWS", async () => {
    const hosts: string[] = [];
    const real = globalThis.fetch;
    globalThis.fetch = async (input) => {
      hosts.push(new URL(String(input)).host);
      return new Response(null, { status: 200 });
    };
    try {
      const endpointOf = (service: string) =>
        new URL(`https://${service}.${region}.amazonaws.com/`);
      const aws = { region, credentials: async () => credentials, endpointOf };
      const { url } = await put({
        store: createS3FileStore({ bucket: "files", aws, now: () => nowMs }),
      });
      expect(hosts).toEqual(["files.s3.eu-central-1.amazonaws.com"]);
      expect(new URL(url).host).toBe("files.s3.eu-central-1.amazonaws.com");
      expect(new URL(url).pathname).toBe("/0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d/F123");
    } finally {
      globalThis.fetch = real;
    }
  });
});
