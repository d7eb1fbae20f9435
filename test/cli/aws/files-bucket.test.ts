/** Files of messages in a bucket, read from a double that checks every signature. */
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { openFilesBucket } from "@sekisho/sekisho/aws/files-bucket.ts";
import { createS3Double, type S3Double } from "../../doubles/aws/s3.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";

const region = "eu-central-1";
const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "secret",
  sessionToken: "session+token/with=all",
};
let s3: S3Double;
let server: WebServer;

beforeEach(async () => {
  const credentialsOf = (id: string) => (id === credentials.accessKeyId ? credentials : undefined);
  s3 = createS3Double({ buckets: ["files"], region, credentialsOf });
  server = await startWebServer({ handle: s3.handle });
  for (const key of ["id-1/F1", "id-1/F2", "id-1/F3", "id-2/F1", "id-10/F1"]) {
    s3.objects.set(`files/${key}`, { bytes: new Uint8Array(1), headers: {}, checksum: null });
  }
});
afterEach(() => server.close());

const openBucket = (bucket: string) =>
  openFilesBucket({
    ...{ bucket, region, signal: new AbortController().signal },
    credentials: async () => credentials,
    endpointOf: () => new URL(server.url),
  });

it("lists the files of one task over all pages, and deletes only these", async () => {
  const bucket = openBucket("files");
  const keys: string[] = [];
  for await (const key of bucket.listKeys("id-1/")) {
    keys.push(key);
    await bucket.remove(key);
  }
  expect(keys).toEqual(["id-1/F1", "id-1/F2", "id-1/F3"]);
  expect([...s3.objects.keys()]).toEqual(["files/id-2/F1", "files/id-10/F1"]);
  expect(s3.problems).toEqual([]);
});

it("names the refusal of S3", async () => {
  await expect(openBucket("others").listKeys("id-1/").next()).rejects.toThrow(
    "Could not use the bucket of files others: AWS refused it (NoSuchBucket, 404).",
  );
});
