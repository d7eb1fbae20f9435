import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../lambdas/shared/log.ts";
import { createBotTokens, type StoredInstallation } from "../../../lambdas/verification/installations/installations.ts";
import { createMemoryLedger } from "../../../lambdas/verification/oauth/ledger.ts";
import { createOauth } from "../../../lambdas/verification/oauth/oauth.ts";
import { type FakeSlack, startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { createBrowser } from "./browser.ts";

const install = { clientId: "12.34", clientSecret: "0123456789abcdef0123456789abcdef" };
const startMs = 1_790_000_000_000;
let fakeSlack: FakeSlack;
let lines: string[];
let stored: Map<string, StoredInstallation>;
let nowMs: number;

beforeEach(async () => {
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken: "xoxb-fake-slack", install });
  lines = [];
  stored = new Map();
  nowMs = startMs;
});
afterEach(() => fakeSlack.close());

type Options = Parameters<typeof createOauth>[0];

function oauth(changed: Partial<Options> = {}) {
  return createOauth({
    clientId: install.clientId,
    clientSecret: async () => install.clientSecret,
    scopes: ["app_mentions:read", "chat:write"],
    installations: { put: async ({ id, installation }) => void stored.set(id, installation) },
    ledger: createMemoryLedger({ now: () => nowMs }),
    apiUrl: fakeSlack.apiUrl,
    log: createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) }),
    now: () => nowMs,
    ...changed,
  });
}

const logged = () => lines.map((line) => JSON.parse(line));

describe("the installation of the app", () => {
  it("begins at Slack with the client, the manifest's scopes and a state", async () => {
    const { authorize, page } = await createBrowser({ oauth: oauth() }).begin();
    expect(page.status).toBe(302);
    expect(authorize.pathname).toBe("/oauth/v2/authorize");
    expect(authorize.origin).toBe(new URL(fakeSlack.apiUrl).origin);
    expect(Object.fromEntries(authorize.searchParams)).toEqual({
      client_id: install.clientId,
      scope: "app_mentions:read,chat:write",
      state: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    });
    expect(page.headers.get("set-cookie")).toMatch(
      /^__Host-sekisho-install=[\w-]{43}; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
    );
    expect(page.headers.get("cache-control")).toBe("no-store");
  });

  it("ends with a token that works there, and with words", async () => {
    const browser = createBrowser({ oauth: oauth() });
    const { state } = await browser.begin();
    const page = await browser.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code });
    expect(page.status).toBe(200);
    expect(page.text).toContain("The app is installed.");
    const installation = stored.get("TSECOND");
    expect(installation).toMatchObject({ team: "TSECOND", installedAtMs: startMs });
    expect(fakeSlack.installations()).toContainEqual({ token: installation?.botToken, caller: { team: "TSECOND" } });
    expect(logged()).toEqual([expect.objectContaining({ message: "app_installed", team: "TSECOND" })]);
    expect(browser.cookies.size).toBe(0);
  });

  it("of a whole organization is stored under the organization", async () => {
    const browser = createBrowser({ oauth: oauth() });
    const { state } = await browser.begin();
    await browser.back({ state, code: fakeSlack.authorize({ enterprise: "ESTANDIN" }).code });
    expect([...stored.keys()]).toEqual(["ESTANDIN"]);
    expect(stored.get("ESTANDIN")).toMatchObject({ enterprise: "ESTANDIN" });
    expect(stored.get("ESTANDIN")).not.toHaveProperty("team");
    const tokens = createBotTokens({
      botToken: async () => undefined,
      installations: { get: async ({ id }) => stored.get(id), put: async () => {} },
    });
    expect(await tokens.tokenOf({ team: "TGRIDTWO", enterprise: "ESTANDIN" })).toMatch(/^xoxb-/);
  });

  it.each([
    ["ja,en;q=0.8", "アプリをインストールしました。", "ja"],
    ["en;q=0.5, ja-JP", "アプリをインストールしました。", "ja"],
    ["fr, en;q=0.4, ja;q=0.3", "The app is installed.", "en"],
    ["de", "The app is installed.", "en"],
    ["ja;q=0", "The app is installed.", "en"],
    ["", "The app is installed.", "en"],
  ])("ends in the browser's language: %s", async (language, words, tag) => {
    const browser = createBrowser({ oauth: oauth(), language });
    const { state } = await browser.begin();
    const page = await browser.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code });
    expect(page.text).toContain(words);
    expect(page.text).toContain(`lang="${tag}"`);
  });
});

