/** A process that writes to a sqlite file as fast as it can and says on stdout what was acknowledged, until it is killed. */
import { writeSync } from "node:fs";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import type { SampleItem } from "../../tables/task-store-case.ts";

const [file = "", name = ""] = process.argv.slice(2);
const database = openDatabase({ file });
const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem });
const queue = createSqliteQueue({ database, name: "tasks" });
/** Longer than any test, so that a message which comes twice was given out twice. */
const visibilityTimeoutMs = 3600_000;

/** Returns when the kernel has the line: it is read even if the process is killed right after. */
function acknowledge(what: string, which: string | number): void {
  writeSync(1, `${what} ${which}\n`);
}

function item(id: string): SampleItem {
  return { id, revision: 1, state: "new", expiresAtMs: Date.now() + 3600_000, text: "", count: 0 };
}

async function makeItems(): Promise<void> {
  for (let number = 0; ; number += 1) {
    const newItem = await store.create({ item: item(`${name}/${number}`) });
    if (newItem !== undefined) acknowledge("made", newItem.id);
  }
}

async function countUp(): Promise<void> {
  await store.create({ item: item("counter") });
  for (;;) {
    const counter = await store.get({ id: "counter" });
    const writtenItem =
      counter && (await store.replace({ item: { ...counter, count: counter.count + 1 } }));
    if (writtenItem !== undefined) acknowledge("counted", writtenItem.count);
  }
}

async function sendMessages(): Promise<void> {
  for (let number = 0; ; number += 1) {
    const body = `${name}/${number}`;
    await queue.send({ body });
    acknowledge("sent", body);
  }
}

async function takeMessages(): Promise<void> {
  for (;;) {
    const messages = await queue.receive({ max: 2, visibilityTimeoutMs, waitMs: 1000 });
    for (const { body } of messages) acknowledge("got", body);
    for (const { body, receipt } of messages) {
      if (await queue.finish({ receipt })) acknowledge("finished", body);
    }
  }
}

await Promise.all([makeItems(), countUp(), sendMessages(), takeMessages()]);
