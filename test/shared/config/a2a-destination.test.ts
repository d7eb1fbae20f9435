/** A destination that speaks A2A: what it may be, what is refused in which words, and what of it a stage takes and leaves. */
import { describe, expect, it } from "@jest/globals";
import {
  createFingerprints,
  listUndeployedChanges,
  toLiveSettings,
  withLiveSettings,
} from "../../../lambdas/shared/config/live-settings.ts";
import { ConfigError, parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";

const card = "https://agents.example/.well-known/agent-card.json";
const url = "https://rpc.example/a2a";
const bearer = { type: "bearer", token: { secretsManager: "agents-token" } };
const signed = { type: "sigv4", service: "execute-api", region: "eu-west-1" };
const api = "https://abc123.execute-api.eu-west-1.amazonaws.com";
const stage = { verification: { account: "111111111111", region: "eu-central-1" } };

function configOf(agent: object, rest: object = {}) {
  return parseConfig({ json: { destinations: { agent: { transport: "a2a", ...agent } }, routes: [], ...rest } });
}

function problemsOf(agent: object, rest?: object): string[] {
  try {
    configOf(agent, rest);
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
}

describe("a destination over A2A", () => {
  it("is one that does not deduplicate, in A2A's dialect and in the highest version, unless it says otherwise", () => {
    expect(configOf({ card, authorizer: bearer }).destinations.agent).toMatchObject({
      ...{ card, version: "highest", dialect: "a2a", idempotent: false, forwardBotToken: false },
    });
    const said = { card, url, authorizer: bearer, version: "0.3", dialect: "a2a-0.3", idempotent: true } as const;
    const { agent } = configOf(said).destinations;
    expect(agent).toMatchObject(said);
    expect(configOf({ ...agent }).destinations.agent).toEqual(agent);
  });

  it("deduplicates where it is the local run's own host", () => {
    expect(configOf({}).destinations.agent).toMatchObject({ idempotent: true });
    expect(configOf({ idempotent: false }).destinations.agent).toMatchObject({ idempotent: false });
  });

  it.each([
    ["a long poll", { card, authorizer: bearer, longPollMs: 1000 }, /longPollMs: A2A has no place for it/],
    ["the bot token", { card, authorizer: bearer, forwardBotToken: true }, /forwardBotToken: A2A has no place for it/],
    ["a version of before 0.3", { card, authorizer: bearer, version: "0.2.5" }, /agent\.version/],
    ["a url without a card", { url, authorizer: bearer }, /agent\.card: is missing: url stands in place of/],
    [
      "a card without TLS",
      { card: "http://agents.example/card.json", authorizer: bearer },
      /agent\.card: an https URL/,
    ],
    ["no credentials", { card }, /agent\.authorizer: "none" is refused for anything but loopback/],
    [
      "no credentials for messages, though the card is of this machine",
      { card: "http://127.0.0.1:9/card.json", url },
      /agent\.authorizer: "none" is refused/,
    ],
  ])("is refused with %s", (_what, agent, words) => {
    expect(problemsOf(agent)).toEqual([expect.stringMatching(words)]);
  });

  it.each([
    ["card", { card: "http://127.0.0.1:9/card.json", url }],
    ["url", { card, url: "http://127.0.0.1:9/" }],
    ["card", {}],
  ])("is refused where a client certificate would meet no TLS at its %s", (field, addresses) => {
    const authorizer = { type: "mtls", certificate: { env: "CERT" }, key: { env: "KEY" } };
    expect(problemsOf({ ...addresses, authorizer })).toEqual([
      expect.stringContaining(`agent.${field}: a client certificate needs an https address`),
    ]);
  });

  it("leads without a card to the local host, which answers in time and gets the token that it wants", () => {
    const routes = [{ destination: "agent" }];
    const execution = { authenticator: { type: "bearer", tokens: [{ env: "TOKEN" }] } };
    expect(problemsOf({}, { routes })).toEqual([]);
    expect(problemsOf({}, { routes, execution })).toEqual([expect.stringContaining("destinations.agent")]);
    expect(problemsOf({ authorizer: bearer }, { routes, execution })).toEqual([]);
    expect(problemsOf({}, { execution: { syncBudgetMs: 1400 }, limits: { callTimeoutMs: 1500 } })).toEqual([
      expect.stringContaining("execution.syncBudgetMs"),
    ]);
  });
});

describe("an A2A destination in a stage", () => {
  const stages = { dev: { ...stage, execution: { kind: "external" } } };

  it("needs a card where a route leads there, and is left out of the stage without one", () => {
    expect(problemsOf({}, { stages, routes: [{ destination: "agent" }] })).toEqual([
      expect.stringMatching(/"agent" has no card, which only the local run can do without \(stage dev\)/),
    ]);
    expect(createStageConfig({ config: configOf({}, { stages }), stageName: "dev" }).destinations).toEqual({});
  });

  it("is signed for APIs by their own hosts alone, that of the card and that of the messages", () => {
    const at = (agent: object) => problemsOf({ authorizer: signed, ...agent }, { stages });
    expect(at({ card: `${api}/card.json` })).toEqual([]);
    expect(at({ card: `${api}/card.json`, url })).toEqual([
      expect.stringMatching(/agent\.url: no permission can be given for it; name the API's own host/),
    ]);
    expect(at({ card, url: api })).toEqual([expect.stringMatching(/agent\.card: no permission/)]);
  });
});

describe("the live settings of an A2A destination", () => {
  const deployed = configOf({ card, url, authorizer: bearer, version: "1.0" });
  const edit = (changes: object) => configOf({ card, url, authorizer: bearer, version: "1.0", ...changes });

  it("bring other addresses, another version and another dialect, and take a pinned version back", () => {
    const edited = edit({
      card: "https://other.example/card.json",
      url: "https://other.example/",
      version: "highest",
      dialect: "a2a-0.3",
    });
    expect(listUndeployedChanges({ config: edited, deployed: createFingerprints(deployed) })).toEqual([]);
    const json = JSON.parse(JSON.stringify(toLiveSettings(edited)));
    expect(withLiveSettings({ config: deployed, json })).toEqual(edited);
  });

  it.each([
    ["a signed call", { authorizer: signed }, { card: "https://other.example/card.json", authorizer: signed }],
    ["a url where there was none", { url: undefined }, { url }],
  ])("do not hold %s", (_what, before, after) => {
    const fingerprints = createFingerprints(edit(before));
    expect(listUndeployedChanges({ config: edit(before), deployed: fingerprints })).toEqual([]);
    expect(listUndeployedChanges({ config: edit(after), deployed: fingerprints })).toEqual(["agent"]);
  });

  it("leave a signed destination's addresses as they were deployed", () => {
    const config = edit({ authorizer: signed });
    const { agent: fingerprint } = createFingerprints(config);
    const agent = { fingerprint, card: "https://evil.example/", url: "https://evil.example/", version: "0.3" };
    const json = { destinations: { agent } };
    expect(withLiveSettings({ config, json }).destinations.agent).toEqual({
      ...config.destinations.agent,
      version: "0.3",
    });
  });

  it("that were pushed when the destination was an A2A agent do no harm to what it is now", () => {
    const destinations = { agent: { transport: "https", url, authorizer: bearer } };
    const config = parseConfig({ json: { destinations, routes: [] } });
    const json = { destinations: { agent: { card, version: "0.3", deadlineMs: 5000 } } };
    const { agent } = withLiveSettings({ config, json }).destinations;
    expect(agent).toEqual({ ...config.destinations.agent, deadlineMs: 5000 });
  });
});
