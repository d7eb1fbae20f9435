import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLog } from "../../../lambdas/shared/log.ts";
import { sampleCall } from "../../verification/task/sample.ts";
import { type Visitor, visit } from "../web/ask.ts";
import { servePage } from "./served.ts";
import { openTasksInFile, requestIdOf, undelivered } from "./tasks-in-file.ts";

const tasks = openTasksInFile();
const lines: string[] = [];
let served: Awaited<ReturnType<typeof servePage>>;
let ask: Visitor["ask"];
let post: Visitor["post"];

beforeAll(async () => {
  served = await servePage({
    folder: tasks.folder,
    log: createLog({ service: "sekisho", write: (line) => void lines.push(line) }),
  });
  ({ ask, post } = await visit(served.address));
  await tasks.add(1, { state: "waiting", call: sampleCall({ destination: "far" }) });
  await tasks.add(2, undelivered);
  await tasks.add(3, { state: "done", message: { ...(await tasks.add(4)).message, command: true } });
});
afterAll(async () => {
  await served.close();
  await tasks.close();
});

const jsonOf = async (path: string) => JSON.parse((await ask(`/operate/api/${path}`)).body);

describe("the operators' page on loopback", () => {
  it("ends the session on the server when somebody signs out, its streams included, and no other session", async () => {
    const other = await visit(served.address);
    const stream = await fetch(`${served.url}/operate/api/live`, { headers: { cookie: other.cookie } });
    const signOut = await other.post("/operate/sign-out", {});
    expect(signOut.headers["set-cookie"]?.[0]).toMatch(/^sekisho-page-\d+=; Max-Age=0/);
    // It ends, or the test runs out of time.
    await stream.text();
    expect(await other.ask("/operate/api/where")).toMatchObject({ status: 401 });
    expect(await ask("/operate/api/where")).toMatchObject({ status: 200 });
  });

  it("is documents, scripts and styles that load nothing from anywhere, and lets nothing else run", async () => {
    const { status, headers, body } = await ask("/operate/");
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toMatch(
      /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
    );
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    expect(body).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=/);
    const loaded = [...body.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path = ""]) => path);
    expect(loaded).toEqual(["/web/common.css", "/operate/page/page.css", "/operate/page/main.js"]);
    for (const path of loaded) expect(await ask(path)).toMatchObject({ status: 200 });
    expect(await ask("/")).toMatchObject({ status: 303, headers: { location: "/operate/" } });
    expect(await ask("/operate")).toMatchObject({ status: 303, headers: { location: "/operate/" } });
  });

  it("says so where an address takes another method, or is none", async () => {
    const path = `/operate/api/tasks/${requestIdOf(1)}/cancel`;
    expect(await ask(path)).toMatchObject({ status: 405, headers: { allow: "POST" } });
    expect(await post("/operate/api/where", {})).toMatchObject({ status: 405, headers: { allow: "GET" } });
    expect(await ask("/operate/nothing")).toMatchObject({ status: 404 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("shows all of a task but its texts, by its id or the beginning of it", async () => {
    const { body } = await ask(`/operate/api/tasks/${requestIdOf(1).slice(0, 35)}`);
    expect(body).toMatch(/^Several request ids begin with/);
    const found = await ask(`/operate/api/tasks/${requestIdOf(2)}`);
    expect(JSON.parse(found.body)).toMatchObject({
      row: { id: requestIdOf(2), kind: "bad", undelivered: true },
      task: { message: { user: "U1", textLength: 18 } },
      picture: { requestId: requestIdOf(2), state: "done" },
      whyNot: { cancel: "answered" },
    });
    expect(found.body).not.toMatch(/What is a sekisho|a secret answer/);
    expect(await ask(`/operate/api/tasks/${requestIdOf(9)}`)).toMatchObject({ status: 404 });
    expect(await ask("/operate/api/tasks/..%2fwhere")).toMatchObject({ status: 404 });
  });

  it("cancels, retries and delivers again what can be, by a message to the worker, and tells the log who was meant", async () => {
    const done = await post(`/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    expect(JSON.parse(done.body)).toMatchObject({ later: expect.stringContaining("at the next start") });
    expect((await post(`/operate/api/tasks/${requestIdOf(2)}/retry`, {})).status).toBe(200);
    expect((await post(`/operate/api/tasks/${requestIdOf(2)}/redrive`, {})).status).toBe(200);
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
    ["cancel", 9, 404, /There is no task/],
    ["constructor", 1, 404, /nothing at this address/],
    ["", 1, 404, /nothing at this address/],
  ])("says why it does not %s task %s", async (name, number, status, words) => {
    const refused = await post(`/operate/api/tasks/${requestIdOf(number)}/${name}`, {});
    expect(refused.status).toBe(status);
    expect(refused.body).toMatch(words);
    expect(await tasks.queued()).toEqual([]);
  });

  it("lists the answers that Slack did not take, and redrives one, or all", async () => {
    const { about, rows } = await jsonOf("dead-letters");
    expect(about).toMatch(/On one machine/);
    expect(rows).toMatchObject([{ requestId: requestIdOf(2), reason: expect.stringMatching(/Slack did not take/) }]);
    const one = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(2)] });
    expect(JSON.parse(one.body)).toEqual({ redriven: [{ requestId: requestIdOf(2), task: "done" }] });
    const other = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(1)] });
    expect(JSON.parse(other.body)).toEqual({ redriven: [] });
    await post("/operate/api/dead-letters/redrive", { all: true });
    expect(await tasks.queued()).toHaveLength(2);
    for (const body of [{}, { requestIds: [] }, { requestIds: ["all"] }, "x"]) {
      expect(await post("/operate/api/dead-letters/redrive", body)).toMatchObject({ status: 400 });
    }
  });

  it("gives older tasks page by page, newest first", async () => {
    const { rows } = await jsonOf("tasks?state=done");
    expect(rows.map(({ id }: { id: string }) => id)).toEqual([requestIdOf(3), requestIdOf(2)]);
    expect(await ask("/operate/api/tasks?state=nonsense")).toMatchObject({ status: 400 });
    expect(await ask("/operate/api/tasks?state=done&cursor=x")).toMatchObject({ status: 400 });
  });

  it("streams the list to whoever looks", async () => {
    const { cookie } = await visit(served.address);
    const response = await fetch(`${served.url}/operate/api/live`, { headers: { cookie } });
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
    const refused = await post(`/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    other.close();
    expect(refused).toMatchObject({ status: 502, body: expect.stringContaining("is locked by another program") });
  });
});
