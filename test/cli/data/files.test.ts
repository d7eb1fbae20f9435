/** Files of messages in a bucket, against a double that checks every signature. */
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { createBucketFiles } from "../../../lib/cli/data/files.ts";
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

const filesIn = (bucket: string) =>
  createBucketFiles({
    bucket,
    aws: { region, credentials: async () => credentials, endpointOf: () => new URL(server.url) },
    signal: new AbortController().signal,
  });

it("counts and erases the files of the tasks that are meant, over all pages, and no others", async () => {
  const files = filesIn("files");
  const ids = new Set(["id-1", "id-9"]);
  expect(await files({ ids })).toBe(3);
  expect(await files({ ids, erase: true })).toBe(3);
  expect([...s3.objects.keys()]).toEqual(["files/id-2/F1", "files/id-10/F1"]);
  expect(await files({ ids, erase: true })).toBe(0);
  expect(s3.problems).toEqual([]);
});

it("says what to do where S3 refuses", async () => {
  await expect(filesIn("others")({ ids: new Set(["id-1"]) })).rejects.toThrow(
    "Could not use the bucket of files others (NoSuchBucket, 404). Use a role with s3:ListBucket and s3:DeleteObject on it",
  );
});
