/** Destinations, routes and authenticators in the configuration: what each may be, and what is refused in which words. */
import { describe, expect, it } from "@jest/globals";
import {
  createFingerprints,
  listUndeployedChanges,
  toLiveSettings,
  withLiveSettings,
} from "@sekisho/config/live-settings.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { httpUrl } from "@sekisho/config/values.ts";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import fc from "fast-check";
import { problemsOf } from "./problems-of.ts";

const url = "https://agents.example/";
const secret = { env: "SECRET" };
const provider =
  "projects/123456789/locations/global/workloadIdentityPools/sekisho/providers/verification";
const role = "arn:aws:iam::123456789012:role/sekisho-prod-verification";
const id = "0d1c2b3a-4f5e-4a6b-8c7d-9e0f1a2b3c4d";

function destinationWith(authorizer: object) {
  const { far } = parseConfig({
    json: { destinations: { far: { transport: "https", url, authorizer } }, routes: [] },
  }).destinations;
  return far?.transport === "https" ? far.authorizer : undefined;
}

const saysOf = (json: object) => problemsOf(json).join("\n");

const functionArn = "arn:aws:lambda:eu-west-1:222222222222:function:host";

describe("an address", () => {
  it("accepts only an address that can be called", () => {
    const part = fc.constantFrom(
      ...["https", "http", "ftp", "://", ":", "//", "u:p@", "@", "a.example", "127.0.0.1", "[::1]"],
      ...["localhost", ":8080", "/", "?q", "#f", " ", "%", "\\"],
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.array(part, { maxLength: 6 }).map((parts) => parts.join("")),
        ),
        (text) => {
          const parsedConfig = httpUrl().safeParse(text);
          fc.pre(parsedConfig.success);
          void createHttpsTransport({ url: text, authorizer: noAuthorizer }).close?.();
        },
      ),
      { maxSkipsPerRun: 1000 },
    );
  });

  it.each(["https://u:p@agents.example/", "https://u@agents.example/"])(
    "refuses credentials in the address %s",
    (address) => {
      const far = {
        transport: "https",
        url: address,
        authorizer: { type: "bearer", token: secret },
      };
      expect(saysOf({ destinations: { far }, routes: [] })).toMatch(
        /far\.url: .*without credentials/,
      );
    },
  );

  it.each([{ url: "http://127.0.0.1:8443/" }, {}])(
    "refuses an address without TLS for a client certificate: %j",
    (where) => {
      const far = {
        transport: "https",
        ...where,
        authorizer: { type: "mtls", certificate: secret, key: secret },
      };
      expect(saysOf({ destinations: { far }, routes: [] })).toMatch(
        /far\.url: must be an https URL.*mtls/,
      );
    },
  );
});

