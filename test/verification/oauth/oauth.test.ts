import { beforeEach, describe, expect, it } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import {
  createBotTokens,
  type StoredInstallation,
} from "@sekisho/verification/installations/installations.ts";
import { createMemoryLedger } from "@sekisho/verification/oauth/ledger.ts";
import { createOauth } from "@sekisho/verification/oauth/oauth.ts";
import { installText } from "@sekisho/verification/oauth/page.ts";
import { type CollectedLog, collectLog } from "../../doubles/collect-log.ts";
import { closeAfterTest, serve } from "../../doubles/serving.ts";
import { createBrowser } from "./browser.ts";

const install = { clientId: "12.34", clientSecret: "0123456789abcdef0123456789abcdef" };
const startMs = 1_790_000_000_000;
let fakeSlack: FakeSlack;
let collectedLog: CollectedLog;
let storedInstallations: Map<string, StoredInstallation>;
let nowMs: number;

beforeEach(async () => {
  fakeSlack = closeAfterTest(
    await startFakeSlack({ signingSecret: "s", botToken: "xoxb-fake-slack", install }),
  );
  collectedLog = collectLog({ level: "debug" });
  storedInstallations = new Map();
  nowMs = startMs;
});

type Options = Parameters<typeof createOauth>[0];

function oauth(changes: Partial<Options> = {}) {
  return createOauth({
    clientId: install.clientId,
    clientSecret: async () => install.clientSecret,
    scopes: ["app_mentions:read", "chat:write"],
    installations: {
      put: async ({ id, installation }) => void storedInstallations.set(id, installation),
    },
    ledger: createMemoryLedger({ now: () => nowMs }),
    apiUrl: fakeSlack.apiUrl,
    log: collectedLog.log,
    now: () => nowMs,
    ...changes,
  });
}

const logEntries = () => collectedLog.entries();
const codeFor = (place: { team: string } | { enterprise: string } = { team: "TSECOND" }) =>
  fakeSlack.authorize(place).code;

/** A browser that has begun the flow, and comes back as Slack leads it. */
async function beginInstall(flow = oauth(), language = "en") {
  const browser = createBrowser({ oauth: flow, language });
  const { state } = await browser.begin();
  const cookies = new Map(browser.cookies);
  return {
    browser,
    state,
    back: (query: Record<string, string> = { code: codeFor() }) =>
      browser.back({ state, ...query }),
    /** The browser has its cookies again. */
    restore() {
      for (const [name, value] of cookies) browser.cookies.set(name, value);
    },
  };
}

