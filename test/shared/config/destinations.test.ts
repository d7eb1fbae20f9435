/** Destinations, routes and authenticators in the configuration: what each may be, and what is refused in which words. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ConfigError, parseConfig } from "../../../lambdas/shared/config/load.ts";
import { httpUrl } from "../../../lambdas/shared/config/values.ts";
import { noAuthorizer } from "../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "../../../lambdas/verification/transport/http/transport.ts";

const url = "https://agents.example/";
const secret = { env: "SECRET" };
const provider = "projects/123456789/locations/global/workloadIdentityPools/sekisho/providers/verification";
const role = "arn:aws:iam::123456789012:role/sekisho-prod-verification";
const id = "0d1c2b3a-4f5e-4a6b-8c7d-9e0f1a2b3c4d";

function destinationWith(authorizer: object) {
  const { far } = parseConfig({
    json: { destinations: { far: { transport: "https", url, authorizer } }, routes: [] },
  }).destinations;
  return far?.transport === "https" ? far.authorizer : undefined;
}

function problemsOf(json: object): string {
  try {
    parseConfig({ json });
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems.join("\n");
    throw thrown;
  }
  return "";
}

const functionArn = "arn:aws:lambda:eu-west-1:222222222222:function:host";

describe("an address", () => {
  it("that the configuration takes is one that can be called, whatever it is", () => {
    const part = fc.constantFrom(
      "https",
      "http",
      "ftp",
      "://",
      ":",
      "//",
      "u:p@",
      "@",
      "a.example",
      "127.0.0.1",
      "[::1]",
      "localhost",
      ":8080",
      "/",
      "?q",
      "#f",
      " ",
      "%",
      "\\",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.array(part, { maxLength: 6 }).map((parts) => parts.join("")),
        ),
        (text) => {
          const parsed = httpUrl().safeParse(text);
          fc.pre(parsed.success);
          void createHttpsTransport({ url: text, authorizer: noAuthorizer }).close?.();
        },
      ),
      { maxSkipsPerRun: 1000 },
    );
  });

  it.each(["https://u:p@agents.example/", "https://u@agents.example/"])("may not hold credentials: %s", (address) => {
    const far = { transport: "https", url: address, authorizer: { type: "bearer", token: secret } };
    expect(problemsOf({ destinations: { far }, routes: [] })).toMatch(/far\.url: .*without credentials/);
  });

  it.each([{ url: "http://127.0.0.1:8443/" }, {}])(
    "that is no https is refused for a client certificate: %j",
    (where) => {
      const far = { transport: "https", ...where, authorizer: { type: "mtls", certificate: secret, key: secret } };
      expect(problemsOf({ destinations: { far }, routes: [] })).toMatch(
        /far\.url: a client certificate needs an https/,
      );
    },
  );
});

describe("an authorizer", () => {
  it.each([
    [{ type: "bearer", token: secret }, {}],
    [{ type: "sigv4", service: "lambda", region: "eu-west-1", functionArn }, {}],
    [{ type: "sigv4", service: "lambda", region: "eu-west-1", assumeRoleArn: role, externalId: "from-sekisho" }, {}],
    [
      { type: "web-identity", audience: url },
      { signingAlgorithm: "RS256", durationSeconds: 300 },
    ],
    [{ type: "google", workloadIdentityProvider: provider, serviceAccount: "s@p.iam.gserviceaccount.com" }, {}],
    [
      { type: "azure", tenantId: id, clientId: id, scope: "api://agents/.default" },
      { tokenAudience: "api://AzureADTokenExchange" },
    ],
    [
      {
        type: "oauth-client-credentials",
        tokenUrl: "https://issuer.example/token",
        clientId: "us",
        clientSecret: secret,
      },
      { clientAuthentication: "basic" },
    ],
    [{ type: "mtls", certificate: secret, key: secret }, {}],
  ])("may be %j, with the defaults %j", (authorizer, defaults) => {
    expect(destinationWith(authorizer)).toEqual({ ...authorizer, ...defaults });
  });

  it.each([
    [{ type: "kerberos" }, /authorizer\.type: one of "none", "bearer", "sigv4", "web-identity", "google", "azure"/],
    [{ type: "web-identity" }, /authorizer\.audience/],
    [{ type: "web-identity", audience: url, durationSeconds: 7200 }, /authorizer\.durationSeconds/],
    [{ type: "web-identity", audience: url, signingAlgorithm: "HS256" }, /authorizer\.signingAlgorithm/],
    [
      { type: "sigv4", service: "lambda", region: "eu-west-1", functionArn: "host" },
      /functionArn: the ARN of a function/,
    ],
    [
      { type: "sigv4", service: "execute-api", region: "eu-west-1", functionArn },
      /functionArn: is for the service lambda/,
    ],
    [{ type: "sigv4", service: "lambda", region: "eu-west-2", functionArn }, /functionArn: is in another region/],
    [{ type: "sigv4", service: "lambda", region: "r", externalId: "x1" }, /externalId: is for an assumeRoleArn/],
    [{ type: "sigv4", service: "lambda", region: "r", assumeRoleArn: "arn:aws:s3:::role" }, /the ARN of a role/],
    [
      { type: "google", workloadIdentityProvider: "pool", serviceAccount: "a@b.iam.gserviceaccount.com" },
      /projects\/NUMBER/,
    ],
    [
      { type: "google", workloadIdentityProvider: provider, serviceAccount: "me@example.com" },
      /service account's e-mail/,
    ],
    [{ type: "azure", tenantId: "contoso", clientId: id, scope: "x" }, /tenantId: the id of the tenant/],
    [{ type: "azure", tenantId: id, clientId: id, scope: "two  blanks" }, /one blank between two/],
    [
      { type: "oauth-client-credentials", tokenUrl: "http://issuer.example/", clientId: "us", clientSecret: secret },
      /tokenUrl: an https URL/,
    ],
    [{ type: "mtls", certificate: secret, key: "-----BEGIN PRIVATE KEY-----" }, /authorizer\.key: a reference/],
  ])("may not be %j", (authorizer, words) => {
    expect(() => destinationWith(authorizer)).toThrow(words);
  });

  it("of a secret is never shown where it is the secret itself", () => {
    const problems = problemsOf({
      destinations: { far: { transport: "https", url, authorizer: { type: "bearer", token: "a-real-token" } } },
    });
    expect(problems).toContain("authorizer.token");
    expect(problems).not.toContain("a-real-token");
  });
});

describe("a route", () => {
  const destinations = { a: { transport: "in-process" }, b: { transport: "in-process" } };

  it("names one destination or several, which become a list", () => {
    const routes = [
      { channel: "C1", destination: ["a", "b"] },
      { word: "deploy", destination: "b" },
      { destination: "a" },
    ];
    const parsed = parseConfig({ json: { destinations, routes } });
    expect(parsed.routes.map(({ destination }) => destination)).toEqual([["a", "b"], ["b"], ["a"]]);
    expect(parseConfig({ json: parsed })).toEqual(parsed);
  });

  it.each([
    [{ destination: [] }, /routes\[0\]\.destination/],
    [{ destination: ["a", "nowhere"] }, /there is no destination "nowhere"; known: a, b/],
    [{ destination: ["a", "b", "a"] }, /"a" is there more than once; keep one/],
    [{ destination: "constructor" }, /there is no destination "constructor"/],
    [{ word: "deploy:", destination: "a" }, /one word, without the colon/],
    [{ word: "two words", destination: "a" }, /one word/],
  ])("may not be %j", (route, words) => {
    expect(problemsOf({ destinations, routes: [route] })).toMatch(words);
  });

  it("behind one that takes everything is refused, but not behind one for a word", () => {
    const routes = (first: object) => ({
      destinations,
      routes: [{ destination: "a", ...first }, { destination: "b" }],
    });
    expect(problemsOf(routes({}))).toMatch(/only the last route may be without team, channel and word/);
    expect(problemsOf(routes({ word: "deploy" }))).toBe("");
  });
});

describe("an authenticator", () => {
  const issuer = { issuer: "https://issuer.example", audience: "sekisho", subjects: ["us"] };
  const tokens = { transport: "https", authorizer: { type: "web-identity", audience: "sekisho" } };
  const withAuthenticator = (authenticator: object, local: object = tokens) =>
    problemsOf({ execution: { authenticator }, destinations: { local } });

  it.each([
    { type: "jwt", issuers: [issuer] },
    { type: "web-identity", issuer: issuer.issuer, audience: "sekisho", roles: [role] },
    { type: "platform" },
  ])("may be %j", (authenticator) => {
    expect(withAuthenticator(authenticator)).toBe("");
  });

  it.each([
    [{ type: "jwt", issuers: [] }, /authenticator\.issuers/],
    [{ type: "jwt", issuers: [issuer, issuer] }, /each issuer once/],
    [{ type: "jwt", issuers: [{ ...issuer, subjects: [] }] }, /subjects/],
    [{ type: "jwt", issuers: [{ ...issuer, algorithms: ["HS256"] }] }, /algorithms/],
    [{ type: "jwt", issuers: [{ ...issuer, algorithms: ["none"] }] }, /algorithms/],
    [{ type: "jwt", issuers: [{ ...issuer, issuer: "http://issuer.example" }] }, /an https URL/],
    [{ type: "web-identity", issuer: issuer.issuer, audience: "sekisho", roles: ["*"] }, /the ARN of a role/],
    [{ type: "magic" }, /one of "none", "bearer", "jwt", "web-identity", "platform"/],
  ])("may not be %j", (authenticator, words) => {
    expect(withAuthenticator(authenticator)).toMatch(words);
  });

  it("that wants a token is refused where a route leads to the local host without one", () => {
    const wanted = { type: "jwt", issuers: [issuer] };
    expect(withAuthenticator(wanted, { transport: "in-process" })).toMatch(
      /"jwt" refuses what comes from .*destinations\.local/,
    );
    expect(withAuthenticator({ type: "platform" }, { transport: "in-process" })).toBe("");
  });
});