describe("an authorizer", () => {
  it.each([
    [{ type: "bearer", token: secret }, {}],
    [{ type: "sigv4", service: "lambda", region: "eu-west-1", functionArn }, {}],
    [
      {
        type: "sigv4",
        service: "lambda",
        region: "eu-west-1",
        assumeRoleArn: role,
        externalId: "from-sekisho",
      },
      {},
    ],
    [
      { type: "web-identity", audience: url },
      { signingAlgorithm: "RS256", durationSeconds: 300 },
    ],
    [
      {
        type: "google",
        workloadIdentityProvider: provider,
        serviceAccount: "s@p.iam.gserviceaccount.com",
      },
      {},
    ],
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
  ])("accepts the authorizer %j, with the defaults %j", (authorizer, defaults) => {
    expect(destinationWith(authorizer)).toEqual({ ...authorizer, ...defaults });
  });

  it.each([
    [
      { type: "kerberos" },
      /authorizer\.type: must be one of "none", "bearer", "sigv4", "web-identity", "google", "azure"/,
    ],
    [{ type: "web-identity" }, /authorizer\.audience/],
    [{ type: "web-identity", audience: url, durationSeconds: 7200 }, /authorizer\.durationSeconds/],
    [
      { type: "web-identity", audience: url, signingAlgorithm: "HS256" },
      /authorizer\.signingAlgorithm/,
    ],
    [
      { type: "sigv4", service: "lambda", region: "eu-west-1", functionArn: "host" },
      /functionArn: must be the ARN of a function/,
    ],
    [
      { type: "sigv4", service: "execute-api", region: "eu-west-1", functionArn },
      /functionArn: is for the service "lambda"/,
    ],
    [
      { type: "sigv4", service: "lambda", region: "eu-west-2", functionArn },
      /functionArn: is in another region/,
    ],
    [
      { type: "sigv4", service: "lambda", region: "r", externalId: "x1" },
      /externalId: .*assumeRoleArn/,
    ],
    [
      { type: "sigv4", service: "lambda", region: "r", assumeRoleArn: "arn:aws:s3:::role" },
      /assumeRoleArn: must be the ARN/,
    ],
    [
      {
        type: "google",
        workloadIdentityProvider: "pool",
        serviceAccount: "a@b.iam.gserviceaccount.com",
      },
      /projects\/NUMBER/,
    ],
    [
      {
        ...{ type: "google", workloadIdentityProvider: provider, audience: "an-audience" },
        ...{ serviceAccount: "s@p.iam.gserviceaccount.com", scope: "a-scope" },
      },
      /authorizer\.audience: has no effect with scope/,
    ],
    [
      { type: "google", workloadIdentityProvider: provider, serviceAccount: "me@example.com" },
      /serviceAccount: must be the e-mail/,
    ],
    [
      { type: "azure", tenantId: "contoso", clientId: id, scope: "x" },
      /tenantId: must be the UUID of the tenant/,
    ],
    [
      { type: "azure", tenantId: id, clientId: id, scope: "two  blanks" },
      /scope: must be scopes separated/,
    ],
    [
      {
        type: "oauth-client-credentials",
        tokenUrl: "http://issuer.example/",
        clientId: "us",
        clientSecret: secret,
      },
      /tokenUrl: must be an https URL/,
    ],
    [
      { type: "token-exchange", tokenUrl: "http://issuer.example/" },
      /tokenUrl: must be an https URL/,
    ],
    [
      { type: "token-exchange", tokenUrl: url, clientSecret: secret },
      /authorizer\.clientId: is missing; set it, because there is a clientSecret/,
    ],
    [
      { type: "token-exchange", tokenUrl: url, resource: "https://api.example/#part" },
      /authorizer\.resource: must be an absolute URI without a fragment/,
    ],
    [{ type: "token-exchange", tokenUrl: url }, /far\.authorizer: needs the section asker/],
    [
      { type: "mtls", certificate: secret, key: "-----BEGIN PRIVATE KEY-----" },
      /authorizer\.key: must be a reference/,
    ],
  ])("refuses the value %j", (authorizer, words) => {
    expect(() => destinationWith(authorizer)).toThrow(words);
  });
});

describe("a route", () => {
  const destinations = { a: { transport: "in-process" }, b: { transport: "in-process" } };

  it("accepts one destination of a route or several, as a list", () => {
    const routes = [
      { channel: "C1", destination: ["a", "b"] },
      { word: "deploy", destination: "b" },
      { destination: "a" },
    ];
    const parsedConfig = parseConfig({ json: { destinations, routes } });
    expect(parsedConfig.routes.map(({ destination }) => destination)).toEqual([
      ["a", "b"],
      ["b"],
      ["a"],
    ]);
    expect(parseConfig({ json: parsedConfig })).toEqual(parsedConfig);
  });

  it.each([
    [{ destination: [] }, /routes\[0\]\.destination/],
    [{ destination: ["a", "nowhere"] }, /there is no destination "nowhere"; .*: a, b/],
    [{ destination: ["a", "b", "a"] }, /"a" appears more than once/],
    [{ destination: "constructor" }, /there is no destination "constructor"/],
    [{ word: "deploy:", destination: "a" }, /routes\[0\]\.word: .*without the colon/],
    [{ word: "two words", destination: "a" }, /one word/],
  ])("refuses the value %j", (route, words) => {
    expect(saysOf({ destinations, routes: [route] })).toMatch(words);
  });

  it("refuses a route behind one that matches everything, but not behind one for a word", () => {
    const routes = (first: object) => ({
      destinations,
      routes: [{ destination: "a", ...first }, { destination: "b" }],
    });
    expect(saysOf(routes({}))).toMatch(/^routes\[0\]: matches every message, .*move it to the end/);
    expect(saysOf(routes({ word: "deploy" }))).toBe("");
  });
});

