/** The A2A agent of a process: it delivers what its file has, also for a process that died, and stops in order. */
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { a2aSchema } from "@sekisho/config/a2a-schema.ts";
import { createA2aAgent, startPushLoop } from "@sekisho/execution/a2a/a2a-agent.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { encodeExecutionMessage } from "@sekisho/execution/tasks/task-message.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { afterTest, folderOfTest } from "../../tooling/cleanup.ts";
import { recordOf } from "../tasks/records.ts";
import { answering, eventually } from "../test-host.ts";
import { configOf, startReceiver, statesOf } from "./push-zone.ts";

/** A process whose file has a task with a push configuration. `start` begins to deliver. */
async function setUp({
  url,
  ...task
}: {
  url: string;
  lease?: { owner: string; untilMs: number };
}) {
  const database = openDatabase({ file: join(folderOfTest(), "execution.db") });
  afterTest(database.close);
  const store = createSqliteTaskStore({ database, parse: parseExecutionTask });
  const queue = createSqliteQueue({ database, name: "notifications" });
  const pushConfigs = [configOf({ url, registrationId: "r1" })];
  const a2a = { contextId: "c", messages: [], pushConfigs };
  const item = recordOf({ ...task, expiresAtMs: Date.now() + 60_000, params: { text: "hi" }, a2a });
  await store.create({ item });
  return {
    item,
    queue,
    start() {
      const agent = createA2aAgent({
        config: {
          a2a: a2aSchema.parse({ push: { allowLoopback: true } }),
          authenticator: { type: "none" },
        },
        notifications: queue,
        readSecret: () => Promise.reject(new Error("no secrets here")),
      });
      const authenticator = createNoneAuthenticator();
      const host = createHost({
        agent: answering("done"),
        store,
        authenticator,
        a2a: agent.settings,
      });
      const pushLoop = startPushLoop({ host, queue, store, allowLoopback: true, log: silentLog });
      afterTest(() => host.stop({ graceMs: 0 }));
      return pushLoop;
    },
  };
}

describe("the push loop", () => {
  it("notifies the failure of a task whose process died, over the shared file", async () => {
    const { url, received } = await startReceiver();
    const { item, queue, start } = await setUp({
      url,
      lease: { owner: "dead", untilMs: Date.now() - 60_000 },
    });
    const { id: taskId, state, changedAtMs } = item;
    const look = { taskId, state, changedAtMs, configId: "c1", registrationId: "r1" };
    await queue.send({ body: encodeExecutionMessage({ look }) });
    const pushLoop = start();
    await eventually(() => statesOf(received).includes("TASK_STATE_FAILED"));
    await pushLoop.close();
  });

  it("finishes the current notification before it closes", async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>();
    const { url, received } = await startReceiver({
      answers: [() => gate.then(() => new Response())],
    });
    const { item, queue, start } = await setUp({ url });
    const { id: taskId, state, changedAtMs } = item;
    const push = { taskId, configId: "c1", state, changedAtMs, attempt: 0 };
    await queue.send({ body: encodeExecutionMessage({ push }) });
    let endCount = 0;
    const { finish } = queue;
    queue.finish = async (request) => {
      const isFinished = await finish(request);
      endCount += 1;
      return isFinished;
    };
    const pushLoop = start();
    await eventually(() => received.length === 1);
    const closing = pushLoop.close();
    release();
    await closing;
    expect(endCount).toBe(1);
  });
});
