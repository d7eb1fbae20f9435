/** The zone's secret: one for all processes and for all times, on every engine. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import {
  createZoneSecret,
  newZoneSecret,
  parseZoneSecret,
  withNewSecret,
  withoutFormerSecret,
  type ZoneSecret,
  zoneSecretId,
  zoneSecretKeepMs,
} from "@sekisho/verification/zone-secret.ts";
import { createMemoryTaskStore } from "../world/records.ts";

const memoryStore = () => createMemoryTaskStore({ parse: parseZoneSecret });

describe("the zone's secret", () => {
  it("creates one secret with 256 random bits", async () => {
    const store = memoryStore();
    const { current } = await createZoneSecret({ store })();
    expect(Buffer.from(current, "base64url")).toHaveLength(32);
    expect(await createZoneSecret({ store })()).toEqual({ current });
    expect(await createZoneSecret({ store: memoryStore() })()).not.toEqual({ current });
  });

  it("creates one secret for several processes at the same time", async () => {
    const store = memoryStore();
    const secrets = await Promise.all(
      Array.from({ length: 5 }, () => createZoneSecret({ store })()),
    );
    expect(new Set(secrets.map(({ current }) => current)).size).toBe(1);
  });

  it("keeps the secret after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-zone-secret-"));
    const file = join(folder, "verification.db");
    const secrets: string[] = [];
    for (let start = 0; start < 2; start++) {
      const database = openDatabase({ file });
      const store = createSqliteTaskStore({ database, parse: parseZoneSecret });
      secrets.push((await createZoneSecret({ store })()).current);
      await database.close();
    }
    rmSync(folder, { recursive: true, force: true });
    expect(secrets[1]).toBe(secrets[0]);
  });

  it("reads the secret once in five minutes, and again after a failure", async () => {
    const store = memoryStore();
    let reads = 0;
    const get: typeof store.get = (request) => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error("away")) : store.get(request);
    };
    let nowMs = 0;
    const secretOf = createZoneSecret({ store: { get, create: store.create }, now: () => nowMs });
    await expect(secretOf()).rejects.toThrow("away");
    expect(await secretOf()).toEqual(await secretOf());
    nowMs += zoneSecretKeepMs - 1;
    await secretOf();
    expect(reads).toBe(2);
    nowMs += 1;
    await secretOf();
    expect(reads).toBe(3);
  });

  it("announces a new secret before it is used, and forgets a former one that was dropped", async () => {
    const store = memoryStore();
    let nowMs = 1_000_000;
    const secretOf = createZoneSecret({ store, now: () => nowMs });
    const { current: first } = await secretOf();
    const change = async (decide: (item: ZoneSecret) => ZoneSecret) => {
      const item = await store.get({ id: zoneSecretId });
      if (item !== undefined) await store.replace({ item: decide(item) });
    };

    const second = newZoneSecret();
    await change((item) => withNewSecret(item, { value: second, nowMs }));
    expect(await secretOf()).toEqual({ current: first });
    nowMs += zoneSecretKeepMs;
    const { current, former } = await secretOf();
    expect({ current, former }).toEqual({
      current: second,
      former: { value: first, beforeMs: expect.any(Number) },
    });
    expect(former?.beforeMs).toBeGreaterThan(nowMs);

    await change(withoutFormerSecret);
    nowMs += zoneSecretKeepMs;
    expect(await secretOf()).toEqual({ current: second });
  });

  it("refuses to replace a secret twice, because open conversations would lose theirs", () => {
    const item: ZoneSecret = {
      id: zoneSecretId,
      revision: 1,
      state: "zone_secret",
      expiresAtMs: 1,
      value: newZoneSecret(),
    };
    const replacedItem = withNewSecret(item, { value: newZoneSecret(), nowMs: 0 });
    expect(() => withNewSecret(replacedItem, { value: newZoneSecret(), nowMs: 1 })).toThrow(
      "former",
    );
  });

  it("never creates a secret if the stored one is unreadable", () => {
    const storedItem = {
      id: "zone-secret",
      revision: 1,
      state: "zone_secret",
      expiresAtMs: 1,
      value: "",
    };
    expect(() => parseZoneSecret(storedItem)).toThrow();
  });
});
