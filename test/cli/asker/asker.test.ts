/** `sekisho asker`: what it publishes, shows and writes. */

import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { openLocalAskerKeys, openLocalAskerTokens } from "@sekisho/local/asker-keys.ts";
import { readPublished } from "@sekisho/sekisho/asker/issuer.ts";
import { replaceKeys } from "@sekisho/sekisho/asker/replace-keys.ts";
import { describeStatus } from "@sekisho/sekisho/asker/status.ts";
import { createLocalJWKSet, jwtVerify } from "jose";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { twoAccounts, verificationAccount } from "../aws/a-stage.ts";
import { commandHere, failing } from "../aws/command-here.ts";

/** A body that ends in the middle. */
const brokenBody = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{"));
      controller.error(new Error("cut"));
    },
  });
const root = folderOfFile();
const keys = [
  { id: "old", from: "2026-01-01T00:00:00Z" },
  { id: "young", from: "2026-02-01T00:00:00Z" },
];

/** Published files by their paths. A test replaces what the issuer answers. */
let site = new Map<string, Response | string>();
let server: WebServer;
let aws: AwsServices;
let folder: string;
beforeEach(async () => {
  site = new Map();
  server = await startWebServer({
    handle: async ({ target }) => {
      const answer = site.get(target);
      if (answer === undefined) return new Response(null, { status: 404 });
      return typeof answer === "string" ? new Response(answer) : answer.clone();
    },
  });
  aws = await startAwsServices({ account: verificationAccount });
  folder = mkdtempSync(join(root, "project-"));
});
afterEach(() => Promise.all([server.close(), aws.close()]));

function write(asker: Record<string, unknown>): string {
  const path = join(folder, "sekisho.config.json");
  writeFileSync(path, JSON.stringify({ ...twoAccounts, asker }, undefined, 2));
  return path;
}

async function run(...args: string[]) {
  const home = process.cwd();
  process.chdir(folder);
  try {
    return await commandHere(["asker", ...args], aws.env);
  } finally {
    process.chdir(home);
  }
}

/** Serves what was published. */
function upload(): void {
  const below = join(folder, "out", ".well-known");
  for (const name of readdirSync(below))
    site.set(`/.well-known/${name}`, readFileSync(join(below, name), "utf8"));
}

const readDocument = (name: string) =>
  JSON.parse(readFileSync(join(folder, "out/.well-known", name), "utf8"));
const issuer = () => server.url.replace(/\/$/, "");

