/** A result must fit into the record of its task, whatever JSON makes of its text. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createTestHost, hello, yielding } from "./test-host.ts";

/** What an item of DynamoDB holds, names of attributes and index keys included. */
const itemBytes = 400 * 1024;

describe("an answer within the contract's size", () => {
  it.each([
    ["is stored where its letters take three bytes", "関".repeat(87_000), undefined],
    ["is stored where it is full of quotes", '"'.repeat(180_000), undefined],
    ["is refused where no record could hold its escapes", "\u0001".repeat(100_000), "payload_too_large"],
  ])("%s", async (_what, text, reason) => {
    const { call, store } = createTestHost({ agent: yielding({ type: "answer", text }) });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error?.data.reason).toBe(reason);
    const answer = await call("get_task", { request_id: id });
    expect(answer.error?.data.reason).toBe(reason);
    if (reason !== undefined) return;
    const { items } = await store.list({ index: "state", key: "completed", limit: 1 });
    expect(Buffer.byteLength(JSON.stringify(items[0]))).toBeLessThan(itemBytes - 2000);
  });
});