describe("an authenticator", () => {
  const issuer = { issuer: "https://issuer.example", audience: "sekisho", subjects: ["us"] };
  const tokens = { transport: "https", authorizer: { type: "web-identity", audience: "sekisho" } };
  const withAuthenticator = (authenticator: object, local: object = tokens) =>
    saysOf({ execution: { authenticator }, destinations: { local } });

  it.each([
    { type: "jwt", issuers: [issuer] },
    { type: "jwt", issuers: [{ ...issuer, audience: undefined, clients: ["a", "b"] }] },
    { type: "web-identity", issuer: issuer.issuer, audience: "sekisho", roles: [role] },
    { type: "platform" },
  ])("accepts the authenticator %j", (authenticator) => {
    expect(withAuthenticator(authenticator)).toBe("");
  });

  it.each([
    [{ type: "jwt", issuers: [] }, /authenticator\.issuers/],
    [{ type: "jwt", issuers: [issuer, issuer] }, /each issuer once/],
    [{ type: "jwt", issuers: [{ ...issuer, subjects: [] }] }, /subjects/],
    [
      { type: "jwt", issuers: [{ ...issuer, audience: undefined }] },
      /issuers\[0\]: needs either `audience` or.*`clients`/,
    ],
    [
      { type: "jwt", issuers: [{ ...issuer, clients: ["a"] }] },
      /issuers\[0\]: needs either `audience` or.*`clients`/,
    ],
    [{ type: "jwt", issuers: [{ ...issuer, audience: undefined, clients: [] }] }, /clients/],
    [{ type: "jwt", issuers: [{ ...issuer, audience: undefined, clients: [""] }] }, /clients/],
    [{ type: "jwt", issuers: [{ ...issuer, audience: undefined, clients: "a" }] }, /clients/],
    [{ type: "jwt", issuers: [{ ...issuer, algorithms: ["HS256"] }] }, /algorithms/],
    [{ type: "jwt", issuers: [{ ...issuer, algorithms: ["none"] }] }, /algorithms/],
    [{ type: "jwt", issuers: [{ ...issuer, issuer: "http://issuer.example" }] }, /an https URL/],
    [
      { type: "web-identity", issuer: issuer.issuer, audience: "sekisho", roles: ["*"] },
      /must be the ARN/,
    ],
    [{ type: "magic" }, /one of "none", "bearer", "jwt", "web-identity", "platform"/],
  ])("refuses the value %j", (authenticator, words) => {
    expect(withAuthenticator(authenticator)).toMatch(words);
  });

  it("refuses an authenticator with tokens if a route leads to the local host without one", () => {
    const authenticator = { type: "jwt", issuers: [issuer] };
    expect(withAuthenticator(authenticator, { transport: "in-process" })).toMatch(
      /^execution\.authenticator: "jwt" .*destinations\.local/,
    );
    expect(withAuthenticator({ type: "platform" }, { transport: "in-process" })).toBe("");
  });
});