describe("the installation of the app", () => {
  it("redirects to Slack with the client, the scopes of the manifest and a state", async () => {
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

  it("stores a working token and confirms the installation", async () => {
    const { browser, back } = await beginInstall();
    const page = await back();
    expect(page.status).toBe(200);
    expect(page.text).toContain("The app is installed.");
    const installation = storedInstallations.get("TSECOND");
    expect(installation).toMatchObject({ team: "TSECOND", installedAtMs: startMs });
    expect(fakeSlack.installations()).toContainEqual({
      token: installation?.botToken,
      caller: { team: "TSECOND" },
    });
    expect(logEntries()).toEqual([
      expect.objectContaining({ message: "app_installed", team: "TSECOND" }),
    ]);
    expect(browser.cookies.size).toBe(0);
  });

  it("stores an installation of a whole organization under the organization", async () => {
    const { back } = await beginInstall();
    await back({ code: codeFor({ enterprise: "ESTANDIN" }) });
    expect([...storedInstallations.keys()]).toEqual(["ESTANDIN"]);
    expect(storedInstallations.get("ESTANDIN")).toMatchObject({ enterprise: "ESTANDIN" });
    expect(storedInstallations.get("ESTANDIN")).not.toHaveProperty("team");
    const tokens = createBotTokens({
      botToken: async () => undefined,
      installations: { get: async ({ id }) => storedInstallations.get(id), put: async () => {} },
    });
    expect(await tokens.tokenOf({ team: "TGRIDTWO", enterprise: "ESTANDIN" })).toMatch(/^xoxb-/);
  });

  it.each([
    ["ja,en;q=0.8", installText.installed.ja.happened, "ja"],
    ["en;q=0.5, ja-JP", installText.installed.ja.happened, "ja"],
    ["fr, en;q=0.4, ja;q=0.3", installText.installed.en.happened, "en"],
    ["de", installText.installed.en.happened, "en"],
    ["ja;q=0", installText.installed.en.happened, "en"],
    ["", installText.installed.en.happened, "en"],
  ])(
    "shows the last page in the language for Accept-Language: %s",
    async (language, words, tag) => {
      const { back } = await beginInstall(oauth(), language);
      const page = await back();
      expect(page.text).toContain(words);
      expect(page.text).toContain(`lang="${tag}"`);
    },
  );
});

describe("a state", () => {
  it.each([
    ["is missing", async () => ""],
    ["is malformed", async () => "a.b.c"],
    ["was changed", async (state: string) => `${state.slice(0, -2)}AA`],
    ["is unsigned", async (state: string) => `${btoa('{"alg":"none"}')}.${state.split(".")[1]}.`],
    ["another browser began", async () => (await createBrowser({ oauth: oauth() }).begin()).state],
    [
      "was made with another client's secret",
      async () =>
        (await createBrowser({ oauth: oauth({ clientSecret: async () => "another" }) }).begin())
          .state,
    ],
  ])("refuses a state that %s", async (_what, change) => {
    const { state, back } = await beginInstall();
    const page = await back({ state: await change(state), code: codeFor() });
    expect(page.status).toBe(400);
    expect(page.text).toContain(installText.bad_state.en.happened);
    expect(storedInstallations.size).toBe(0);
    expect(logEntries()).toEqual([expect.objectContaining({ reason: "bad_state" })]);
  });

  it("refuses a state that another browser began, used or not", async () => {
    const [first, second] = [createBrowser({ oauth: oauth() }), createBrowser({ oauth: oauth() })];
    const { state } = await first.begin();
    await first.back({ state, code: codeFor() });
    const code = codeFor({ team: "TSTANDIN" });
    for (const browser of [first, second])
      expect((await browser.back({ state, code })).status).toBe(400);
    await second.begin();
    expect((await second.back({ state, code })).status).toBe(400);
    expect([...storedInstallations.keys()]).toEqual(["TSECOND"]);
  });

  it("refuses a second code for a used state, even with the old cookie", async () => {
    const { back, restore } = await beginInstall();
    expect((await back()).status).toBe(200);
    restore();
    const again = await back({ code: codeFor({ team: "TSTANDIN" }) });
    expect(again.status).toBe(400);
    expect(again.text).toContain(installText.bad_state.en.happened);
    expect([...storedInstallations.keys()]).toEqual(["TSECOND"]);
  });

  it("refuses a used state in any other spelling", async () => {
    const { state, back, restore } = await beginInstall();
    const statusOf = async (spelling: string) => {
      restore();
      return (await back({ state: spelling, code: codeFor() })).status;
    };
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // The last of 43 characters carries four bits: three others mean the same.
    const last = alphabet.indexOf(state.slice(-1));
    const spellings = [1, 2, 3].map((bits) => state.slice(0, -1) + alphabet[last ^ bits]);
    expect(await statusOf(state)).toBe(200);
    for (const spelling of [...spellings, `${state}=`, `${state} `])
      expect(await statusOf(spelling)).toBe(400);
    expect(logEntries().filter(({ message }) => message === "app_installed")).toHaveLength(1);
  });

  it("uses up the state when the person denies the installation", async () => {
    const { back, restore } = await beginInstall();
    await back({ error: "access_denied" });
    restore();
    expect((await back()).status).toBe(400);
    expect(storedInstallations.size).toBe(0);
  });

  it("refuses a state of a previous process with another salt", async () => {
    const [former, next] = ["former", "next"].map((stateSalt) => oauth({ stateSalt }));
    if (former === undefined || next === undefined) throw new Error("two flows");
    let isRestarted = false;
    const { back } = await beginInstall((request) => (isRestarted ? next : former)(request));
    isRestarted = true;
    expect((await back()).status).toBe(400);
    expect(storedInstallations.size).toBe(0);
  });

  it("accepts a state for ten minutes", async () => {
    const late = await beginInstall();
    nowMs = startMs + 600_000;
    expect((await late.back()).status).toBe(400);
    const early = await beginInstall();
    nowMs += 599_000;
    expect((await early.back()).status).toBe(200);
  });

  it("refuses a state if the browser sends two cookies of the flow", async () => {
    const flow = oauth();
    const { browser, state } = await beginInstall(flow);
    const [pair] = [...browser.cookies].map(([name, value]) => `${name}=${value}`);
    const url = new URL("/slack/oauth_redirect", "http://localhost/");
    url.search = String(new URLSearchParams({ state, code: codeFor() }));
    const response = await flow(new Request(url, { headers: { cookie: `${pair}; ${pair}` } }));
    expect(response.status).toBe(400);
  });
});

describe("an installation that is limited", () => {
  const install = async (
    flow: ReturnType<typeof oauth>,
    place: { team: string } | { enterprise: string },
  ) => (await beginInstall(flow)).back({ code: codeFor(place) });

  it("accepts only the listed workspaces and organizations", async () => {
    const flow = oauth({ teams: ["TSTANDIN", "ESTANDIN"] });
    const refusal = await install(flow, { team: "TSECOND" });
    expect(refusal.status).toBe(403);
    expect(refusal.text).toContain(installText.not_listed.en.happened);
    expect(logEntries()).toEqual([
      expect.objectContaining({ reason: "not_listed", team: "TSECOND" }),
    ]);
    expect((await install(flow, { team: "TSTANDIN" })).status).toBe(200);
    expect((await install(flow, { enterprise: "ESTANDIN" })).status).toBe(200);
    expect([...storedInstallations.keys()]).toEqual(["TSTANDIN", "ESTANDIN"]);
  });

  it("limits installations per day and does not count invalid codes", async () => {
    const flow = oauth({ ledger: createMemoryLedger({ maxPerDay: 1, now: () => nowMs }) });
    expect((await (await beginInstall(flow)).back({ code: "none" })).status).toBe(400);
    expect((await install(flow, { team: "TSECOND" })).status).toBe(200);
    const refusal = await install(flow, { team: "TSTANDIN" });
    expect(refusal.status).toBe(429);
    expect(refusal.text).toContain(installText.too_many.en.happened);
    expect([...storedInstallations.keys()]).toEqual(["TSECOND"]);
  });
});

describe("refusals", () => {
  /** All the way, with the code that Slack gave or another one. */
  async function installed(changes: Partial<Options> = {}, query?: Record<string, string>) {
    const { back } = await beginInstall(
      oauth({ ledger: createMemoryLedger(), now: Date.now, ...changes }),
    );
    return back(query);
  }

  const reasons = () => logEntries().map(({ reason, slack_error }) => [reason, slack_error]);

  /** Slack, answering the exchange of the code like this. */
  async function answering(answer: (target: string) => Response): Promise<{ apiUrl: string }> {
    const { url } = await serve(({ target }) => answer(target));
    return { apiUrl: `${url}/api/` };
  }

  const grant = {
    ok: true,
    access_token: "xoxb-granted",
    token_type: "bot",
    scope: "chat:write",
    bot_user_id: "UBOT",
    team: { id: "T1", name: "Harbour" },
    enterprise: null,
    is_enterprise_install: false,
  };

  describe("a failed installation", () => {
    it("shows that the person denied the installation", async () => {
      const page = await installed({}, { error: "access_denied" });
      expect(page.status).toBe(200);
      expect(page.text).toContain(installText.denied.en.happened);
      expect(reasons()).toEqual([["denied", undefined]]);
    });

    it("refuses a code that is used up, made up, too long or empty", async () => {
      const { code } = fakeSlack.authorize({ team: "TSECOND" });
      expect((await installed({}, { code })).status).toBe(200);
      for (const query of [
        { code },
        { code: "made-up" },
        { code: "x".repeat(1001) },
        { code: "" },
      ]) {
        const page = await installed({}, query);
        expect([page.status, page.text.includes(installText.bad_code.en.happened)]).toEqual([
          400,
          true,
        ]);
      }
      expect(storedInstallations.size).toBe(1);
      expect(reasons().slice(1)).toEqual([
        ["bad_code", "invalid_code"],
        ["bad_code", "invalid_code"],
        ["bad_code", undefined],
        ["bad_code", undefined],
      ]);
    });

    it("reports a client secret that Slack refuses", async () => {
      const page = await installed({ clientSecret: async () => "another" });
      expect(page.status).toBe(502);
      expect(reasons()).toEqual([["refused", "bad_client_secret"]]);
    });

    it.each(["status", "reset", "lost_answer"] as const)(
      "answers 503 after a %s and offers to start again",
      async (type) => {
        fakeSlack.inject({ method: "oauth.v2.access", type, status: 500 });
        const page = await installed();
        expect(page.status).toBe(503);
        expect(page.text).toContain('<a href="/slack/install">');
        expect(storedInstallations.size).toBe(0);
      },
    );

    it.each([
      ["has no client secret", { clientSecret: async () => "" }],
      [
        "cannot read the client secret",
        { clientSecret: () => Promise.reject(new Error("secret 0123")) },
      ],
    ])("answers 503 without a redirect if the flow %s", async (_what, changes) => {
      const page = await createBrowser({ oauth: oauth(changes) }).get("/slack/install");
      expect(page.status).toBe(503);
      expect(page.headers.get("location")).toBeNull();
      expect(collectedLog.lines.join("")).not.toContain("secret 0123");
    });

    it("answers 503 without the token if the installation cannot be stored", async () => {
      const page = await installed({
        installations: { put: () => Promise.reject(new Error("xoxb-out of reach")) },
      });
      expect(page.status).toBe(503);
      expect(`${page.text} ${collectedLog.lines.join("")}`).not.toContain("xoxb");
    });

    it.each([
      ["with a token that expires", { refresh_token: "xoxe-1", expires_in: 43_200 }, 502],
      ["with a person's token", { access_token: "xoxp-1" }, 503],
      ["of no workspace", { team: null }, 503],
      ["of a workspace with an invalid id", { team: { id: "../../SLACK_BOT_TOKEN" } }, 503],
      ["of an organization without its id", { is_enterprise_install: true }, 503],
    ])("refuses an installation %s", async (_what, changes, status) => {
      const { apiUrl } = await answering(() => Response.json({ ...grant, ...changes }));
      const page = await installed({ apiUrl });
      expect(page.status).toBe(status);
      expect(storedInstallations.size).toBe(0);
    });

    it.each([
      ["an HTML page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
      [
        "a redirect",
        (target: string) =>
          target === "/elsewhere"
            ? Response.json(grant)
            : new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
      ],
      ["an oversized body", () => Response.json({ ...grant, more: "x".repeat(70_000) })],
      ["an error with markup for a name", () => Response.json({ ok: false, error: "<script>" })],
    ])("answers 503 if Slack sends %s", async (_what, answer) => {
      const { apiUrl } = await answering(answer);
      const page = await installed({ apiUrl });
      expect(page.status).toBe(503);
      expect(storedInstallations.size).toBe(0);
    });
  });

  describe("a page of the flow", () => {
    it("shows nothing from outside except the escaped name of the workspace", async () => {
      const team = { id: "T1", name: `<img src=x onerror="alert(1)">'&` };
      const { apiUrl } = await answering(() => Response.json({ ...grant, team }));
      const page = await installed({ apiUrl });
      expect(page.text).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;");
      expect(page.text).not.toContain("<img");
      const denialPage = await installed(
        {},
        { error: "<script>alert(1)</script>", error_description: "<b>" },
      );
      expect(denialPage.text).not.toMatch(/<script|<b>/);
      expect(denialPage.status).toBe(502);
    });

    it("keeps tokens, secrets, codes and states out of pages, logs and addresses", async () => {
      const { code } = fakeSlack.authorize({ team: "TSECOND" });
      const browser = createBrowser({ oauth: oauth() });
      const { state, authorize } = await browser.begin();
      const page = await browser.back({ state, code });
      const texts = `${page.text} ${[...page.headers].join(" ")} ${collectedLog.lines.join(" ")} ${authorize}`;
      for (const secret of [install.clientSecret, code, "xoxb-"])
        expect(texts).not.toContain(secret);
      expect(`${page.text} ${collectedLog.lines.join(" ")}`).not.toContain(state);
    });

    it("forbids scripts, framing and caching on its pages", async () => {
      const { headers } = await createBrowser({ oauth: oauth() }).get("/slack/oauth_redirect");
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; .*frame-ancestors 'none'/,
      );
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    });

    it.each(["/", "/slack", "/slack/install/", "/slack/oauth_redirect/x"])(
      "answers 404 at %s",
      async (path) => {
        expect((await createBrowser({ oauth: oauth() }).get(path)).status).toBe(404);
      },
    );

    it("answers 404 to a method other than GET", async () => {
      const request = new Request("http://localhost/slack/install", { method: "POST" });
      expect((await oauth()(request)).status).toBe(404);
    });
  });
});