describe("a state", () => {
  it.each([
    ["is missing", async () => ""],
    ["is nonsense", async () => "a.b.c"],
    ["was changed", async (state: string) => `${state.slice(0, -2)}AA`],
    ["is unsigned", async (state: string) => `${btoa('{"alg":"none"}')}.${state.split(".")[1]}.`],
    ["was begun by another browser", async () => (await createBrowser({ oauth: oauth() }).begin()).state],
    [
      "was made with another client's secret",
      async () => (await createBrowser({ oauth: oauth({ clientSecret: async () => "another" }) }).begin()).state,
    ],
  ])("that %s installs nothing", async (_what, change) => {
    const browser = createBrowser({ oauth: oauth() });
    const { state } = await browser.begin();
    const code = fakeSlack.authorize({ team: "TSECOND" }).code;
    const page = await browser.back({ state: await change(state), code });
    expect(page.status).toBe(400);
    expect(page.text).toContain("this browser did not begin here");
    expect(stored.size).toBe(0);
    expect(logged()).toEqual([expect.objectContaining({ reason: "bad_state" })]);
  });

  it("that another browser began is worthless, used or not", async () => {
    const [first, second] = [createBrowser({ oauth: oauth() }), createBrowser({ oauth: oauth() })];
    const { state } = await first.begin();
    await first.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code });
    const code = fakeSlack.authorize({ team: "TSTANDIN" }).code;
    for (const browser of [first, second]) expect((await browser.back({ state, code })).status).toBe(400);
    await second.begin();
    expect((await second.back({ state, code })).status).toBe(400);
    expect([...stored.keys()]).toEqual(["TSECOND"]);
  });

  it("is used once: a second code with it, and the cookie kept, installs nothing", async () => {
    const flow = oauth();
    const browser = createBrowser({ oauth: flow });
    const { state } = await browser.begin();
    const cookies = new Map(browser.cookies);
    expect((await browser.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code })).status).toBe(200);
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    const again = await browser.back({ state, code: fakeSlack.authorize({ team: "TSTANDIN" }).code });
    expect(again.status).toBe(400);
    expect(again.text).toContain("it was done already");
    expect([...stored.keys()]).toEqual(["TSECOND"]);
  });

  it("is used once, however it is spelled", async () => {
    const browser = createBrowser({ oauth: oauth() });
    const { state } = await browser.begin();
    const cookies = new Map(browser.cookies);
    const back = async (spelled: string) => {
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      return (await browser.back({ state: spelled, code: fakeSlack.authorize({ team: "TSECOND" }).code })).status;
    };
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // The last of 43 characters carries four bits: three others mean the same.
    const last = alphabet.indexOf(state.slice(-1));
    const spellings = [1, 2, 3].map((bits) => state.slice(0, -1) + alphabet[last ^ bits]);
    expect(await back(state)).toBe(200);
    for (const spelled of [...spellings, `${state}=`, `${state} `]) expect(await back(spelled)).toBe(400);
    expect(logged().filter(({ message }) => message === "app_installed")).toHaveLength(1);
  });

  it("is used up by a refusal, too", async () => {
    const flow = oauth();
    const browser = createBrowser({ oauth: flow });
    const { state } = await browser.begin();
    const cookies = new Map(browser.cookies);
    await browser.back({ state, error: "access_denied" });
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    expect((await browser.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code })).status).toBe(400);
    expect(stored.size).toBe(0);
  });

  it("does not outlive the process that issued it, where that says so", async () => {
    const [former, next] = ["former", "next"].map((stateSalt) => oauth({ stateSalt }));
    if (former === undefined || next === undefined) throw new Error("two flows");
    let isRestarted = false;
    const browser = createBrowser({ oauth: (request) => (isRestarted ? next : former)(request) });
    const { state } = await browser.begin();
    isRestarted = true;
    expect((await browser.back({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code })).status).toBe(400);
    expect(stored.size).toBe(0);
  });

  it("is good for ten minutes", async () => {
    const browser = createBrowser({ oauth: oauth() });
    const { state } = await browser.begin();
    nowMs = startMs + 600_000;
    const { code } = fakeSlack.authorize({ team: "TSECOND" });
    expect((await browser.back({ state, code })).status).toBe(400);
    nowMs = startMs + 599_000;
    const again = createBrowser({ oauth: oauth() });
    const begun = await again.begin();
    nowMs += 599_000;
    expect((await again.back({ state: begun.state, code })).status).toBe(200);
  });

  it("does not count where the browser has two cookies of ours", async () => {
    const flow = oauth();
    const browser = createBrowser({ oauth: flow });
    const { state } = await browser.begin();
    const [pair] = [...browser.cookies].map(([name, value]) => `${name}=${value}`);
    const url = new URL("/slack/oauth_redirect", "http://localhost/");
    url.search = String(new URLSearchParams({ state, code: fakeSlack.authorize({ team: "TSECOND" }).code }));
    const response = await flow(new Request(url, { headers: { cookie: `${pair}; ${pair}` } }));
    expect(response.status).toBe(400);
  });
});

describe("an installation that is limited", () => {
  const install = async (flow: ReturnType<typeof oauth>, place: { team: string } | { enterprise: string }) => {
    const browser = createBrowser({ oauth: flow });
    const { state } = await browser.begin();
    return browser.back({ state, code: fakeSlack.authorize(place).code });
  };

  it("is for the listed workspaces and organizations alone", async () => {
    const flow = oauth({ teams: ["TSTANDIN", "ESTANDIN"] });
    const refused = await install(flow, { team: "TSECOND" });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("this app is not for your workspace");
    expect(logged()).toEqual([expect.objectContaining({ reason: "not_listed", team: "TSECOND" })]);
    expect((await install(flow, { team: "TSTANDIN" })).status).toBe(200);
    expect((await install(flow, { enterprise: "ESTANDIN" })).status).toBe(200);
    expect([...stored.keys()]).toEqual(["TSTANDIN", "ESTANDIN"]);
  });

  it("is one of so many a day, and codes that are none do not use them up", async () => {
    const flow = oauth({ ledger: createMemoryLedger({ maxPerDay: 1, now: () => nowMs }) });
    const browser = createBrowser({ oauth: flow });
    const { state } = await browser.begin();
    expect((await browser.back({ state, code: "none" })).status).toBe(400);
    expect((await install(flow, { team: "TSECOND" })).status).toBe(200);
    const refused = await install(flow, { team: "TSTANDIN" });
    expect(refused.status).toBe(429);
    expect(refused.text).toContain("too many installations today");
    expect([...stored.keys()]).toEqual(["TSECOND"]);
  });
});
