/** `execute_task` while the task store is away. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createTestHost, hello, memoryStore } from "../test-host.ts";

describe("the store away", () => {
  it("is unavailable, stores and starts nothing; the same id works later, and the id of the task says that it may be stored", async () => {
    const store = memoryStore();
    let away = true;
    const create: typeof store.create = async (request) => {
      if (away) throw new Error("disk says hunter2");
      return store.create(request);
    };
    const { call, lines } = createTestHost({ store: { ...store, create } });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error).toMatchObject({ code: -32071, data: { reason: "unavailable", retryable: true } });
    expect(error?.data.task_id).toMatch(/./);
    expect(JSON.stringify([error, lines])).not.toContain("hunter2");
    away = false;
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe("task_not_found");
    expect((await call("execute_task", hello, { id })).result?.status).toBe("success");
  });

  it("is not waited for without end", async () => {
    const store = { ...memoryStore(), create: () => new Promise<never>(() => {}) };
    const { call } = createTestHost({ store, storeTimeoutMs: 10 });
    expect((await call("execute_task", hello)).error?.data.reason).toBe("unavailable");
  });

  it("for a moment at the end loses no outcome", async () => {
    const store = memoryStore();
    let failures = 2;
    const replace: typeof store.replace = async (request) => {
      if (request.item.state === "completed" && failures-- > 0) throw new Error("busy");
      return store.replace(request);
    };
    expect((await createTestHost({ store: { ...store, replace } }).call("execute_task", hello)).result?.status).toBe(
      "success",
    );
  });
});
