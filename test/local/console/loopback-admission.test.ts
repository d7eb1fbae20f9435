import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../lambdas/shared/log.ts";
import { sampleCall } from "../../verification/task/sample.ts";
import { ask as askUnknown, cookieIn, type Visitor, visit } from "./ask.ts";
import { pageToken, servePage } from "./served.ts";
import { openTasksInFile, requestIdOf, undelivered } from "./tasks-in-file.ts";

const tasks = openTasksInFile();
const lines: string[] = [];
let served: Awaited<ReturnType<typeof servePage>>;
let url: string;
let ask: Visitor["ask"];
let post: Visitor["post"];

beforeAll(async () => {
  served = await servePage({
    folder: tasks.folder,
    log: createLog({ service: "sekisho", write: (line) => void lines.push(line) }),
  });
  ({ url } = served);
  ({ ask, post } = await visit({ url, token: pageToken }));
  await tasks.add(1, { state: "waiting", call: sampleCall({ destination: "far" }) });
  await tasks.add(2, undelivered);
  await tasks.add(3, { state: "done", message: { ...(await tasks.add(4)).message, command: true } });
});
afterAll(async () => {
  await served.close();
  await tasks.close();
});

const jsonOf = async (path: string) => JSON.parse((await ask(`${url}/operate/api/${path}`)).body);

