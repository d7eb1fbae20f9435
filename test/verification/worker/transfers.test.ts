/** Files of answers at addresses that never respond: which slots they hold, and what waits for them. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import type { PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { createFiles } from "@sekisho/verification/files/create-files.ts";
import { FetchTimedOut, FileRefused, type Files } from "@sekisho/verification/files/files.ts";
import type { Share } from "@sekisho/verification/slots.ts";
import { encodeQueueMessage } from "@sekisho/verification/task/encode-message.ts";
import { receivedTask, type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { createFaults, deaths, nthFault } from "../../world/faults.ts";
import { worldGate, worldText } from "../../world/people.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { createWorldSlack } from "../../world/slack.ts";
import { createWorld } from "../../world/world.ts";
import { numberedAsk, sampleAsk, sampleCall, samplePolicy } from "../task/sample.ts";

const client: ExecutionClient = {
  call: () => Promise.reject(new Error("nothing is called")),
  close: async () => {},
};

/**
 * A zone on the embedded engine, with tasks that have their answers. No address responds. `fetching` has the destinations of the fetches
 * under way, and `answers` the texts in Slack.
 */
async function openZone({
  destinations,
  concurrency,
}: {
  destinations: readonly string[];
  concurrency: number;
}) {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-transfers-"));
  const database = openDatabase({ file: join(folder, "verification.db") });
  const queue = createSqliteQueue({ database, name: "tasks" });
  const store = createSqliteTaskStore({ database, parse: (json) => taskSchema.parse(json) });
  const { operate } = createFaults({ fault: () => undefined, now: Date.now });
  const process = { isAlive: true };
  let count = 0;
  const slack = createWorldSlack({
    ...{ operate, now: Date.now, newTs: () => `${++count}.0` },
  });
  const fetching: string[] = [];
  let running = 0;
  const fetchNothing =
    ({ call }: Task): PublicFetch =>
    ({ signal }) => {
      fetching.push(call?.destination ?? "");
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    };
  const refuseTransfer = () => Promise.reject(new Error("nothing is transferred"));
  const [destination] = samplePolicy().destinations.values();
  if (destination === undefined) throw new Error("the sample has a destination");
  const worker = createVerificationWorker({
    engine: { ...openWorkerStores((parse) => createMemoryTaskStore({ parse })), store, queue },
    slack: slack.api(process),
    gate: worldGate({ operate, process, running: new Set(), rules: {} }),
    files: createFiles({
      slack: {
        fileInfo: refuseTransfer,
        canvasContent: refuseTransfer,
        startUpload: async () => ({ fileId: "F1", url: "" }),
        sendUpload: async () => {},
      },
      token: refuseTransfer,
      apiUrl: "https://slack.com/api/",
      store: { put: refuseTransfer },
      publicFetch: fetchNothing,
      maxBytes: 20 * 1024 * 1024,
      maxCount: 10,
    }),
    text: worldText,
    policy: {
      ...samplePolicy(),
      destinations: new Map(destinations.map((name) => [name, destination])),
    },
    destinations: new Map(
      destinations.map((name) => [
        name,
        { client, callTimeoutMs: 30_000, maxSends: concurrency, longPollMs: 0 },
      ]),
    ),
    config: parseConfig({
      json: { slack: { reactions: false, streaming: false }, limits: { concurrency } },
    }),
    log: silentLog,
  });
  const stop = new AbortController();
  const loop = runQueueLoop({
    consumer: queue,
    async handle({ body }, signal) {
      running += 1;
      await worker.handle({ body, signal }).finally(() => {
        running -= 1;
      });
    },
    ...{
      concurrency,
      visibilityTimeoutMs: 90_000,
      signal: stop.signal,
      idsOf: readQueuedIds,
      log: silentLog,
      graceMs: 10,
    },
  });
  closeAfterTest({
    async close() {
      stop.abort();
      await loop;
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  });
  let tasks = 0;

  return {
    fetching,
    running: () => running,
    answers: () => slack.posts.map(({ text }) => text),
    read: (id: string) => store.get({ id }),
    /** Stores a task that has its answer, and wakes it. */
    async deliver(request: {
      destination: string;
      text: string;
      artifacts?: Artifact[];
    }): Promise<string> {
      const { artifacts, text } = request;
      const ask = numberedAsk(++tasks, { channel: `C${tasks}` });
      const item: Task = {
        ...receivedTask({ ...ask, receivedAtMs: Date.now() }),
        ...{
          state: "delivering",
          queuePosition: 0,
          wakeSeq: 1,
          call: sampleCall({ destination: request.destination }),
        },
        history: [{ atMs: Date.now(), event: "answered", state: "delivering" }],
        outcome: { type: "answer", text, ...(artifacts && { artifacts }) },
        delivery: { status: "posting" },
      };
      await store.create({ item });
      await queue.send({ body: encodeQueueMessage({ type: "wake", requestId: item.id, seq: 1 }) });
      return item.id;
    },
  };
}

type Zone = Awaited<ReturnType<typeof openZone>>;

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Eighty answers with an address each, of hosts of their own, which come before everything else. */
async function deliverHostile(zone: Zone, destination: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < 80; n++) {
    const artifacts = [{ name: "a.txt", url: `https://silent-${n}.example/a.txt` }];
    ids.push(await zone.deliver({ destination, text: `Hostile ${n}`, artifacts }));
  }
  return ids;
}

