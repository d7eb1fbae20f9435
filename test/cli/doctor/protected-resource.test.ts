/** `sekisho doctor` at destinations that say which tokens they take, and the checks of the keys that sign who asked. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readParameter } from "@sekisho/sekisho/doctor/protected-resource.ts";
import { json } from "../../doubles/answers.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { openMachine, shownText } from "./a-machine.ts";

const machine = openMachine();
afterAll(() => machine.close());

const issuer = "https://asker.example";
const metadataPath = "/.well-known/oauth-protected-resource";
const bearer = { type: "bearer", token: { env: "PEER_TOKEN" } };
const token = "a-token-of-this-test";

let peer: WebServer;
let calls: { target: string; authorization: string | null }[];
let challenge: () => string;
let metadata: Record<string, unknown>;
let answerMetadata: () => Response;
beforeEach(async () => {
  calls = [];
  challenge = () => `Bearer resource_metadata="${new URL(metadataPath, peer.url).href}"`;
  metadata = { authorization_servers: [issuer] };
  answerMetadata = () => json(metadata);
  peer = await startWebServer({
    async handle({ target, request }) {
      calls.push({ target, authorization: request.headers.get("authorization") });
      if (target === metadataPath) return answerMetadata();
      return json({}, { status: 401, headers: { "www-authenticate": challenge() } });
    },
  });
});
afterEach(() => peer.close());

async function findAt(destination: Record<string, unknown>, asker: object | null = { issuer }) {
  machine.write({
    ...(asker && { asker }),
    destinations: { peer: { transport: "https", url: `${peer.url}/a`, ...destination } },
    routes: [{ destination: "peer" }],
  });
  return shownText(await machine.doctor({ PEER_TOKEN: token }), "peer");
}

describe("a destination that refuses calls and publishes the metadata of RFC 9728", () => {
  it("gets the authorizer asker as advice if it trusts our issuer and is not told", async () => {
    const text = await findAt({ authorizer: bearer });
    expect(text).toContain("takes tokens of https://asker.example as the bearer");
    expect(text).toContain('Write "authorizer": { "type": "asker" } into destinations.peer.');
  });

  it("gets its resource as audience as advice if the token has another one", async () => {
    metadata.resource = `${peer.url}/`;
    expect(await findAt({ authorizer: { type: "asker" } })).toContain(
      `Write "asker": { "audience": "${peer.url}/" } into destinations.peer.`,
    );
  });

  it.each([
    ["another host", () => "https://payroll.example/a"],
    ["another agent of its host", () => `${peer.url}/b`],
    ["an agent whose path begins alike", () => `${peer.url}/aa`],
    ["an agent below it", () => `${peer.url}/a/b`],
    ["its path with another query", () => `${peer.url}/a?agent=b`],
  ])("gets no advice to send tokens for %s", async (_name, resource) => {
    metadata.resource = resource();
    const text = await findAt({ authorizer: { type: "asker" } });
    expect(text).toMatch(/could not authenticate the caller|refuses/);
    expect(text).not.toContain(resource());
  });

  it("fills no screen with the servers that it names", async () => {
    metadata.authorization_servers = Array.from(
      { length: 500 },
      (_, at) => `https://s${at}.example`,
    );
    const text = await findAt({ authorizer: bearer, asker: true });
    expect(text).toContain("takes tokens of https://s0.example");
    expect(text).not.toContain("https://s499.example");
  });

  it("leads to the advice to trust our issuer if it names another server", async () => {
    metadata.authorization_servers = ["https://login.example"];
    expect(await findAt({ authorizer: bearer, asker: true })).toMatch(
      /takes tokens of https:\/\/login\.example, not of https:\/\/asker\.example.* → Let it trust/,
    );
  });

  it("shows that it asks for a scope, which the token never has", async () => {
    const { href } = new URL(metadataPath, peer.url);
    challenge = () => `Bearer scope="agent.invoke", resource_metadata="${href}"`;
    metadata.resource = `${peer.url}/a`;
    expect(await findAt({ authorizer: { type: "asker" } })).toContain("It asks for a scope");
  });

  it("receives no credential with the question", async () => {
    await findAt({ authorizer: bearer });
    expect(calls.filter(({ target }) => target === metadataPath)).toEqual([
      { target: metadataPath, authorization: null },
    ]);
  });

  it("leads this machine to no other origin", async () => {
    const targets: string[] = [];
    const other = await startWebServer({
      async handle({ target }) {
        targets.push(target);
        return json(metadata);
      },
    });
    challenge = () => `Bearer resource_metadata="${new URL(metadataPath, other.url).href}"`;
    const text = await findAt({ authorizer: bearer });
    await other.close();
    expect(text).toMatch(/could not authenticate the caller/);
    expect(targets).toEqual([]);
  });

  it.each<[string, () => string]>([
    ["another scheme", () => `Basic resource_metadata="${new URL(metadataPath, peer.url).href}"`],
    ["no address", () => 'Bearer realm="x"'],
  ])("leaves the finding as it was for a challenge with %s", async (_name, text) => {
    challenge = text;
    expect(await findAt({ authorizer: bearer })).toMatch(/could not authenticate the caller/);
    expect(calls.filter(({ target }) => target === metadataPath)).toEqual([]);
  });

  it.each<[string, () => Response]>([
    [
      "redirects",
      () => new Response(null, { status: 302, headers: { location: `${peer.url}/elsewhere` } }),
    ],
    ["is larger than 64 KiB", () => json({ ...metadata, more: "x".repeat(64 * 1024) })],
    [
      "is deeply nested",
      () => new Response(`{"authorization_servers":${"[".repeat(20_000)}${"]".repeat(20_000)}}`),
    ],
  ])("leaves the finding as it was if the metadata %s", async (_name, answer) => {
    answerMetadata = answer;
    expect(await findAt({ authorizer: bearer, asker: true })).toMatch(
      /could not authenticate the caller/,
    );
    expect(calls.map(({ target }) => target)).not.toContain("/elsewhere");
  });

  it("leaves the finding as it was without an issuer of ours, or at another server's resource", async () => {
    const plain = /could not authenticate the caller/;
    expect(await findAt({ authorizer: bearer }, null)).toMatch(plain);
    metadata.authorization_servers = ["https://login.example"];
    expect(await findAt({ authorizer: bearer })).toMatch(plain);
  });

  it("shows no text of the peer that is not a plain address", async () => {
    metadata.authorization_servers = [`x\u001b[31m ${token}`];
    const text = await findAt({ authorizer: bearer, asker: true });
    expect(text).toContain("no server that it names");
    expect(text).not.toContain(token);
  });
});

it.each([
  ['Bearer resource_metadata="https://a.example/x", scope="s"', "https://a.example/x"],
  [
    'Basic realm="b", bearer error="e",resource_metadata="https://a.example/y"',
    "https://a.example/y",
  ],
  ['Digest resource_metadata="https://a.example/z"', undefined],
  ["Bearer", undefined],
])("finds the metadata in the challenge %s", (text, expected) => {
  expect(readParameter(text, "resource_metadata")).toBe(expected);
});

describe("the check of the keys that sign who asked", () => {
  const check = async (parts: Record<string, unknown>) => {
    machine.write({
      destinations: { peer: { transport: "https", url: peer.url, authorizer: { type: "asker" } } },
      routes: [{ destination: "peer" }],
      ...parts,
    });
    return shownText(await machine.doctor(), "keys and issuer");
  };

  it("warns of an issuer that does not answer, and says how to publish", async () => {
    expect(await check({ asker: { issuer: "http://127.0.0.1:1" } })).toMatch(
      /^warning: .*Nothing is listening at 127\.0\.0\.1:1\..* → .*asker publish --to DIR, and put the files below http:\/\/127\.0\.0\.1:1\./,
    );
  });

  it("appears where a destination only trades the token", async () => {
    const authorizer = { type: "token-exchange", tokenUrl: "http://127.0.0.1:1/", clientId: "us" };
    const destinations = { peer: { transport: "https", url: peer.url, authorizer } };
    const text = await check({ asker: { issuer: "http://127.0.0.1:1" }, destinations });
    expect(text).toContain("Nothing is listening");
  });

  it("appears only where a destination is told", async () => {
    const destinations = { peer: { transport: "https", url: peer.url, authorizer: bearer } };
    expect(await check({ asker: { issuer }, destinations })).toBe("");
  });
});
