import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../lambdas/shared/log.ts";
import { createMemoryLedger } from "../../../lambdas/verification/oauth/ledger.ts";
import { createOauth } from "../../../lambdas/verification/oauth/oauth.ts";
import { type FakeSlack, startFakeSlack } from "../../../lib/local/fake-slack/fake-slack.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { createBrowser } from "./browser.ts";

const install = { clientId: "12.34", clientSecret: "0123456789abcdef0123456789abcdef" };
let fakeSlack: FakeSlack;
let lines: string[];
let puts: unknown[];

beforeEach(async () => {
  fakeSlack = await startFakeSlack({ signingSecret: "s", botToken: "xoxb-fake-slack", install });
  lines = [];
  puts = [];
});
afterEach(() => fakeSlack.close());

type Options = Parameters<typeof createOauth>[0];

function oauth(changed: Partial<Options> = {}) {
  return createOauth({
    clientId: install.clientId,
    clientSecret: async () => install.clientSecret,
    scopes: ["chat:write"],
    installations: { put: async (request) => void puts.push(request) },
    ledger: createMemoryLedger(),
    apiUrl: fakeSlack.apiUrl,
    log: createLog({ service: "verification", level: "debug", write: (line) => lines.push(line) }),
    ...changed,
  });
}

/** All the way, with the code that Slack gave or another one. */
async function installed(changed: Partial<Options> = {}, query?: Record<string, string>) {
  const browser = createBrowser({ oauth: oauth(changed) });
  const { state } = await browser.begin();
  return browser.back({ state, ...(query ?? { code: fakeSlack.authorize({ team: "TSECOND" }).code }) });
}

const reasons = () => lines.map((line) => JSON.parse(line)).map(({ reason, slack_error }) => [reason, slack_error]);

/** Slack, answering the exchange of the code like this. */
async function answering(answer: (target: string) => Response): Promise<{ apiUrl: string; close(): Promise<void> }> {
  const server = await startWebServer({ handle: async ({ target }) => answer(target) });
  return { apiUrl: `${server.url}/api/`, close: server.close };
}

const granted = {
  ok: true,
  access_token: "xoxb-granted",
  token_type: "bot",
  scope: "chat:write",
  bot_user_id: "UBOT",
  team: { id: "T1", name: "Harbour" },
  enterprise: null,
  is_enterprise_install: false,
};