describe("answers with addresses that never respond", () => {
  it.each([
    [4, 1],
    [16, 1],
    [64, 3],
  ])(
    "holds slots only for transfers and not for waiting answers, of %i slots",
    async (concurrency, transfers) => {
      const zone = await openZone({ destinations: ["only"], concurrency });
      const ids = await deliverHostile(zone, "only");
      await zone.deliver({ destination: "only", text: "Innocent" });
      await zone.deliver({
        destination: "only",
        text: "Inline",
        artifacts: [{ name: "b.txt", text: "b" }],
      });
      await until(() => zone.answers().includes("Innocent") && zone.answers().includes("Inline"));
      await until(() => zone.running() <= transfers);
      expect(zone.fetching).toHaveLength(transfers);
      // All others wait in the record with their answers.
      const waiting = await Promise.all(ids.map((id) => zone.read(id)));
      expect(
        waiting.filter((task) => task?.state === "delivering" && task.outcome?.type === "answer"),
      ).toHaveLength(80);
      expect(waiting.filter((task) => task?.lease === undefined)).toHaveLength(80 - transfers);
    },
  );

  it("leaves the other destination its transfers", async () => {
    const zone = await openZone({ destinations: ["hostile", "other"], concurrency: 64 });
    await deliverHostile(zone, "hostile");
    await zone.deliver({
      destination: "other",
      text: "Innocent",
      artifacts: [{ name: "a.txt", url: "https://a.example/a.txt" }],
    });
    await until(() => zone.fetching.includes("other"));
    expect(zone.fetching.filter((name) => name === "hostile")).toHaveLength(1);
  });
});

/** Transfers that are all held by others for the first `refusals` times. */
function busyShare(refusals: number): Share {
  let refusalsLeft = refusals;
  return { max: 3, tryTake: () => (refusalsLeft-- > 0 ? undefined : () => {}) };
}

describe("an answer that waits for a transfer", () => {
  const artifacts = [{ name: "a.txt", url: "https://a.example/a.txt" }];
  const story = () => ({ status: "success" as const, response_text: "Here.", artifacts });

  it("posts an answer once with its file if a worker dies at any operation", async () => {
    let operations = 0;
    for (const fault of deaths) {
      for (let nth = 0; nth === 0 || nth < operations; nth++) {
        const files = { transfers: busyShare(2), isFetched: () => true };
        const world = createWorld({
          ...{ story, files },
          fault: nthFault(nth, fault, () => {
            operations += nth === 0 ? 1 : 0;
            return true;
          }),
        });
        await world.deliver(sampleAsk()).run();
        expect(world.answers()).toEqual(["Here."]);
        expect(world.posts.filter(({ fileIds }) => fileIds.length > 0)).toHaveLength(1);
      }
    }
  });

  it("posts an answer without a file that is no longer fetched", async () => {
    let waits = 0;
    const files = {
      transfers: busyShare(Number.POSITIVE_INFINITY),
      isFetched: () => waits++ < 3,
      upload: () => Promise.reject(new FileRefused({ why: "not_to_be_had", name: "a.txt" })),
    };
    const world = createWorld({ story, files });
    await world.deliver(sampleAsk()).run();
    expect(world.answers()).toEqual(["Here. (1 files are missing)"]);
    expect(waits).toBe(4);
  });

  it("posts an answer without the files of a host that has timed out twice", async () => {
    const tries: number[] = [];
    const files: Partial<Files> = {
      isFetched: () => true,
      async upload({ task, index }) {
        tries.push(index);
        const timeouts = task.outcome?.type === "answer" ? task.outcome.fetchTimeouts : [];
        throw timeouts?.length === 2
          ? new FileRefused({ why: "not_to_be_had", name: "a.txt" })
          : new FetchTimedOut();
      },
    };
    const world = createWorld({
      story: () => ({ ...story(), artifacts: [...artifacts, ...artifacts] }),
      files,
    });
    await world.deliver(sampleAsk()).run();
    expect(tries).toEqual([0, 0, 0, 1]);
    expect(world.answers()).toEqual(["Here. (2 files are missing)"]);
  });
});
