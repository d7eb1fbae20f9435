import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { byAuthenticator } from "../../../bin/operate/admission/by-authenticator.ts";
import { createFailures } from "../../../bin/operate/admission/failures.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Authenticator } from "../../../lambdas/execution/host/authenticator/authenticator.ts";
import { bearerAuthenticator } from "../../../lambdas/execution/host/authenticator/bearer.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { ask, post } from "./ask.ts";
import { servePage } from "./served.ts";
import { openTasksInFile, requestIdOf } from "./tasks-in-file.ts";

const token = "a-token-of-operators";
const cookie = `other=1; sekisho_operator=${token}`;
const cancel = `/operate/api/tasks/${requestIdOf(1)}/cancel`;

const tasks = openTasksInFile();
const lines: string[] = [];
let tokens = [token];
let thrown: Error | undefined;
let nowMs = 0;
let served: Awaited<ReturnType<typeof servePage>>;
let url: string;

beforeAll(async () => {
  const bearer = bearerAuthenticator({ readTokens: async () => tokens });
  const authenticator: Authenticator = {
    kind: "bearer",
    authenticate: (request) => (thrown === undefined ? bearer.authenticate(request) : Promise.reject(thrown)),
  };
  const log = createLog({ service: "sekisho", write: (line) => void lines.push(line) });
  const admission = byAuthenticator({ authenticator, failures: createFailures({ now: () => nowMs }), log });
  served = await servePage({ folder: tasks.folder, admission, hostname: "127.0.0.2", log });
  ({ url } = served);
  await tasks.add(1, { state: "waiting" });
});
beforeEach(() => {
  nowMs += 3600_000;
  tokens = [token];
  thrown = undefined;
  lines.length = 0;
});
afterAll(async () => {
  await served.close();
  await tasks.close();
});

const signIn = (given: unknown, headers = {}) => post(url, "/operate/sign-in", { token: given }, headers);
const where = (headers: Record<string, string>) => ask(`${url}/operate/api/where`, { headers });