describe("the operators' page on loopback", () => {
  it("gives nothing but the form to whoever came without the printed address", async () => {
    expect(await askUnknown(`${url}/operate/`)).toMatchObject({
      status: 303,
      headers: { location: "/operate/sign-in" },
    });
    for (const path of ["page/main.js", "api/where", "api/live", `api/tasks/${requestIdOf(1)}`]) {
      expect(await askUnknown(`${url}/operate/${path}`)).toMatchObject({ status: 401 });
    }
    const headers = { origin: url, "content-type": "application/json" };
    const cancel = `${url}/operate/api/tasks/${requestIdOf(1)}/cancel`;
    expect(await askUnknown(cancel, { method: "POST", headers, body: "{}" })).toMatchObject({ status: 401 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("takes the token of the printed address for a cookie, and leads to the address without it", async () => {
    const { status, headers } = await askUnknown(`${url}/operate/?token=${pageToken}`);
    expect({ status, location: headers.location }).toEqual({ status: 303, location: "/operate/" });
    const { port } = new URL(url);
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(new RegExp(`^sekisho-page-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)),
    ]);
    expect(JSON.stringify(headers)).not.toContain(pageToken);
    for (const token of ["", "wrong", pageToken.slice(1), `${pageToken}x`]) {
      const refused = await askUnknown(`${url}/operate/?token=${token}`);
      expect(refused).toMatchObject({ status: 303, headers: { location: "/operate/sign-in" } });
      expect(refused.headers["set-cookie"]).toBeUndefined();
    }
  });

  it("ends the session on the server when somebody signs out, its streams included, and no other session", async () => {
    const cookie = cookieIn(await askUnknown(`${url}/operate/?token=${pageToken}`));
    const stream = await fetch(`${url}/operate/api/live`, { headers: { cookie } });
    const headers = { cookie, origin: url, "content-type": "application/json" };
    const signOut = await askUnknown(`${url}/operate/sign-out`, { method: "POST", headers, body: "{}" });
    expect(signOut.headers["set-cookie"]?.[0]).toMatch(/^sekisho-page-\d+=; Max-Age=0/);
    // It ends, or the test runs out of time.
    await stream.text();
    expect(await askUnknown(`${url}/operate/api/where`, { headers: { cookie } })).toMatchObject({ status: 401 });
    expect(await ask(`${url}/operate/api/where`)).toMatchObject({ status: 200 });
  });

  it("finds its session among cookies of the same name that another port of the host has set", async () => {
    const cookie = cookieIn(await askUnknown(`${url}/operate/?token=${pageToken}`));
    const name = cookie.split("=")[0] ?? "";
    const planted = Array.from({ length: 150 }, (_, index) => `${name}=${String(index).padStart(43, "x")}`);
    const where = await askUnknown(`${url}/operate/api/where`, {
      headers: { cookie: [...planted, cookie].join("; ") },
    });
    expect(where.status).toBe(200);
    const headers = { cookie: planted.join("; ") };
    expect(await askUnknown(`${url}/operate/api/where`, { headers })).toMatchObject({ status: 401 });
  });

  it("is documents, scripts and styles that load nothing from anywhere, and lets nothing else run", async () => {
    const { status, headers, body } = await ask(`${url}/operate/`);
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toMatch(
      /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
    );
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    expect(body).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=/);
    const loaded = [...body.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path = ""]) => path);
    expect(loaded.length).toBeGreaterThan(5);
    for (const path of loaded) expect(await ask(`${url}${path}`)).toMatchObject({ status: 200 });
    expect(await ask(url)).toMatchObject({ status: 303, headers: { location: "/operate/" } });
  });

  it.each([
    ["a name that only DNS made point here", { host: "evil.example" }],
    ["another port", { host: "127.0.0.1:1" }],
    ["another site", { origin: "https://evil.example" }],
    ["a frame of another site", { "sec-fetch-site": "cross-site" }],
  ])("answers 403 to %s, and does nothing", async (_who, headers) => {
    for (const path of ["where", "live", `tasks/${requestIdOf(1)}`, "destinations", "dead-letters"]) {
      expect(await ask(`${url}/operate/api/${path}`, { headers })).toMatchObject({ status: 403 });
    }
    expect(await post(url, `/operate/api/tasks/${requestIdOf(1)}/cancel`, {}, headers)).toMatchObject({ status: 403 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("does nothing for a post without an origin, or one that a form of another site could send", async () => {
    const path = `${url}/operate/api/tasks/${requestIdOf(1)}/cancel`;
    const json = { "content-type": "application/json" };
    expect((await ask(path, { method: "POST", headers: json, body: "{}" })).status).toBe(403);
    expect((await ask(path, { method: "POST", headers: { origin: url, "content-type": "text/plain" } })).status).toBe(
      415,
    );
    expect((await ask(path, { method: "DELETE", headers: { origin: url } })).status).toBe(405);
    expect((await ask(path)).status).toBe(404);
    expect(await tasks.queued()).toEqual([]);
  });

  it("opens a document for whoever comes by a link of another site", async () => {
    expect((await ask(`${url}/operate/`, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(200);
  });

  it("shows all of a task but its texts, by its id or the beginning of it", async () => {
    const { body } = await ask(`${url}/operate/api/tasks/${requestIdOf(1).slice(0, 35)}`);
    expect(JSON.parse(body).words).toMatch(/Several request ids begin with/);
    const found = await ask(`${url}/operate/api/tasks/${requestIdOf(2)}`);
    expect(JSON.parse(found.body)).toMatchObject({
      row: { id: requestIdOf(2), kind: "bad", undelivered: true },
      task: { message: { user: "U1", textLength: 18 } },
      picture: { requestId: requestIdOf(2), state: "done" },
      whyNot: { cancel: "answered" },
    });
    expect(found.body).not.toMatch(/What is a sekisho|a secret answer/);
    expect(await ask(`${url}/operate/api/tasks/${requestIdOf(9)}`)).toMatchObject({ status: 404 });
    expect(await ask(`${url}/operate/api/tasks/..%2fwhere`)).toMatchObject({ status: 404 });
  });

  it("cancels, retries and delivers again what can be, by a message to the worker, and tells the log who was meant", async () => {
    const done = await post(url, `/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    expect(JSON.parse(done.body)).toMatchObject({ later: expect.stringContaining("at the next start") });
    expect((await post(url, `/operate/api/tasks/${requestIdOf(2)}/retry`, {})).status).toBe(200);
    expect((await post(url, `/operate/api/tasks/${requestIdOf(2)}/redrive`, {})).status).toBe(200);
    expect(await tasks.queued()).toMatchObject([
      { type: "cancel", requestId: requestIdOf(1) },
      { type: "ask", retryOf: requestIdOf(2), message: { text: "" } },
      { type: "redrive", requestId: requestIdOf(2) },
    ]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: "operator_asked", operation: "cancel", request_id: requestIdOf(1) },
      { operation: "retry", request_id: requestIdOf(2) },
      { operation: "redrive", request_id: requestIdOf(2) },
    ]);
  });

  it.each([
    ["cancel", 2, 409, /cannot be canceled any more/],
    ["retry", 1, 409, /is not over yet/],
    ["retry", 3, 409, /slash command/],
    ["redrive", 1, 409, /no answer that is missing/],
    ["cancel", 9, 404, /no such task/],
    ["constructor", 1, 404, /nothing at this address/],
  ])("says why it does not %s task %s", async (name, number, status, words) => {
    const refused = await post(url, `/operate/api/tasks/${requestIdOf(number)}/${name}`, {});
    expect(refused.status).toBe(status);
    expect(JSON.parse(refused.body).words).toMatch(words);
    expect(await tasks.queued()).toEqual([]);
  });

  it("lists the answers that Slack did not take, and redrives one, or all", async () => {
    const { about, rows } = await jsonOf("dead-letters");
    expect(about).toMatch(/On one machine/);
    expect(rows).toMatchObject([{ requestId: requestIdOf(2), reason: expect.stringMatching(/Slack did not take/) }]);
    const one = await post(url, "/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(2)] });
    expect(JSON.parse(one.body)).toEqual({ redriven: [{ requestId: requestIdOf(2), task: "done" }] });
    const other = await post(url, "/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(1)] });
    expect(JSON.parse(other.body)).toEqual({ redriven: [] });
    await post(url, "/operate/api/dead-letters/redrive", { all: true });
    expect(await tasks.queued()).toHaveLength(2);
    for (const body of [{}, { requestIds: [] }, { requestIds: ["all"] }, "x"]) {
      expect(await post(url, "/operate/api/dead-letters/redrive", body)).toMatchObject({ status: 400 });
    }
  });

  it("gives older tasks page by page, newest first", async () => {
    const { rows } = await jsonOf("tasks?state=done");
    expect(rows.map(({ id }: { id: string }) => id)).toEqual([requestIdOf(3), requestIdOf(2)]);
    expect(await ask(`${url}/operate/api/tasks?state=nonsense`)).toMatchObject({ status: 400 });
    expect(await ask(`${url}/operate/api/tasks?state=done&cursor=x`)).toMatchObject({ status: 400 });
  });

  it("streams the list to whoever looks", async () => {
    const cookie = cookieIn(await askUnknown(`${url}/operate/?token=${pageToken}`));
    const response = await fetch(`${url}/operate/api/live`, { headers: { cookie } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    let text = "";
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes("data:")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toContain(requestIdOf(1));
    expect(text).not.toMatch(/What is a sekisho|a secret answer/);
  });

  it("says that another program holds the file, and soon, since nobody else is answered meanwhile", async () => {
    const other = new DatabaseSync(tasks.file);
    other.exec("BEGIN IMMEDIATE");
    const refused = await post(url, `/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    other.close();
    expect(refused).toMatchObject({ status: 502, body: expect.stringContaining("is locked by another program") });
  });
});
