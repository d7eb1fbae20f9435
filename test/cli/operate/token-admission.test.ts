import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createTokenAdmission } from "@sekisho/sekisho/operate/token-admission.ts";
import { cookieIn, stranger, type Visitor } from "../../local/web/ask.ts";
import { openTasksInFile, requestIdOf, servePage } from "./tasks-in-file.ts";

const token = "a-token-of-operators";
const cancel = `/operate/api/tasks/${requestIdOf(1)}/cancel`;

const tasks = openTasksInFile();
const lines: string[] = [];
let tokens = [token];
let error: Error | undefined;
/** The next verification waits for it. */
let holdUp: { begun: () => void; until: Promise<void> } | undefined;
let nowMs = 0;
/** Of a browser that signed in a moment ago. */
let cookie: string;
const [idleMs, lifeMs] = [30 * 60_000, 12 * 3600_000];
let site: Awaited<ReturnType<typeof servePage>>;
let url: string;
let ask: Visitor["ask"];
let post: Visitor["post"];

beforeAll(async () => {
  const bearer = createBearerAuthenticator({ readTokens: async () => tokens });
  const authenticator: Authenticator = {
    kind: "bearer",
    async authenticate(request) {
      const held = holdUp;
      holdUp = undefined;
      held?.begun();
      await held?.until;
      if (error !== undefined) throw error;
      return bearer.authenticate(request);
    },
  };
  const log = createLog({ service: "sekisho", write: (line) => void lines.push(line) });
  const admission = createTokenAdmission({ authenticator, log, now: () => nowMs });
  site = await servePage({ folder: tasks.folder, admission, hostname: "127.0.0.2", log });
  ({ url } = site);
  ({ ask, post } = stranger(url));
  await tasks.add(1, { state: "waiting" });
});
beforeEach(async () => {
  nowMs += lifeMs;
  tokens = [token];
  error = undefined;
  cookie = `other=1; ${cookieIn(await signIn(token))}`;
  lines.length = 0;
});
afterAll(async () => {
  await site.close();
  await tasks.close();
});

const signIn = (token: unknown, headers = {}) =>
  post("/operate/sign-in", { token: token }, headers);
const where = (headers: Record<string, string>) => ask("/operate/api/where", { headers });