describe("the operators' page outside loopback", () => {
  it("gives nothing but the form to whoever is not known", async () => {
    expect(await ask(`${url}/operate/`)).toMatchObject({ status: 303, headers: { location: "/operate/sign-in" } });
    const form = await ask(`${url}/operate/sign-in`);
    expect(form.status).toBe(200);
    for (const [, path = ""] of form.body.matchAll(/(?:src|href)="(\/[^"]*)"/g)) {
      expect(await ask(`${url}${path}`)).toMatchObject({ status: 200 });
    }
    for (const path of [
      "page/main.js",
      "page/list.css",
      "api/where",
      "api/live",
      `api/tasks/${requestIdOf(1)}`,
      "else",
    ]) {
      expect(await ask(`${url}/operate/${path}`)).toMatchObject({
        status: 401,
        headers: { "www-authenticate": "Bearer" },
      });
    }
    expect(await post(url, cancel, {})).toMatchObject({ status: 401 });
    expect(await post(url, "/web/dom.js", {})).toMatchObject({ status: 401 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("keeps a token that it was given in a cookie that no script reads and no other site sends", async () => {
    const { status, headers, body } = await signIn(` ${token} `);
    expect({ status, body }).toEqual({ status: 200, body: "{}" });
    expect(headers["set-cookie"]).toEqual([`sekisho_operator=${token}; Path=/; HttpOnly; SameSite=Strict`]);
    const proxied = await signIn(token, { host: "ops.example.com", origin: "https://ops.example.com" });
    expect(proxied.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
    expect(JSON.parse((await where({ cookie })).body)).toEqual({ name: "this machine", signsIn: true });
    expect((await ask(`${url}/operate/`, { headers: { cookie } })).status).toBe(200);
  });

  it("ends the cookie when somebody signs out", async () => {
    const { headers } = await post(url, "/operate/sign-out", {}, { cookie });
    expect(headers["set-cookie"]?.[0]).toMatch(/^sekisho_operator=; Max-Age=0/);
  });

  it("verifies the token at each request: one that was taken back opens nothing any more", async () => {
    expect((await where({ cookie })).status).toBe(200);
    tokens = ["another"];
    expect((await where({ cookie })).status).toBe(401);
    expect((await where({ authorization: `Bearer ${token}` })).status).toBe(401);
  });

  it("lets a script in by Authorization, which no browser adds by itself", async () => {
    const authorization = `Bearer ${token}`;
    expect((await where({ authorization })).status).toBe(200);
    const headers = { authorization, "content-type": "application/json" };
    expect((await ask(`${url}${cancel}`, { method: "POST", headers, body: "{}" })).status).toBe(200);
    expect(await tasks.queued()).toMatchObject([{ type: "cancel" }]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: "operator_asked", operator: "bearer" }]);
  });

  it.each([
    ["of another site", { origin: "https://evil.example" }],
    ["of another port", { origin: "http://127.0.0.2:1" }],
    ["of nowhere", { origin: "null" }],
    ["of a frame elsewhere", { "sec-fetch-site": "same-site" }],
  ])("does nothing for a request %s that the cookie came along with", async (_what, headers) => {
    expect(await post(url, cancel, {}, { cookie, ...headers })).toMatchObject({ status: 403 });
    expect(await signIn(token, headers)).toMatchObject({ status: 403 });
    const bare = { cookie, "content-type": "application/json" };
    expect((await ask(`${url}${cancel}`, { method: "POST", headers: bare, body: "{}" })).status).toBe(403);
    expect(await tasks.queued()).toEqual([]);
  });

  it("lets nobody guess: after ten failures of an address only what was good before is looked at, for a minute", async () => {
    expect((await where({ cookie })).status).toBe(200);
    for (let count = 0; count < 10; count += 1) expect((await signIn(`guess-${count}`)).status).toBe(401);
    tokens = [token, "guess-10"];
    expect(await signIn("guess-10")).toMatchObject({ status: 429, headers: { "retry-after": "60" } });
    expect((await where({ authorization: "Bearer guess-10" })).status).toBe(429);
    expect((await where({ cookie })).status).toBe(200);
    const told = { message: "operator_refused", address: "127.0.0.1", status: 401 };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(Array(10).fill(told));
    nowMs += 60_001;
    expect((await signIn("guess-10")).status).toBe(200);
  });

  it("tells apart who may not, and when nothing can be told", async () => {
    thrown = new SekishoError("permission_denied");
    expect(await where({ cookie })).toMatchObject({ status: 403 });
    thrown = new SekishoError("unauthenticated");
    expect(await where({ cookie })).toMatchObject({ status: 401 });
    thrown = new TypeError("the issuer's keys at https://issuer.example");
    const refused = await where({ cookie });
    expect(refused.status).toBe(503);
    expect(refused.body).not.toContain("issuer");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "operator_refused", status: 403 },
      { message: "operator_refused", status: 401 },
      { message: "operator_not_verified", cause_kind: "TypeError" },
    ]);
  });

  it("says who asked for what by a digest, where a token names somebody", async () => {
    const names: Authenticator = { kind: "jwt", authenticate: async () => "https://issuer.example hanako@example.com" };
    const log = createLog({ service: "sekisho", write: (line) => void lines.push(line) });
    const named = await servePage({
      folder: tasks.folder,
      admission: byAuthenticator({ authenticator: names, log }),
      log,
    });
    try {
      expect((await post(named.url, cancel, {}, { cookie })).status).toBe(200);
      await tasks.queued();
    } finally {
      await named.close();
    }
    const [line = ""] = lines;
    expect(JSON.parse(line)).toMatchObject({ operator: expect.stringMatching(/^[0-9a-f]{16}$/), operation: "cancel" });
    expect(line).not.toContain("hanako");
  });

  it.each(["", "x".repeat(3801), "two words", "a;b", 'a"b', "é", 7, undefined])(
    "takes no token such as %j",
    async (given) => {
      const { status, headers } = await signIn(given);
      expect([400, 401]).toContain(status);
      expect(headers["set-cookie"]).toBeUndefined();
    },
  );

  it("repeats a token in no answer and no log line", async () => {
    const answers = [
      await signIn(token),
      await signIn("a-wrong-token"),
      await where({ cookie }),
      await where({ cookie: "sekisho_operator=a-wrong-token" }),
    ];
    const said = JSON.stringify([answers.map(({ body }) => body), lines]);
    expect(said).not.toMatch(/a-token-of-operators|a-wrong-token/);
  });
});

describe("behind a platform that authenticates", () => {
  it("lets in whoever gets through, offers no form, and still refuses other sites", async () => {
    const { platformAuthenticator } = await import("../../../lambdas/execution/host/authenticator/platform.ts");
    const log = createLog({ service: "sekisho", write: () => {} });
    const admission = byAuthenticator({ authenticator: platformAuthenticator(), log });
    const behind = await servePage({ folder: tasks.folder, admission });
    try {
      const answer = await ask(`${behind.url}/operate/api/where`, { headers: { host: "ops.example.com" } });
      expect(JSON.parse(answer.body)).toMatchObject({ signsIn: false });
      expect(await ask(`${behind.url}/operate/sign-in`)).toMatchObject({ status: 303 });
      expect(await post(behind.url, "/operate/sign-in", { token })).toMatchObject({ status: 404 });
      expect(await post(behind.url, cancel, {}, { origin: "https://evil.example" })).toMatchObject({ status: 403 });
    } finally {
      await behind.close();
    }
  });
});
