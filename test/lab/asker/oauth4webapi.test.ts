/** The strict reader of RFC 9068 access tokens in oauth4webapi gets the vectors. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { servePublishedFiles } from "../../asker/published-files.ts";
import { createVectorFile, type Vector } from "../../asker/vectors/vectors.ts";
import { issueZoneTokens } from "../../asker/zone-tokens.ts";

const { settings, vectors, ...others } = createVectorFile();
const folder = mkdtempSync(join(tmpdir(), "sekisho-oauth4webapi-"));
afterAll(() => rmSync(folder, { recursive: true }));

let published: Awaited<ReturnType<typeof servePublishedFiles>>;
beforeAll(async () => {
  published = await servePublishedFiles();
});
afterAll(() => published.close());

async function listAccepted(some: readonly Vector[]): Promise<string[]> {
  const path = join(folder, "vectors.json");
  writeFileSync(path, JSON.stringify({ ...others, settings, vectors: some }));
  const script = join(import.meta.dirname, "children/validate.ts");
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [script, path, published.url]);
  return JSON.parse(stdout);
}

it("accepts the valid tokens, and each that the zone itself makes", async () => {
  const valid = vectors.filter(({ expected }) => expected === "valid");
  const all = [...valid, ...(await issueZoneTokens())];
  expect(await listAccepted(all)).toEqual(all.map(({ name }) => name));
  expect([...new Set(published.requestedPaths)]).toEqual([
    "/.well-known/openid-configuration",
    "/.well-known/jwks.json",
  ]);
});

/** The zone never signs these, so that nobody can have one. Their check is left to verifiers that know our claims, or to nobody. */
const unnoticed = [
  ...["a header with a key twice", "claims with a key twice"],
  ...["claims with a key twice in the actor", "claims with a key twice, once escaped"],
  ...["a huge end", "an end with a fraction", "a start with a fraction", "valid for an hour"],
  ...["expired before it was issued", "issued in the future"],
  "issued in the future, though valid before",
  ...["a list of destinations with ours", "a list of only our destination", "another zone"],
  ...["no act", "another actor", "an actor in text", "an actor of null"],
  "an actor without a subject",
  ...["an empty subject", "an empty jti", "a user that is an object", "a team that is a number"],
  ...["an address of null", "no key id", "a token of more than 8 KB"],
  // The same token in another spelling.
  ...["a space at the start", "padding", "the alphabet with plus and slash"],
  "another spelling of the same signature",
  "another spelling of the same signature of ES256",
];

it("refuses the others, but for what RFC 9068 leaves to others", async () => {
  // It reads no body and remembers no id.
  const invalid = vectors.filter(
    ({ expected }) => !["valid", "body", "replayed"].includes(expected),
  );
  expect(invalid.length).toBeGreaterThan(90);
  expect((await listAccepted(invalid)).sort()).toEqual(unnoticed.toSorted());
});
