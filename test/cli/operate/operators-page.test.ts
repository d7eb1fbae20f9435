/** The operators' page: on loopback over a local run's file, and of a stage. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { createDoor } from "@sekisho/local/web/door.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { createLog, silentLog } from "@sekisho/runtime/log.ts";
import { type ConsoleSource, openStageSource } from "@sekisho/sekisho/operate/open-source.ts";
import { createOperatorsPage } from "@sekisho/sekisho/operate/operators-page.ts";
import { type OperateServer, startOperateServer } from "@sekisho/sekisho/operate/server.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { AwsServices } from "../../doubles/aws/json-services.ts";
import { type Visitor, visit } from "../../local/web/ask.ts";
import { sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { anAsk, aWake } from "../aws/dead-letter-bodies.ts";
import { openAwsPlace, type TestPlace } from "../tasks/places.ts";
import { openTasksInFile, requestIdOf, servePage, undelivered } from "./tasks-in-file.ts";

const tasks = openTasksInFile();
const lines: string[] = [];
let site: Awaited<ReturnType<typeof servePage>>;
let visitor: Visitor;
let ask: Visitor["ask"];
let post: Visitor["post"];

beforeAll(async () => {
  site = await servePage({
    folder: tasks.folder,
    log: createLog({ service: "sekisho", write: (line) => void lines.push(line) }),
  });
  visitor = await visit(site.address);
  ({ ask, post } = visitor);
  await tasks.add(1, { state: "waiting", call: sampleCall({ destination: "far" }) });
  await tasks.add(2, undelivered);
  await tasks.add(3, {
    state: "done",
    message: { ...(await tasks.add(4)).message, command: true },
  });
});

afterAll(async () => {
  await site.close();
  await tasks.close();
});

const jsonOf = async (path: string) => JSON.parse((await ask(`/operate/api/${path}`)).body);

describe("the operators' page on loopback", () => {
  it("ends one session on the server at the sign-out, with its streams, and keeps other sessions", async () => {
    const other = await visit(site.address);
    const stream = await fetch(`${site.url}/operate/api/live`, {
      headers: { cookie: other.cookie },
    });
    const signOut = await other.post("/operate/sign-out", {});
    expect(signOut.headers["set-cookie"]?.[0]).toMatch(/^sekisho-page-\d+=; Max-Age=0/);
    // It ends, or the test runs out of time.
    await stream.text();
    expect(await other.ask("/operate/api/where")).toMatchObject({ status: 401 });
    expect(await ask("/operate/api/where")).toMatchObject({ status: 200 });
  });

  it("loads documents, scripts and styles only from its own server, under a strict policy", async () => {
    const { status, headers, body } = await ask("/operate/");
    expect(status).toBe(200);
    expect(headers["content-security-policy"]).toMatch(
      /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
    );
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    expect(body).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=/);
    const loaded = [...body.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path = ""]) => path);
    expect(loaded).toEqual(["/web/app.css", "/web/app.js"]);
    for (const path of loaded) expect(await ask(path)).toMatchObject({ status: 200 });
    expect(await ask("/")).toMatchObject({ status: 303, headers: { location: "/operate/" } });
    expect(await ask("/operate")).toMatchObject({
      status: 303,
      headers: { location: "/operate/" },
    });
  });

  it("answers 405 for another method and 404 for an unknown address", async () => {
    const path = `/operate/api/tasks/${requestIdOf(1)}/cancel`;
    expect(await ask(path)).toMatchObject({ status: 405, headers: { allow: "POST" } });
    expect(await post("/operate/api/where", {})).toMatchObject({
      status: 405,
      headers: { allow: "GET" },
    });
    expect(await ask("/operate/nothing")).toMatchObject({ status: 404 });
    expect(await tasks.queued()).toEqual([]);
  });

  it("shows a task without its texts, by its id or the beginning of the id", async () => {
    const { body } = await ask(`/operate/api/tasks/${requestIdOf(1).slice(0, 35)}`);
    expect(body).toMatch(/^Several request ids begin with/);
    const found = await ask(`/operate/api/tasks/${requestIdOf(2)}`);
    expect(JSON.parse(found.body)).toMatchObject({
      row: { id: requestIdOf(2), kind: "bad", undelivered: true },
      task: { message: { user: "U1", textLength: 18 } },
      timeline: expect.any(Array),
      whyNot: { cancel: "answered" },
    });
    expect(found.body).not.toMatch(/What is a sekisho|a secret answer/);
    expect(await ask(`/operate/api/tasks/${requestIdOf(9)}`)).toMatchObject({ status: 404 });
    expect(await ask("/operate/api/tasks/..%2fwhere")).toMatchObject({ status: 404 });
  });

  it("cancels, retries and redrives tasks by messages to the worker, and logs the operations", async () => {
    const done = await post(`/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    expect(JSON.parse(done.body)).toMatchObject({
      later: expect.stringContaining("at the next start"),
    });
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
    ["cancel", 2, 409, /can no longer be canceled/],
    ["retry", 1, 409, /has not ended yet/],
    ["retry", 3, 409, /slash command/],
    ["redrive", 1, 409, /no answer left to deliver/],
    ["cancel", 9, 404, /There is no task/],
    ["constructor", 1, 404, /nothing at this address/],
    ["", 1, 404, /nothing at this address/],
  ])(
    "refuses the operation %s on task %s, and explains why",
    async (name, number, status, words) => {
      const refusal = await post(`/operate/api/tasks/${requestIdOf(number)}/${name}`, {});
      expect(refusal.status).toBe(status);
      expect(refusal.body).toMatch(words);
      expect(await tasks.queued()).toEqual([]);
    },
  );

  it("lists the answers that Slack refused, and redrives one or all", async () => {
    const { about, rows } = await jsonOf("dead-letters");
    expect(about).toMatch(/On one machine/);
    expect(rows).toMatchObject([
      { requestId: requestIdOf(2), reason: expect.stringMatching(/Slack did not accept/) },
    ]);
    const one = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(2)] });
    expect(JSON.parse(one.body)).toEqual({
      redriven: [{ requestId: requestIdOf(2), task: "done" }],
    });
    const other = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(1)] });
    expect(JSON.parse(other.body)).toEqual({ redriven: [] });
    await post("/operate/api/dead-letters/redrive", { all: true });
    expect(await tasks.queued()).toHaveLength(2);
    for (const body of [{}, { requestIds: [] }, { requestIds: ["all"] }, "x"]) {
      expect(await post("/operate/api/dead-letters/redrive", body)).toMatchObject({ status: 400 });
    }
  });

  it("pages through older tasks, newest first", async () => {
    const { rows } = await jsonOf("tasks?state=done");
    expect(rows.map(({ id }: { id: string }) => id)).toEqual([requestIdOf(3), requestIdOf(2)]);
    expect(await ask("/operate/api/tasks?state=nonsense")).toMatchObject({ status: 400 });
    expect(await ask("/operate/api/tasks?state=done&cursor=x")).toMatchObject({ status: 400 });
  });

  it("streams the list of tasks to a viewer", async () => {
    const { cookie } = await visit(site.address);
    const response = await fetch(`${site.url}/operate/api/live`, { headers: { cookie } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    let text = "";
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes("data:")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toContain(requestIdOf(1));
    expect(text).not.toMatch(/What is a sekisho|a secret answer/);
  });

  it("reports quickly that another program has locked the file", async () => {
    const other = new DatabaseSync(tasks.file);
    other.exec("BEGIN IMMEDIATE");
    const refusal = await post(`/operate/api/tasks/${requestIdOf(1)}/cancel`, {});
    other.close();
    expect(refusal).toMatchObject({
      status: 502,
      body: expect.stringContaining("is locked by another program"),
    });
  });
});

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWithDynamoDb("the operators' page of a stage", () => {
  const stop = new AbortController();
  let place: TestPlace;
  let aws: AwsServices;
  let source: ConsoleSource;
  let server: OperateServer;
  let ask: Visitor["ask"];
  let post: Visitor["post"];
  let environment: { restore(): void };
  let archive: TaskQueue;

  beforeAll(async () => {
    place = await openAwsPlace();
    if (place.aws === undefined) throw new Error("It is on AWS.");
    ({ aws } = place);
    environment = jest.replaceProperty(process, "env", { ...process.env, ...aws.env });
    archive = place.engine.taskQueue({ maxReceiveCount: 5 }).deadLetters;
    const config = { directory: place.folder, file: join(place.folder, "two.json") };
    source = await openStageSource({ config, stage: "prod", signal: stop.signal });
    const door = createDoor();
    const page = createOperatorsPage({ source, admission: door, log: silentLog });
    server = await startOperateServer({ page, hostname: "127.0.0.1", port: 0, log: silentLog });
    ({ ask, post } = await visit(door.address(`${server.url}/operate/`)));
    const store = place.engine.taskStore({ parse: (json) => taskSchema.parse(json) });
    const expiresAtMs = Date.now() + 3600_000;
    for (const number of [1, 2, 3]) {
      const outcome = { type: "failed", reason: "internal", lost: false } as const;
      await store.create({
        item: sampleTask({ id: requestIdOf(number), state: "done", outcome, expiresAtMs }),
      });
    }
    await store.create({ item: sampleTask({ id: requestIdOf(4), state: "waiting", expiresAtMs }) });
  });
  afterAll(async () => {
    await server.close();
    stop.abort();
    await source.close();
    environment.restore();
    await place.close();
  });
  afterEach(() => {
    aws.refusals.clear();
    aws.calls.length = 0;
  });

  const readValue = async (path: string) => JSON.parse((await ask(`/operate/api/${path}`)).body);
  const listSentBodies = () =>
    aws.calls
      .filter(({ action }) => action === "sqs:SendMessage")
      .map(({ body }) => JSON.parse(body));

  it("names the stage, and pages through finished tasks, newest first", async () => {
    expect(await readValue("where")).toMatchObject({ name: "stage prod" });
    const newest = await source.zone.newestIds({ state: "done", limit: 2 });
    expect(newest).toEqual({ ids: [requestIdOf(3), requestIdOf(2)], cursor: expect.any(String) });
    const rest = await source.zone.newestIds({ state: "done", limit: 2, cursor: newest.cursor });
    expect(rest.ids).toEqual([requestIdOf(1)]);
  });

  it("shows a task with a note about the unreadable part of its timeline", async () => {
    const { row, timeline, note } = await readValue(`tasks/${requestIdOf(4)}`);
    expect(row.state).toBe("waiting");
    expect(timeline).not.toEqual([]);
    expect(note).toMatch(/Execution zone/);
  });

  it("lists dead letters with the outcomes of their tasks and without texts, and redrives one, then all", async () => {
    await archive.send({ body: aWake({ requestId: requestIdOf(1) }) });
    await archive.send({ body: anAsk({ requestId: requestIdOf(7) }) });
    await archive.send({ body: "the text of nobody" });
    const listing = await readValue("dead-letters");
    const rows: { requestId: string | null }[] = listing.rows;
    expect(
      rows.toSorted((a, b) => String(a.requestId).localeCompare(String(b.requestId))),
    ).toMatchObject([
      {
        requestId: requestIdOf(1),
        kind: "wake",
        task: "done",
        reason: expect.stringContaining("failed: internal"),
      },
      {
        requestId: requestIdOf(7),
        kind: "ask",
        task: "none",
        reason: expect.stringContaining("never stored"),
      },
      { requestId: null, kind: "unreadable", reason: expect.stringContaining("--discard") },
    ]);
    expect(JSON.stringify(listing)).not.toContain("the text");
    const one = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(1)] });
    expect(JSON.parse(one.body)).toEqual({
      redriven: [{ requestId: requestIdOf(1), task: "done" }],
    });
    expect((await readValue("dead-letters")).rows).toHaveLength(2);
    const all = await post("/operate/api/dead-letters/redrive", { all: true });
    expect(JSON.parse(all.body)).toEqual({
      redriven: [{ requestId: requestIdOf(7), task: "none" }],
    });
    expect(listSentBodies().map(({ MessageBody }) => JSON.parse(MessageBody).type)).toEqual([
      "redrive",
      "ask",
    ]);
    expect((await readValue("dead-letters")).rows).toMatchObject([{ requestId: null }]);
  });

  it("explains what to do if AWS refuses a call", async () => {
    aws.refusals.set("sqs:ReceiveMessage", { status: 400, name: "AccessDeniedException" });
    expect(await ask("/operate/api/dead-letters")).toMatchObject({
      status: 502,
      body: expect.stringContaining("lack the permission"),
    });
  });
});
