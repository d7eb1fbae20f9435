/** The zone's secret: one for all processes and for all times, on every engine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../lambdas/shared/engine/memory/task-store.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../lambdas/shared/engine/sqlite/engine.ts";
import { createZoneSecret, parseZoneSecret } from "../../lambdas/verification/zone-secret.ts";

const memoryStore = () => createMemoryTaskStore({ parse: parseZoneSecret });

describe("the zone's secret", () => {
  it("is made once, with 256 random bits", async () => {
    const store = memoryStore();
    const secret = await createZoneSecret({ store })();
    expect(Buffer.from(secret, "base64url")).toHaveLength(32);
    expect(await createZoneSecret({ store })()).toBe(secret);
    expect(await createZoneSecret({ store: memoryStore() })()).not.toBe(secret);
  });

  it("is one also where several processes make it at once", async () => {
    const store = memoryStore();
    const secrets = await Promise.all(Array.from({ length: 5 }, () => createZoneSecret({ store })()));
    expect(new Set(secrets).size).toBe(1);
  });

  it("stays after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-zone-secret-"));
    const file = join(folder, "verification.db");
    const secrets: string[] = [];
    for (let start = 0; start < 2; start++) {
      const database = openDatabase({ file });
      const store = createSqliteTaskStore({ database, parse: parseZoneSecret });
      secrets.push(await createZoneSecret({ store })());
      await database.close();
    }
    rmSync(folder, { recursive: true, force: true });
    expect(secrets[1]).toBe(secrets[0]);
  });

  it("is read once per process, and again where the store was away", async () => {
    const store = memoryStore();
    let reads = 0;
    const get: typeof store.get = (request) => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error("away")) : store.get(request);
    };
    const secretOf = createZoneSecret({ store: { get, create: store.create } });
    await expect(secretOf()).rejects.toThrow("away");
    expect(await secretOf()).toBe(await secretOf());
    expect(reads).toBe(2);
  });

  it("is never made anew where the stored one cannot be read", () => {
    const stored = { id: "zone-secret", revision: 1, state: "zone_secret", expiresAtMs: 1, value: "" };
    expect(() => parseZoneSecret(stored)).toThrow();
  });
});