describe("an installation that does not come to be", () => {
  it("was not allowed by the person", async () => {
    const page = await installed({}, { error: "access_denied" });
    expect(page.status).toBe(200);
    expect(page.text).toContain("you did not allow it");
    expect(reasons()).toEqual([["denied", undefined]]);
  });

  it("has a code that is used up, made up, or none", async () => {
    const { code } = fakeSlack.authorize({ team: "TSECOND" });
    expect((await installed({}, { code })).status).toBe(200);
    for (const query of [{ code }, { code: "made-up" }, { code: "x".repeat(1001) }, { code: "" }]) {
      const page = await installed({}, query);
      expect([page.status, page.text.includes("used already, or is too old")]).toEqual([400, true]);
    }
    expect(puts.length).toBe(1);
    expect(reasons().slice(1)).toEqual([
      ["bad_code", "invalid_code"],
      ["bad_code", "invalid_code"],
      ["bad_code", undefined],
      ["bad_code", undefined],
    ]);
  });

  it("has a client secret that Slack does not take", async () => {
    const page = await installed({ clientSecret: async () => "another" });
    expect(page.status).toBe(502);
    expect(reasons()).toEqual([["refused", "bad_client_secret"]]);
  });

  it.each(["status", "reset", "lost_answer"] as const)(
    "is unknown after a %s, and has to begin again",
    async (type) => {
      fakeSlack.inject({ method: "oauth.v2.access", type, status: 500 });
      const page = await installed();
      expect(page.status).toBe(503);
      expect(page.text).toContain('<a href="/slack/install">');
      expect(puts).toEqual([]);
    },
  );

  it.each([
    ["has no client secret", { clientSecret: async () => "" }],
    ["cannot read the client secret", { clientSecret: () => Promise.reject(new Error("secret 0123")) }],
  ])("%s", async (_what, changed) => {
    const page = await createBrowser({ oauth: oauth(changed) }).get("/slack/install");
    expect(page.status).toBe(503);
    expect(page.headers.get("location")).toBeNull();
    expect(lines.join("")).not.toContain("secret 0123");
  });

  it("cannot be stored", async () => {
    const page = await installed({ installations: { put: () => Promise.reject(new Error("xoxb-out of reach")) } });
    expect(page.status).toBe(503);
    expect(`${page.text} ${lines.join("")}`).not.toContain("xoxb");
  });

  it.each([
    ["whose token ends by itself", { refresh_token: "xoxe-1", expires_in: 43_200 }, 502],
    ["with a person's token", { access_token: "xoxp-1" }, 503],
    ["of no workspace", { team: null }, 503],
    ["of a workspace with an id that is none", { team: { id: "../../SLACK_BOT_TOKEN" } }, 503],
    ["of no organization, though it says so", { is_enterprise_install: true }, 503],
  ])("is one %s", async (_what, changed, status) => {
    const { apiUrl, close } = await answering(() => Response.json({ ...granted, ...changed }));
    const page = await installed({ apiUrl });
    await close();
    expect(page.status).toBe(status);
    expect(puts).toEqual([]);
  });

  it.each([
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    [
      "a redirect",
      (target: string) =>
        target === "/elsewhere"
          ? Response.json(granted)
          : new Response(null, { status: 307, headers: { location: "/elsewhere" } }),
    ],
    ["more than it may be", () => Response.json({ ...granted, more: "x".repeat(70_000) })],
    ["an error with markup for a name", () => Response.json({ ok: false, error: "<script>" })],
  ])("is answered with %s", async (_what, answer) => {
    const { apiUrl, close } = await answering(answer);
    const page = await installed({ apiUrl });
    await close();
    expect(page.status).toBe(503);
    expect(puts).toEqual([]);
  });
});

describe("a page of the flow", () => {
  it("never holds what came from outside, but the escaped name of the workspace", async () => {
    const team = { id: "T1", name: `<img src=x onerror="alert(1)">'&` };
    const { apiUrl, close } = await answering(() => Response.json({ ...granted, team }));
    const page = await installed({ apiUrl });
    await close();
    expect(page.text).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;");
    expect(page.text).not.toContain("<img");
    const denied = await installed({}, { error: "<script>alert(1)</script>", error_description: "<b>" });
    expect(denied.text).not.toMatch(/<script|<b>/);
    expect(denied.status).toBe(502);
  });

  it("holds no token, no secret, no code and no state, and neither does the log or the address", async () => {
    const { code } = fakeSlack.authorize({ team: "TSECOND" });
    const browser = createBrowser({ oauth: oauth() });
    const { state, authorize } = await browser.begin();
    const page = await browser.back({ state, code });
    const told = `${page.text} ${[...page.headers].join(" ")} ${lines.join(" ")} ${authorize}`;
    for (const secret of [install.clientSecret, code, "xoxb-"]) expect(told).not.toContain(secret);
    expect(`${page.text} ${lines.join(" ")}`).not.toContain(state);
  });

  it("runs nothing, loads nothing, is framed nowhere, and is not kept", async () => {
    const { headers } = await createBrowser({ oauth: oauth() }).get("/slack/oauth_redirect");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it.each(["/", "/slack", "/slack/install/", "/slack/oauth_redirect/x"])("is none at %s", async (path) => {
    expect((await createBrowser({ oauth: oauth() }).get(path)).status).toBe(404);
  });

  it("is none for another method than GET", async () => {
    const request = new Request("http://localhost/slack/install", { method: "POST" });
    expect((await oauth()(request)).status).toBe(404);
  });
});
