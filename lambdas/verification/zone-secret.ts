/**
 * The zone's secret: a random value that is created once and stored in the task store, so that nobody has to deploy one. An operator may
 * replace it: the former value then stays valid for what it has keyed, until the operator drops it.
 */
import { randomBytes } from "node:crypto";
import { createCachedValue } from "@sekisho/runtime/async/cache.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import * as z from "zod";
import type { ZoneSecretValues } from "./task/routing.ts";

export const zoneSecretId = "zone-secret";
/** The record never expires. */
const neverMs = Date.UTC(9999, 0);
/** A process notices a replaced secret after this time. */
export const zoneSecretKeepMs = 300_000;
/** A replaced secret keys nothing new until then, so that by then every process knows it and gives a conversation the same id. */
const replacementDelayMs = 2 * zoneSecretKeepMs;

/** 256 random bits, as base64url. */
const valueSchema = z.string().min(43);
const zoneSecretSchema = z.object({
  id: z.literal(zoneSecretId),
  revision: z.int(),
  state: z.literal("zone_secret"),
  expiresAtMs: z.int(),
  value: valueSchema,
  /** The value that `value` replaced. It keys the ids of conversations that began before `beforeMs`. */
  former: z.object({ value: valueSchema, beforeMs: z.int() }).optional(),
});
export type ZoneSecret = z.infer<typeof zoneSecretSchema>;

export function parseZoneSecret(json: unknown): ZoneSecret {
  return checkRecord({ schema: zoneSecretSchema, json });
}

/**
 * Reads the secret, or creates it if the store has none. Each process reads it again every five minutes. Rejects if the store is
 * unavailable; the next call tries again.
 */
export function createZoneSecret(options: {
  store: Pick<TaskStore<ZoneSecret>, "get" | "create">;
  newSecret?: (() => string) | undefined;
  now?: (() => number) | undefined;
}): () => ZoneSecretValues | Promise<ZoneSecretValues> {
  const { store, newSecret = newZoneSecret, now = Date.now } = options;
  async function readOrCreate(): Promise<ZoneSecret> {
    const knownSecret = await store.get({ id: zoneSecretId });
    if (knownSecret !== undefined) return knownSecret;
    const item: ZoneSecret = {
      id: zoneSecretId,
      revision: 1,
      state: "zone_secret",
      expiresAtMs: neverMs,
      value: newSecret(),
    };
    const createdSecret = await store.create({ item });
    // Another process may have created it first. Its secret is valid then.
    const storedSecret = createdSecret ?? (await store.get({ id: zoneSecretId }));
    if (storedSecret === undefined)
      throw new Error("The zone's secret can be neither created nor read.");
    return storedSecret;
  }
  const cachedSecret = createCachedValue({
    async load() {
      const { value: current, former } = await readOrCreate();
      return { value: { current, former }, keepMs: zoneSecretKeepMs };
    },
    now,
  });
  return () => cachedSecret.get();
}

export function newZoneSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** The record with a new value, which keeps the former one. Throws if it has a former one, which would be lost. */
export function withNewSecret(
  item: ZoneSecret,
  { value, nowMs }: { value: string; nowMs: number },
): ZoneSecret {
  if (item.former !== undefined) throw new Error("The record keeps a former secret already.");
  return { ...item, value, former: { value: item.value, beforeMs: nowMs + replacementDelayMs } };
}

/** The same record if it has no former secret. */
export function withoutFormerSecret(item: ZoneSecret): ZoneSecret {
  const { former, ...others } = item;
  return former === undefined ? item : others;
}
