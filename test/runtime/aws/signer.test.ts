/** Our signatures beside those of the SDK's signer. */
import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createSigner, presignS3Get } from "@sekisho/runtime/aws/signer.ts";
import { SignatureV4 } from "@smithy/signature-v4";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

/** The SDK's signer calls it with `new`. */
const sha256 = checksum as unknown as ConstructorParameters<typeof SignatureV4>[0]["sha256"];
function checksum(key?: string | Uint8Array) {
  const hash = key === undefined ? createHash("sha256") : createHmac("sha256", key);
  return {
    update: (data: Uint8Array) => void hash.update(data),
    digest: async () => hash.digest(),
    reset() {},
  };
}

const region = "eu-central-1";
/** Any time of this century, so that keys of several days are used. */
const times = fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 });
const words = fc.string({ minLength: 1, maxLength: 12 });
const keys = { accessKeyId: fc.stringMatching(/^[A-Z0-9]{4,20}$/), secretAccessKey: words };
const identities = fc.oneof(
  fc.record(keys),
  fc.record({ ...keys, sessionToken: fc.stringMatching(/^[\w+/=]{1,40}$/) }),
);
const texts = fc.string({ unit: "grapheme", maxLength: 20 }).filter((text) => text.isWellFormed());
const segments = fc.oneof(texts, fc.constantFrom("", ".", "..", "a b", "%2F", "~*'()!", "関所"));
const urls = fc
  .record({
    path: fc.array(segments, { maxLength: 4 }),
    query: fc.array(fc.tuple(texts, texts), { maxLength: 4 }),
  })
  .map(({ path, query }) => {
    const url = new URL("https://service.example:8443/");
    url.pathname = path.map((segment) => encodeURIComponent(segment)).join("/");
    for (const [name, value] of query) url.searchParams.append(name, value);
    return url;
  })
  // In the SDK's signer this parameter is that of its own signature.
  .filter(
    ({ searchParams }) => ![...searchParams.keys()].some((name) => /^x-amz-signature$/i.test(name)),
  );
const headerValues = fc.stringMatching(/^[ \t!-~]{0,30}$/);
const headers = fc
  .dictionary(fc.stringMatching(/^(x-amz-|proxy-|sec-)?[a-z]{1,12}$/), headerValues, { maxKeys: 5 })
  .map((value) => ({
    ...value,
    "user-agent": "ours",
    traceparent: "00-1-2-00",
    "x-amzn-trace-id": "Root=1",
  }));
const bodies = fc.oneof(texts, fc.uint8Array({ maxLength: 50 }));

function toSdkRequest({
  url,
  ...otherFields
}: {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}) {
  const { protocol, hostname, pathname: path, searchParams, host } = url;
  const query = Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
  );
  return {
    ...otherFields,
    protocol,
    hostname,
    path,
    query,
    headers: { ...otherFields.headers, host },
  };
}

describe("a signed request", () => {
  it.each(["sqs", "lambda", "s3"])(
    "signs a request to %s with the same headers as the signer of the SDK",
    async (service) => {
      await forAll(
        fc.constantFrom("GET", "POST", "PUT"),
        urls,
        headers,
        bodies,
        identities,
        times,
      ).holdAsync(async (method, url, value, body, credentials, atMs) => {
        const sdk = new SignatureV4({
          service,
          region,
          credentials,
          sha256,
          uriEscapePath: service !== "s3",
        });
        const unsigned = ["traceparent"];
        const expectedResult = await sdk.sign(toSdkRequest({ method, url, headers: value, body }), {
          signingDate: new Date(atMs),
          unsignableHeaders: new Set(unsigned),
        });
        const sign = createSigner({
          service,
          region,
          credentials: async () => credentials,
          unsigned,
        });
        expect(await sign({ method, url, headers: value, body, atMs })).toEqual(
          expectedResult.headers,
        );
      });
    },
  );

  it("signs correctly on every day and after the credentials were rotated", async () => {
    let credentials = { accessKeyId: "AKID", secretAccessKey: "first" };
    const sign = createSigner({ service: "sqs", region, credentials: async () => credentials });
    const request = {
      method: "POST",
      url: new URL("https://sqs.example/"),
      headers: {},
      body: "{}",
    };
    const dayMs = 86_400_000;
    for (const [secretAccessKey, atMs] of [
      ["first", 0],
      ["first", dayMs],
      ["second", dayMs],
      ["first", dayMs + 1000],
    ] as const) {
      credentials = { accessKeyId: "AKID", secretAccessKey };
      const sdk = new SignatureV4({ service: "sqs", region, credentials, sha256 });
      const expectedResult = await sdk.sign(toSdkRequest(request), { signingDate: new Date(atMs) });
      expect(await sign({ ...request, atMs })).toEqual(expectedResult.headers);
    }
  });
});

describe("a presigned URL of S3", () => {
  it("presigns a URL with the same parameters as the signer of the SDK", async () => {
    const seconds = fc.integer({ min: 1, max: 604_800 });
    await forAll(texts, identities, times, seconds).holdAsync(
      async (key, credentials, atMs, expiresInSeconds) => {
        const url = new URL(`https://bucket.s3.${region}.amazonaws.com/${encodeURIComponent(key)}`);
        const sdk = new SignatureV4({
          service: "s3",
          region,
          credentials,
          sha256,
          uriEscapePath: false,
        });
        const headers = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
        const request = toSdkRequest({ method: "GET", url, headers });
        const { query } = await sdk.presign(request, {
          expiresIn: expiresInSeconds,
          signingDate: new Date(atMs),
        });
        const presigned = new URL(
          presignS3Get({ url, region, credentials, expiresInSeconds, atMs }),
        );
        expect(Object.fromEntries(presigned.searchParams)).toEqual(query);
        expect([presigned.origin, presigned.pathname]).toEqual([url.origin, url.pathname]);
      },
    );
  });
});
