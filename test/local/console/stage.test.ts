/** The operators' page of a stage: its table, its archive of dead letters, and what it says where AWS refuses. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import type { TaskQueue } from "../../../lambdas/shared/engine/ports.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { type ConsoleSource, openStageSource } from "../../../lib/local/console/open-source.ts";
import { createOperatorsPage } from "../../../lib/local/console/operators-page.ts";
import { type OperateServer, startOperateServer } from "../../../lib/local/console/server.ts";
import { createDoor } from "../../../lib/local/web/door.ts";
import { anAsk, aWake, requestIdOf } from "../../cli/aws/dead-letter-bodies.ts";
import { openAwsPlace, type TestPlace } from "../../cli/tasks/places.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { AwsServices } from "../../doubles/aws/json-services.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { type Visitor, visit } from "../web/ask.ts";

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
      await store.create({ item: sampleTask({ id: requestIdOf(number), state: "done", outcome, expiresAtMs }) });
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

  const read = async (path: string) => JSON.parse((await ask(`/operate/api/${path}`)).body);
  const sent = () => aws.calls.filter(({ action }) => action === "sqs:SendMessage").map(({ body }) => JSON.parse(body));

  it("names the stage, and pages through what is over, newest first", async () => {
    expect(await read("where")).toMatchObject({ name: "stage prod" });
    const newest = await source.place.newestIds({ state: "done", limit: 2 });
    expect(newest).toEqual({ ids: [requestIdOf(3), requestIdOf(2)], cursor: expect.any(String) });
    const rest = await source.place.newestIds({ state: "done", limit: 2, cursor: newest.cursor });
    expect(rest.ids).toEqual([requestIdOf(1)]);
  });

  it("shows one task, and says which part of its way it cannot read", async () => {
    const { row, picture, note } = await read(`tasks/${requestIdOf(4)}`);
    expect({ row, picture }).toMatchObject({ row: { state: "waiting" }, picture: { state: "waiting" } });
    expect(note).toMatch(/Execution zone/);
  });

  it("cancels by a message to the worker, and writes nothing into the table", async () => {
    expect((await post(`/operate/api/tasks/${requestIdOf(4)}/cancel`, {})).status).toBe(200);
    expect(sent().map(({ MessageBody }) => JSON.parse(MessageBody))).toEqual([
      { type: "cancel", requestId: requestIdOf(4) },
    ]);
    expect(aws.calls.filter(({ action }) => /Put|Update|Delete/.test(action))).toEqual([]);
  });

  it("lists dead letters with what became of their tasks, never with a text, and redrives one, then all", async () => {
    await archive.send({ body: aWake({ requestId: requestIdOf(1) }) });
    await archive.send({ body: anAsk({ requestId: requestIdOf(7) }) });
    await archive.send({ body: "the text of nobody" });
    const listed = await read("dead-letters");
    const rows: { requestId: string | null }[] = listed.rows;
    expect(rows.toSorted((a, b) => String(a.requestId).localeCompare(String(b.requestId)))).toMatchObject([
      { requestId: requestIdOf(1), kind: "wake", task: "done", reason: expect.stringContaining("failed: internal") },
      { requestId: requestIdOf(7), kind: "ask", task: "none", reason: expect.stringContaining("not even be recorded") },
      { requestId: null, kind: "unreadable", reason: expect.stringContaining("--discard") },
    ]);
    expect(JSON.stringify(listed)).not.toContain("the text");
    const one = await post("/operate/api/dead-letters/redrive", { requestIds: [requestIdOf(1)] });
    expect(JSON.parse(one.body)).toEqual({ redriven: [{ requestId: requestIdOf(1), task: "done" }] });
    expect((await read("dead-letters")).rows).toHaveLength(2);
    const all = await post("/operate/api/dead-letters/redrive", { all: true });
    expect(JSON.parse(all.body)).toEqual({ redriven: [{ requestId: requestIdOf(7), task: "none" }] });
    expect(sent().map(({ MessageBody }) => JSON.parse(MessageBody).type)).toEqual(["redrive", "ask"]);
    expect((await read("dead-letters")).rows).toMatchObject([{ requestId: null }]);
  });

  it.each([
    ["dynamodb:GetItem", `tasks/${requestIdOf(4)}`],
    ["dynamodb:Query", "tasks?state=done"],
    ["sqs:ReceiveMessage", "dead-letters"],
  ])("says what to do where %s is refused", async (action, path) => {
    aws.refusals.set(action, { status: 400, name: "AccessDeniedException" });
    const { status, body } = await ask(`/operate/api/${path}`);
    expect({ status, body }).toEqual({ status: 502, body: expect.stringContaining("may not do that") });
  });
});