describe("the operators' page outside loopback", () => {
  it("serves only the sign-in form without a session", async () => {
    expect(await ask("/operate/")).toMatchObject({
      status: 303,
      headers: { location: "/operate/sign-in" },
    });
    const form = await ask("/operate/sign-in");
    expect(form.status).toBe(200);
    for (const [, path = ""] of form.body.matchAll(/(?:src|href)="(\/[^"]*)"/g)) {
      expect(await ask(path)).toMatchObject({ status: 200 });
    }
    for (const path of [
      "api/where",
      "api/live",
      "api/tasks?state=waiting",
      `api/tasks/${requestIdOf(1)}`,
      `api/tasks/${requestIdOf(1)}/link`,
      "api/names?users=U1",
      "api/destinations",
      "api/dead-letters",
      "else",
    ]) {
      expect(await ask(`/operate/${path}`)).toMatchObject({
        status: 401,
        headers: { "www-authenticate": "Bearer" },
      });
    }
    expect(await post(cancel, {})).toMatchObject({ status: 401 });
    expect(await post("/web/app.js", {})).toMatchObject({ status: 401 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("opens a session for a token, in a cookie hidden from scripts and other sites", async () => {
    const { status, headers, body } = await signIn(` ${token} `);
    expect({ status, body }).toEqual({ status: 200, body: "{}" });
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^sekisho-page-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    const proxy = { host: "ops.example.com", origin: "https://ops.example.com" };
    const proxied = await signIn(token, proxy);
    expect(proxied.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^__Host-sekisho-page=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
    expect((await where({ host: proxy.host, cookie: cookieIn(proxied) })).status).toBe(200);
    expect(JSON.parse((await where({ cookie })).body)).toEqual({
      name: "this machine",
      signsIn: true,
    });
    expect((await ask("/operate/", { headers: { cookie } })).status).toBe(200);
  });

  it("ends the session on the server at the sign-out, so that a kept cookie is refused", async () => {
    const { headers } = await post("/operate/sign-out", {}, { cookie });
    expect(headers["set-cookie"]?.[0]).toMatch(/^sekisho-page-\d+=; Max-Age=0/);
    expect((await where({ cookie })).status).toBe(401);
  });

  it.each(["where", "live"])(
    "refuses api/%s after a sign-out during the verification of the token",
    async (path) => {
      const [beginning, verified] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      holdUp = { begun: beginning.resolve, until: verified.promise };
      const values = ask(`/operate/api/${path}`, { headers: { cookie } });
      await beginning.promise;
      expect((await post("/operate/sign-out", {}, { cookie })).status).toBe(200);
      verified.resolve();
      expect((await values).status).toBe(401);
    },
  );

  it("refuses a request whose body ends after the sign-out", async () => {
    const { promise: beginning, resolve: begin } = Promise.withResolvers<void>();
    holdUp = { begun: begin, until: Promise.resolve() };
    const headers = { cookie, "content-type": "application/json", origin: url };
    const slow = request(`${url}${cancel}`, { method: "POST", headers });
    slow.write("{");
    await beginning;
    await post("/operate/sign-out", {}, { cookie });
    slow.end("}");
    const [response] = await once(slow, "response");
    response.resume();
    expect(response.statusCode).toBe(401);
    expect(await tasks.queued()).toEqual([]);
  });

  it("ends an idle session, even if its page keeps polling", async () => {
    nowMs += idleMs - 1;
    expect((await where({ cookie })).status).toBe(200);
    nowMs += 1;
    expect((await where({ cookie })).status).toBe(401);
  });

  it("ends a session after its maximum lifetime, even if it is used", async () => {
    for (let useMs = 0; useMs < lifeMs; useMs += idleMs / 2) {
      expect((await where({ cookie, "x-operator-active": "1" })).status).toBe(200);
      nowMs += idleMs / 2;
    }
    expect((await where({ cookie, "x-operator-active": "1" })).status).toBe(401);
  });

  it("verifies the token at each request, and refuses one that was revoked", async () => {
    expect((await where({ cookie })).status).toBe(200);
    tokens = ["another"];
    expect((await where({ cookie })).status).toBe(401);
    expect((await where({ authorization: `Bearer ${token}` })).status).toBe(401);
    tokens = [token];
    expect((await where({ cookie })).status).toBe(401);
  });

  it("accepts a token in the Authorization header of a script", async () => {
    const authorization = `Bearer ${token}`;
    expect((await where({ authorization })).status).toBe(200);
    const headers = { authorization, "content-type": "application/json" };
    expect((await ask(cancel, { method: "POST", headers, body: "{}" })).status).toBe(200);
    expect(await tasks.queued()).toMatchObject([{ type: "cancel" }]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "operator_asked", operator: "bearer" },
    ]);
  });

  it.each([
    ["of another site", { origin: "https://evil.example" }],
    ["of another port", { origin: "http://127.0.0.2:1" }],
    ["of nowhere", { origin: "null" }],
    ["of a frame elsewhere", { "sec-fetch-site": "same-site" }],
  ])("refuses a request %s that carries the cookie", async (_what, headers) => {
    expect(await post(cancel, {}, { cookie, ...headers })).toMatchObject({ status: 403 });
    expect(await signIn(token, headers)).toMatchObject({ status: 403 });
    const bare = { cookie, "content-type": "application/json" };
    expect((await ask(cancel, { method: "POST", headers: bare, body: "{}" })).status).toBe(403);
    expect(await tasks.queued()).toEqual([]);
  });

  it("throttles an address after ten wrong tokens, but still accepts the right token from there", async () => {
    for (let count = 0; count < 10; count += 1)
      expect((await signIn(`guess-${count}`)).status).toBe(401);
    expect(await signIn("guess-10")).toMatchObject({
      status: 429,
      headers: { "retry-after": "60" },
    });
    expect((await where({ authorization: "Bearer guess-10" })).status).toBe(429);
    tokens = [token, "a-token-never-seen-before"];
    expect((await signIn("a-token-never-seen-before")).status).toBe(200);
    expect((await where({ authorization: "Bearer a-token-never-seen-before" })).status).toBe(200);
    expect((await where({ cookie })).status).toBe(200);
    const refusalLine = { message: "operator_refused", address: "127.0.0.1", status: 401 };
    const signedIn = { message: "operator_signed_in", address: "127.0.0.1", operator: "bearer" };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      ...Array(10).fill(refusalLine),
      signedIn,
    ]);
    nowMs += 60_001;
    expect((await signIn("guess-10")).status).toBe(401);
  });

  it("distinguishes a refused token from a verification that failed", async () => {
    error = new SekishoError("permission_denied");
    const authorization = `Bearer ${token}`;
    expect(await where({ authorization })).toMatchObject({ status: 403 });
    error = new SekishoError("unauthenticated");
    expect(await where({ authorization })).toMatchObject({ status: 401 });
    error = new TypeError("the issuer's keys at https://issuer.example");
    const refusal = await where({ cookie });
    expect(refusal.status).toBe(503);
    expect(refusal.body).not.toContain("issuer");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "operator_refused", status: 403 },
      { message: "operator_refused", status: 401 },
      { message: "operator_not_verified", cause_kind: "TypeError" },
    ]);
  });

  it("logs a digest of the subject that a token names", async () => {
    const names: Authenticator = {
      kind: "jwt",
      authenticate: async () => "https://issuer.example hanako@example.com",
    };
    const log = createLog({ service: "sekisho", write: (line) => void lines.push(line) });
    const named = await servePage({
      folder: tasks.folder,
      admission: createTokenAdmission({ authenticator: names, log }),
      log,
    });
    try {
      const session = cookieIn(await stranger(named.url).post("/operate/sign-in", { token }));
      expect((await stranger(named.url).post(cancel, {}, { cookie: session })).status).toBe(200);
      await tasks.queued();
    } finally {
      await named.close();
    }
    const line = lines.find((one) => one.includes('"operator_asked"')) ?? "";
    expect(JSON.parse(line)).toMatchObject({
      operator: expect.stringMatching(/^[0-9a-f]{16}$/),
      operation: "cancel",
    });
    expect(lines.join()).not.toContain("hanako");
  });

  it.each(["", "x".repeat(8193), "two words", "é", 7, undefined])(
    "refuses the malformed token %j",
    async (token) => {
      const { status, headers } = await signIn(token);
      expect([400, 401]).toContain(status);
      expect(headers["set-cookie"]).toBeUndefined();
    },
  );

  it("repeats a token in no response and no log line", async () => {
    const answers = [
      await signIn(token),
      await signIn("a-wrong-token"),
      await where({ cookie }),
      await where({ cookie: `${cookie.split("=")[0]}=a-wrong-token` }),
    ];
    const said = JSON.stringify([answers.map(({ body }) => body), lines]);
    expect(said).not.toMatch(/a-token-of-operators|a-wrong-token/);
  });
});