describe("sekisho asker publish", () => {
  it("writes the documents with which other software verifies a token of this machine", async () => {
    write({ issuer: issuer(), algorithm: "ES256", keys });
    expect(await run("publish", "--to", "out")).toMatchObject({ code: 0 });
    const tokens = openLocalAskerTokens({
      asker: { issuer: issuer(), algorithm: "ES256", keys },
      dataFolder: join(folder, ".sekisho"),
    });
    const token = await tokens?.issue({
      to: { audience: "agent", claims: [], subject: "slack" },
      asker: { person: { team: "T1", user: "U1" }, requestId: "r", isOwnWord: true },
      body: Buffer.from("{}"),
      signal: new AbortController().signal,
    });
    const discovery = readDocument("openid-configuration");
    expect(discovery).toMatchObject({
      issuer: issuer(),
      jwks_uri: `${issuer()}/.well-known/jwks.json`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    });
    expect(readDocument("oauth-authorization-server")).toEqual(discovery);
    const jwks = readDocument("jwks.json");
    await jwtVerify(String(token), createLocalJWKSet(jwks), {
      issuer: issuer(),
      audience: "agent",
    });
    expect(jwks.keys).toHaveLength(2);
  });

  it("writes no private key", async () => {
    write({ issuer: issuer(), keys });
    await run("publish", "--to", "out");
    for (const key of readDocument("jwks.json").keys)
      expect(Object.keys(key).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
  });

  it("takes the keys of a stage from KMS, with the id of each as kid", async () => {
    write({ issuer: issuer(), keys });
    const all = keys.map(({ id }) => aws.kms.addKey(`alias/sekisho-prod-asker-${id}`));
    expect(await run("publish", "--to", "out", "--stage", "prod")).toMatchObject({ code: 0 });
    const digestOf = (key: object) =>
      createHash("sha256").update(JSON.stringify(key)).digest("hex");
    const published = readDocument("jwks.json").keys;
    expect(published.map(({ kid }: { kid: string }) => kid)).toEqual(
      all.map(({ arn }) => arn.split("/")[1]),
    );
    const modulus = (jwk: { n: string; e: string }) => digestOf([jwk.n, jwk.e]);
    expect(published.map(modulus)).toEqual(
      all.map(({ publicKey }) =>
        modulus(
          createPublicKey(publicKey.export({ type: "spki", format: "pem" })).export({
            format: "jwk",
          }) as never,
        ),
      ),
    );
    expect(existsSync(join(folder, ".sekisho"))).toBe(false);
  });

  it("writes nothing while the stage lacks a key", async () => {
    write({ issuer: issuer(), keys });
    aws.kms.addKey("alias/sekisho-prod-asker-old");
    const result = await run("publish", "--to", "out", "--stage", "prod");
    expect(result).toMatchObject(failing(1, "no key young. Deploy the stage"));
    expect(existsSync(join(folder, "out"))).toBe(false);
  });

  it("explains a key that is disabled, and refuses a configuration without an issuer", async () => {
    write({ issuer: issuer(), keys: [keys[0]] });
    aws.kms.addKey("alias/sekisho-prod-asker-old").state = "Disabled";
    const result = await run("publish", "--to", "out", "--stage", "prod");
    expect(result).toMatchObject(failing(1, "aws kms enable-key"));
    writeFileSync(join(folder, "sekisho.config.json"), "{}");
    expect(await run("publish", "--to", "out")).toMatchObject(failing(2, "no section asker"));
  });
});

describe("the published folder", () => {
  it("never holds a part of a document", async () => {
    write({ issuer: issuer(), keys: [keys[0]] });
    await run("publish", "--to", "out");
    const file = join(folder, "out/.well-known/jwks.json");
    const oldText = readFileSync(file, "utf8");
    const reader = openSync(file, "r");
    write({ issuer: issuer(), keys });
    await run("publish", "--to", "out");
    const readText = readFileSync(reader, "utf8");
    closeSync(reader);
    expect(readText).toBe(oldText);
    expect(readFileSync(file, "utf8")).not.toBe(oldText);
    expect(readdirSync(dirname(file)).sort()).toEqual([
      "jwks.json",
      "oauth-authorization-server",
      "openid-configuration",
    ]);
  });

  it("gets no key of a stage for another algorithm than the configured one", async () => {
    write({ issuer: issuer(), algorithm: "ES256", keys: [keys[0]] });
    aws.kms.addKey("alias/sekisho-prod-asker-old");
    const result = await run("publish", "--to", "out", "--stage", "prod");
    expect(result).toMatchObject(failing(1, "is not a key for ES256. Deploy the stage"));
    expect(existsSync(join(folder, "out"))).toBe(false);
  });
});

describe("sekisho asker show", () => {
  let other: WebServer;
  let visits: string[];
  beforeEach(async () => {
    visits = [];
    other = await startWebServer({
      async handle({ target }) {
        visits.push(target);
        return Response.json({ keys: [] });
      },
    });
  });
  afterEach(() => other.close());

  const current = () => new Date(Date.now() - 3600_000).toISOString();

  it("has nothing to do when the issuer publishes the keys", async () => {
    write({ issuer: issuer(), keys: [{ id: "one", from: current() }] });
    await run("publish", "--to", "out");
    upload();
    const result = await run("show");
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining(", published, kid ") });
    expect(result.stdout).toContain("Nothing to do.");
    expect(result.stdout).toContain("client_id sekisho\n");
  });

  it("does not call the key of a new project old, whatever the year", () => {
    const { asker = { issuer: issuer(), algorithm: "RS256" as const, keys: [] } } = parseConfig({
      json: { asker: { issuer: issuer() } },
    });
    const status = (nowMs: number) =>
      describeStatus({
        ...{ asker, nowMs, stageOption: "" },
        publicKeys: [{ id: "first", kid: "1", jwk: { kid: "1" } }],
        published: { keys: [{ kid: "1" }] },
      });
    expect(status(Date.UTC(2028, 0)).problems).toEqual([]);
  });

  it("names the next key that is not published, and a key that has signed for a year", async () => {
    const year = new Date(Date.now() - 366 * 24 * 3600_000).toISOString();
    const soon = new Date(Date.now() + 3600_000).toISOString();
    write({ issuer: issuer(), keys: [{ id: "aged", from: year }] });
    await run("publish", "--to", "out");
    upload();
    expect((await run("show")).stdout).toContain("aged has signed for 366 days. Run ");
    write({
      issuer: issuer(),
      keys: [
        { id: "aged", from: year },
        { id: "soon", from: soon },
      ],
    });
    await run("publish", "--to", "elsewhere");
    const result = await run("show");
    expect(result).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("! The key soon is not among the issuer's keys."),
    });
    expect(result.stdout).not.toContain("The key aged");
  });

  const notFound = () => new Response(null, { status: 404 });
  it.each<[string, string, () => Response]>([
    ["is missing", "answers HTTP 404", notFound],
    [
      "redirects",
      "redirects",
      () => new Response(null, { status: 302, headers: { location: "/x" } }),
    ],
    ["asks for credentials", "is not public", () => new Response(null, { status: 403 })],
    [
      "names another issuer",
      "another issuer",
      () => Response.json({ issuer: "https://other.example", jwks_uri: "https://other.example/k" }),
    ],
    ["is HTML", "not a JSON object", () => new Response("<html>")],
    ["fails", "HTTP 500", () => new Response(null, { status: 500 })],
    ["is huge", "larger than 256 KiB", () => new Response("x".repeat(256 * 1024 + 1))],
    ["breaks off", "closed the connection", () => new Response(brokenBody())],
    [
      "names keys elsewhere",
      "no jwks_uri below",
      () => Response.json({ issuer: issuer(), jwks_uri: `${other.url}/keys` }),
    ],
  ])("says so if the discovery document %s", async (_name, text, answer) => {
    write({ issuer: issuer(), keys: [{ id: "one", from: current() }] });
    await run("publish", "--to", "out");
    upload();
    site.set("/.well-known/openid-configuration", answer());
    expect(await run("show")).toMatchObject({ code: 1, stdout: expect.stringContaining(text) });
    expect(visits).toEqual([]);
  });

  it("says that nothing listens where the issuer should be", async () => {
    write({ issuer: "http://127.0.0.1:1", keys: [{ id: "one", from: current() }] });
    expect((await run("show")).stdout).toContain("Nothing is listening at 127.0.0.1:1.");
  });

  it("says that a silent issuer took too long, and is interrupted by its signal", async () => {
    site.set("/.well-known/openid-configuration", new Response(new ReadableStream()));
    const { signal } = new AbortController();
    const published = await readPublished({ issuer: issuer(), timeoutMs: 20, signal });
    expect(published.problem).toContain("did not answer within 0.02 s");
    const aborted = readPublished({ issuer: issuer(), signal: AbortSignal.timeout(20) });
    await expect(aborted).rejects.toThrow("aborted");
  });

  it("does not take another key with the same kid for ours", async () => {
    write({ issuer: issuer(), keys: [{ id: "one", from: current() }] });
    await run("publish", "--to", "out");
    upload();
    const [key] = readDocument("jwks.json").keys;
    const forged = JSON.stringify({ keys: [{ ...key, n: `A${key.n.slice(1)}` }] });
    site.set("/.well-known/jwks.json", forged);
    expect((await run("show")).stdout).toContain("The key one, which signs, is not among");
  });

  it("names a key that signs before its time because there is no other", async () => {
    const soon = new Date(Date.now() + 3600_000).toISOString();
    write({ issuer: issuer(), keys: [{ id: "soon", from: soon }] });
    await run("publish", "--to", "out");
    upload();
    const result = await run("show");
    expect(result).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("! The key soon signs already"),
    });
  });
});

