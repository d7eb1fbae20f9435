/** What the configuration says of the asker's token, and what it says about mistakes. */
import { describe, expect, it } from "@jest/globals";
import { readAudience, toAddress } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createPolicy } from "@sekisho/verification/gate/rules.ts";
import { problemsOf } from "./problems-of.ts";

const issuer = "https://asker.example";
const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
const url = "https://agents.example/rpc";
const bearer = { type: "bearer", token: { env: "PEER_TOKEN" } };
const told = ["team", "user", "channel", "thread"];

function configWith(destination: object, asker: object | undefined = { issuer }) {
  const routes = [{ destination: "far" }];
  return { ...(asker && { asker }), destinations: { far: destination }, routes };
}

function parse(destination: object): Destination {
  const { far } = parseConfig({ json: configWith(destination) }).destinations;
  if (far === undefined) throw new Error("There is no destination.");
  return far;
}

const https = { transport: "https", url, authorizer: bearer };

describe("the section asker", () => {
  it("has one key, which signs at once, and RS256 by default", () => {
    expect(parseConfig({ json: { asker: { issuer } } }).asker).toEqual({
      issuer,
      algorithm: "RS256",
      keys: [{ id: "first", from: "2026-01-01T00:00:00Z" }],
    });
  });

  it.each([
    [{}, "asker.issuer: is missing"],
    [{ issuer: "https://asker.example/" }, "asker.issuer: must have no slash at its end"],
    [
      { issuer: "https://asker.example?a" },
      "asker.issuer: must have no slash at its end, no query",
    ],
    [{ issuer: "asker.example" }, "asker.issuer: must be an https URL"],
    [{ issuer: "http://asker.example" }, "asker.issuer: must be an https URL"],
    [
      { issuer, algorithm: "HS256" },
      'asker.algorithm: Invalid option: expected one of "RS256"|"ES256"',
    ],
    [{ issuer, keys: [] }, "asker.keys: Too small"],
    [
      { issuer, keys: [{ id: "First", from: "2026-01-01T00:00:00Z" }] },
      "asker.keys[0].id: must be up to 32 lower-case letters",
    ],
    [{ issuer, keys: [{ id: "a", from: "soon" }] }, "asker.keys[0].from: must be a time such as"],
    [
      { issuer, keys: ["a", "a"].map((id) => ({ id, from: "2026-01-01T00:00:00Z" })) },
      "asker.keys: must not have an id twice",
    ],
    [{ issuer, secret: "x" }, "asker.secret: unknown key"],
  ])("says what is wrong: %j", (asker, problem) => {
    expect(problemsOf({ asker })).toEqual([expect.stringContaining(problem)]);
  });
});

describe("the asker of a destination", () => {
  it.each<[string, object, object]>([
    ["true", { asker: true }, { header: "sekisho-asker", claims: told, subject: "slack" }],
    [
      "an opaque subject",
      { asker: { subject: "opaque" } },
      { header: "sekisho-asker", claims: [], subject: "opaque" },
    ],
    [
      "everything",
      { asker: { audience: "a", header: "X-Who", claims: ["email"], subject: "opaque" } },
      { audience: "a", header: "x-who", claims: ["email"], subject: "opaque" },
    ],
    [
      "the authorizer",
      { authorizer: { type: "asker" } },
      { header: "sekisho-asker", claims: told, subject: "slack" },
    ],
  ])("gets its defaults: %s", (_name, changes, asker) => {
    expect(parse({ ...https, ...changes }).asker).toEqual(asker);
  });

  it("refuses the header that holds the shared token already", () => {
    const authorizer = { ...bearer, header: "X-Api-Key" };
    const json = configWith({ ...https, authorizer, asker: { header: "x-api-key" } });
    expect(problemsOf(json)).toContainEqual(
      expect.stringContaining("destinations.far.asker.header: must be another header"),
    );
    expect(problemsOf(configWith({ ...https, authorizer, asker: true }))).toEqual([]);
  });

  it("stays away from a destination that does not have it", () => {
    expect(parse(https)).not.toHaveProperty("asker");
  });

  it.each<[string, object, string]>([
    ["https", https, url],
    ["https of this machine", { transport: "https" }, "sekisho"],
    ["in-process", { transport: "in-process" }, "sekisho"],
    ["agentcore", { transport: "agentcore", runtimeArn }, runtimeArn],
    [
      "a card",
      { transport: "a2a", card: "https://a.example/card", authorizer: bearer },
      "https://a.example/card",
    ],
    [
      "a card with a url",
      { transport: "a2a", card: "https://a.example/card", url, authorizer: bearer },
      url,
    ],
  ])("has the destination's address as its audience: %s", (_name, destination, audience) => {
    expect(readAudience(parse({ ...destination, asker: true }))).toBe(audience);
    expect(readAudience(parse({ ...destination, asker: { audience: "own" } }))).toBe("own");
  });

  it.each([
    [false, "must be true, or an object with audience, header, claims or subject"],
    [{ audience: "" }, "asker.audience: Too small"],
    [{ header: "Authorization" }, "must not be a header that HTTP or AWS gives a meaning"],
    [{ header: "a b" }, "must be the name of a header"],
    [{ claims: ["name"] }, 'asker.claims[0]: Invalid option: expected one of "team"|'],
    [{ subject: "email" }, 'asker.subject: Invalid option: expected one of "slack"|"opaque"'],
    [{ people: true }, "asker.people: unknown key; choose from: audience, header, claims, subject"],
  ])("says what is wrong: %j", (asker, problem) => {
    const problems = problemsOf(configWith({ ...https, asker }));
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems[0]).toMatch(/^destinations\.far\.asker/);
  });

  it.each([
    ["asker", { ...https, asker: true }],
    ["authorizer", { ...https, authorizer: { type: "asker" } }],
  ])("needs the section asker, and names the key that needs it: %s", (key, destination) => {
    const { asker: _asker, ...json } = configWith(destination);
    expect(problemsOf(json)).toEqual([
      `destinations.far.${key}: needs the section asker, with the "issuer" of the tokens`,
    ]);
  });

  it("moves no task, and makes no other peer of the destination", () => {
    const pair = [https, { ...https, asker: { claims: ["email"] } }];
    const addresses = pair.map((destination) => {
      const config = parseConfig({ json: configWith(destination) });
      const { far } = config.destinations;
      const policy = createPolicy({ config });
      return [far && toAddress(far), policy.destinations.get("far")?.address];
    });
    expect(addresses[0]).toEqual(addresses[1]);
    expect(addresses[0]?.every(Boolean)).toBe(true);
  });
});