describe("A2A", () => {
  const card = "https://agents.example/.well-known/agent-card.json";
  const url = "https://rpc.example/a2a";
  const bearer = { type: "bearer", token: { secretsManager: "agents-token" } };
  const signed = { type: "sigv4", service: "execute-api", region: "eu-west-1" };
  const api = "https://abc123.execute-api.eu-west-1.amazonaws.com";
  const stage = { verification: { account: "111111111111", region: "eu-central-1" } };

  const jsonOf = (agent: object, otherKeys: object = {}) => {
    return { destinations: { agent: { transport: "a2a", ...agent } }, routes: [], ...otherKeys };
  };
  const configOf = (agent: object, otherKeys?: object) =>
    parseConfig({ json: jsonOf(agent, otherKeys) });
  const problemsWith = (agent: object, otherKeys?: object) => problemsOf(jsonOf(agent, otherKeys));

  describe("a destination over A2A", () => {
    it("reads an A2A destination as not idempotent, in the dialect a2a and the highest version, by default", () => {
      expect(configOf({ card, authorizer: bearer }).destinations.agent).toMatchObject({
        ...{ card, version: "highest", dialect: "a2a", idempotent: false, forwardBotToken: false },
      });
      const agentKeys = {
        card,
        url,
        authorizer: bearer,
        version: "0.3",
        dialect: "a2a-0.3",
        idempotent: true,
      } as const;
      const { agent } = configOf(agentKeys).destinations;
      expect(agent).toMatchObject(agentKeys);
      expect(configOf({ ...agent }).destinations.agent).toEqual(agent);
    });

    it("reads an A2A destination as idempotent by default if it is the host of the local run", () => {
      expect(configOf({}).destinations.agent).toMatchObject({ idempotent: true });
      expect(configOf({ idempotent: false }).destinations.agent).toMatchObject({
        idempotent: false,
      });
    });

    it.each([
      [
        "the bot token",
        { card, authorizer: bearer, forwardBotToken: true },
        /forwardBotToken: must be false/,
      ],
      ["a version before 0.3", { card, authorizer: bearer, version: "0.2.5" }, /agent\.version/],
      ["a url without a card", { url, authorizer: bearer }, /agent\.card: is missing/],
      [
        "a card without TLS",
        { card: "http://agents.example/card.json", authorizer: bearer },
        /agent\.card: must be an https URL/,
      ],
      ["no credentials", { card }, /agent\.authorizer: must not be "none"/],
      [
        "no credentials for messages, though the card is of this machine",
        { card: "http://127.0.0.1:9/card.json", url },
        /agent\.authorizer: must not be "none"/,
      ],
    ])("refuses an A2A destination with %s", (_what, agent, words) => {
      expect(problemsWith(agent)).toEqual([expect.stringMatching(words)]);
    });

    it.each([
      "https://europe-west1-aiplatform.googleapis.com/v1beta1/projects/p/a2a/v1/card",
      "https://discoveryengine.googleapis.com/v1/projects/1/a2a/v1/card",
    ])("refuses an ID token for the API of Google at %s", (googleCard) => {
      const serviceAccount = "s@p.iam.gserviceaccount.com";
      const google = { type: "google", workloadIdentityProvider: provider, serviceAccount };
      expect(problemsWith({ card: googleCard, authorizer: google })).toEqual([
        expect.stringMatching(/agent\.authorizer\.scope: is missing; set it, usually to/),
      ]);
      const scope = "https://www.googleapis.com/auth/cloud-platform";
      expect(problemsWith({ card: googleCard, authorizer: { ...google, scope } })).toEqual([]);
      expect(problemsWith({ card, authorizer: google })).toEqual([]);
    });

    it.each([
      ["card", { card: "http://127.0.0.1:9/card.json", url }],
      ["url", { card, url: "http://127.0.0.1:9/" }],
      ["card", {}],
    ])(
      "refuses a client certificate without TLS at the %s of an A2A destination",
      (field, addresses) => {
        const authorizer = { type: "mtls", certificate: { env: "CERT" }, key: { env: "KEY" } };
        expect(problemsWith({ ...addresses, authorizer })).toEqual([
          expect.stringMatching(new RegExp(`agent\\.${field}: must be an https URL.*mtls`)),
        ]);
      },
    );

    it("leads an A2A destination without a card to the local host, and checks its time limit and token", () => {
      const routes = [{ destination: "agent" }];
      const execution = { authenticator: { type: "bearer", tokens: [{ env: "TOKEN" }] } };
      expect(problemsWith({}, { routes })).toEqual([]);
      expect(problemsWith({}, { routes, execution })).toEqual([
        expect.stringContaining("destinations.agent"),
      ]);
      expect(problemsWith({ authorizer: bearer }, { routes, execution })).toEqual([]);
      expect(
        problemsWith({}, { execution: { syncBudgetMs: 1400 }, limits: { callTimeoutMs: 1500 } }),
      ).toEqual([expect.stringContaining("execution.syncBudgetMs")]);
    });
  });

  describe("a destination that carries A2A otherwise than over HTTPS", () => {
    const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
    const runtime = { transport: "agentcore", runtimeArn };

    it.each([
      [{ transport: "in-process" }, { dialect: "zone", idempotent: true, longPollMs: "auto" }],
      [runtime, { dialect: "zone", idempotent: true, longPollMs: "auto" }],
      [
        { ...runtime, protocol: "sekisho" },
        { dialect: "zone", idempotent: true, longPollMs: "auto" },
      ],
      [
        { ...runtime, protocol: "a2a" },
        { dialect: "a2a", idempotent: false, longPollMs: "auto", version: "highest" },
      ],
      [
        { transport: "in-process", protocol: "a2a" },
        { dialect: "a2a", idempotent: true, longPollMs: "auto", version: "highest" },
      ],
    ])("reads %j with the defaults of its protocol", (agent, defaults) => {
      const { destinations } = configOf(agent);
      expect(destinations.agent).toMatchObject(defaults);
      // The functions of a stage parse it again.
      expect(configOf({ ...destinations.agent }).destinations).toEqual(destinations);
    });

    it("keeps the fingerprint of a runtime that names no protocol", () => {
      expect(configOf(runtime).destinations.agent).not.toHaveProperty("protocol");
      expect(createFingerprints(configOf(runtime))).not.toEqual(
        createFingerprints(configOf({ ...runtime, protocol: "a2a" })),
      );
    });

    it.each([
      [{ forwardBotToken: true }, /agent\.forwardBotToken: must be false/],
      [{ agent: "ops" }, /agent\.agent: must not be set, because A2A cannot name an agent/],
      [{ version: "0.2" }, /agent\.version/],
      [{ protocol: "mcp" }, /agent\.protocol/],
      [{ protocol: "sekisho", version: "1.0" }, /agent\.version: is for the protocol a2a only/],
    ])("refuses %j", (fields, words) => {
      for (const carrier of [runtime, { transport: "in-process" }])
        expect(problemsWith({ ...carrier, protocol: "a2a", ...fields })).toEqual([
          expect.stringMatching(words),
        ]);
    });
  });

  describe("an A2A destination in a stage", () => {
    const stages = { dev: { ...stage, execution: { kind: "external" } } };

    it("requires a card for a route of a stage, and leaves an unused destination without one out", () => {
      expect(problemsWith({}, { stages, routes: [{ destination: "agent" }] })).toEqual([
        expect.stringMatching(
          /"agent" has no card, which the stage dev needs; set destinations\.agent\.card/,
        ),
      ]);
      expect(
        createStageConfig({ config: configOf({}, { stages }), stageName: "dev" }).destinations,
      ).toEqual({});
    });

    it("allows signed API calls only to the hosts of the API, for the card and for the messages", () => {
      const at = (agent: object) => problemsWith({ authorizer: signed, ...agent }, { stages });
      expect(at({ card: `${api}/card.json` })).toEqual([]);
      expect(at({ card: `${api}/card.json`, url })).toEqual([
        expect.stringMatching(/agent\.url: must have the API's own host/),
      ]);
      expect(at({ card, url: api })).toEqual([expect.stringMatching(/agent\.card: must have/)]);
    });
  });

  describe("the live settings of an A2A destination", () => {
    const deployedConfig = configOf({ card, url, authorizer: bearer, version: "1.0" });
    const edit = (changes: object) =>
      configOf({ card, url, authorizer: bearer, version: "1.0", ...changes });

    it("live settings change addresses, version and dialect of an A2A destination, and unpin a version", () => {
      const editedConfig = edit({
        card: "https://other.example/card.json",
        url: "https://other.example/",
        version: "highest",
        dialect: "a2a-0.3",
      });
      expect(
        listUndeployedChanges({
          config: editedConfig,
          deployed: createFingerprints(deployedConfig),
        }),
      ).toEqual([]);
      const json = JSON.parse(JSON.stringify(toLiveSettings(editedConfig)));
      expect(withLiveSettings({ config: deployedConfig, json })).toEqual(editedConfig);
    });

    it.each([
      [
        "a signed call",
        { authorizer: signed },
        { card: "https://other.example/card.json", authorizer: signed },
      ],
      ["a new url", { url: undefined }, { url }],
    ])("requires a deploy for %s at an A2A destination", (_what, oldValue, newValue) => {
      const fingerprints = createFingerprints(edit(oldValue));
      expect(listUndeployedChanges({ config: edit(oldValue), deployed: fingerprints })).toEqual([]);
      expect(listUndeployedChanges({ config: edit(newValue), deployed: fingerprints })).toEqual([
        "agent",
      ]);
    });

    it("keeps the deployed addresses of a signed destination", () => {
      const config = edit({ authorizer: signed });
      const { agent: fingerprint } = createFingerprints(config);
      const agent = {
        fingerprint,
        card: "https://evil.example/",
        url: "https://evil.example/",
        version: "0.3",
      };
      const json = { destinations: { agent } };
      expect(withLiveSettings({ config, json }).destinations.agent).toEqual({
        ...config.destinations.agent,
        version: "0.3",
      });
    });

    it("ignores pushed settings of A2A for a destination that has become another kind", () => {
      const destinations = { agent: { transport: "https", url, authorizer: bearer } };
      const config = parseConfig({ json: { destinations, routes: [] } });
      const json = { destinations: { agent: { card, version: "0.3", deadlineMs: 5000 } } };
      const { agent } = withLiveSettings({ config, json }).destinations;
      expect(agent).toEqual({ ...config.destinations.agent, deadlineMs: 5000 });
    });
  });
});