describe("a key file that cannot be used", () => {
  const fileOf = (algorithm: string) => join(folder, `.sekisho/asker-keys/old-${algorithm}.pem`);
  const pemOf = ({ privateKey }: { privateKey: KeyObject }) =>
    String(privateKey.export({ type: "pkcs8", format: "pem" }));

  it.each<[string, string, () => string]>([
    ["is broken", "RS256", () => "-----BEGIN PRIVATE KEY-----\nx\n"],
    ["is empty", "ES256", () => ""],
    [
      "holds a key for ES256",
      "RS256",
      () => pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" })),
    ],
    ["is too short", "RS256", () => pemOf(generateKeyPairSync("rsa", { modulusLength: 1024 }))],
    [
      "is of another curve",
      "ES256",
      () => pemOf(generateKeyPairSync("ec", { namedCurve: "P-384" })),
    ],
  ])("publish names the key file, and writes nothing, if it %s", async (_name, algorithm, pem) => {
    write({ issuer: issuer(), algorithm, keys: [keys[0]] });
    const file = fileOf(algorithm);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, pem());
    expect(await run("publish", "--to", "out")).toMatchObject(failing(1, `${file} `));
    expect(existsSync(join(folder, "out"))).toBe(false);
    expect(await run("show")).toMatchObject(failing(1, "asker rotate --now"));
  });

  it("signs and verifies again when it was repaired", async () => {
    const asker = { issuer: issuer(), algorithm: "ES256" as const, keys: keys.slice(0, 1) };
    const file = fileOf("ES256");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
    const dataFolder = join(folder, ".sekisho");
    const tokens = openLocalAskerTokens({ asker, dataFolder });
    const readKey = openLocalAskerKeys({ asker, dataFolder })?.get(asker.issuer);
    if (tokens === undefined || readKey === undefined) throw new Error("The section is there.");
    const issue = () =>
      tokens.issue({
        to: { audience: "agent", claims: [], subject: "slack" },
        asker: { person: { team: "T1", user: "U1" }, requestId: "r", isOwnWord: true },
        body: Buffer.from("{}"),
        signal: new AbortController().signal,
      });
    await expect(issue()).rejects.toThrow(file);
    const header = { alg: "ES256" };
    await expect(readKey(header, { payload: "", signature: "" })).rejects.toThrow(file);
    writeFileSync(file, pemOf(generateKeyPairSync("ec", { namedCurve: "P-256" })));
    await jwtVerify(await issue(), readKey, { audience: "agent" });
  });

  it("show names a key file that is a folder", async () => {
    write({ issuer: issuer(), keys: [keys[0]] });
    mkdirSync(fileOf("RS256"), { recursive: true });
    expect(await run("show")).toMatchObject(failing(1, `${fileOf("RS256")} cannot be read`));
  });
});