describe("the operators' page behind an authenticating platform", () => {
  it("admits every request behind a platform, offers no form, and refuses other sites", async () => {
    const { createPlatformAuthenticator } = await import(
      "@sekisho/execution/authenticator/authenticator.ts"
    );
    const log = createLog({ service: "sekisho", write: () => {} });
    const admission = createTokenAdmission({
      authenticator: createPlatformAuthenticator(),
      publicHost: "ops.example.com",
      log,
    });
    const behind = await servePage({ folder: tasks.folder, admission });
    try {
      const proxied = { host: "ops.example.com", origin: "https://ops.example.com" };
      const answer = await stranger(behind.url).ask("/operate/api/where", { headers: proxied });
      expect(JSON.parse(answer.body)).toMatchObject({ signsIn: false });
      expect(
        await stranger(behind.url).ask("/operate/sign-in", { headers: proxied }),
      ).toMatchObject({ status: 303 });
      expect(await stranger(behind.url).post("/operate/sign-in", { token }, proxied)).toMatchObject(
        { status: 404 },
      );
      expect(
        await stranger(behind.url).post(cancel, {}, { origin: "https://evil.example" }),
      ).toMatchObject({
        status: 403,
      });
      const rebound = { host: "evil.example", origin: "http://evil.example" };
      expect(await stranger(behind.url).post(cancel, {}, rebound)).toMatchObject({ status: 403 });
      expect(
        await stranger(behind.url).ask("/operate/", { headers: { host: "evil.example" } }),
      ).toMatchObject({
        status: 403,
      });
      expect(await tasks.queued()).toEqual([]);
    } finally {
      await behind.close();
    }
  });
});