describe("sekisho asker rotate", () => {
  const readKeys = () =>
    JSON.parse(readFileSync(join(folder, "sekisho.config.json"), "utf8")).asker.keys;

  it("adds a key to the file, and changes nothing else in it", async () => {
    const path = write({ issuer: issuer(), keys: [keys[0]] });
    const before = JSON.parse(readFileSync(path, "utf8"));
    expect(await run("rotate")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("+ asker.keys"),
    });
    const [first, second, ...others] = readKeys();
    expect([first, others]).toEqual([keys[0], []]);
    const after = JSON.parse(readFileSync(path, "utf8"));
    expect({ ...after, asker: { ...after.asker, keys: [first] } }).toEqual(before);
    expect(await run("rotate")).toMatchObject(failing(1, `The key ${second.id} signs from`));
    expect(readKeys()).toHaveLength(2);
  });

  it("drops a key that is over", async () => {
    write({ issuer: issuer(), keys });
    expect(await run("rotate")).toMatchObject({ code: 0, stdout: "- asker.keys: old\n" });
    expect(readKeys()).toEqual([keys[1]]);
  });

  it("writes nothing with --dry-run", async () => {
    write({ issuer: issuer(), keys });
    expect(await run("rotate", "--dry-run")).toMatchObject({ code: 0 });
    expect(readKeys()).toEqual(keys);
  });

  it("writes nothing if the keys are no longer those of its plan", () => {
    const path = write({ issuer: issuer(), keys });
    const text = readFileSync(path, "utf8");
    const oldKeys = [{ id: "old", from: "2026-01-01T00:00:00Z" }];
    expect(() => replaceKeys({ path, before: oldKeys, after: oldKeys })).toThrow("try again");
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("replaces all keys with --now, and says what breaks", async () => {
    write({ issuer: issuer(), keys });
    const result = await run("rotate", "--now");
    expect(result).toMatchObject(failing(0, "they refuse the new tokens"));
    expect(readKeys()).toHaveLength(1);
    expect(keys.map(({ id }) => id)).not.toContain(readKeys()[0].id);
  });
});
