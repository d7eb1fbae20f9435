/** The zone's secret: a random value, made once and kept in the task store, so that nobody has to deploy one. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { TaskStore } from "../shared/engine/ports.ts";

const zoneSecretId = "zone-secret";
/** The record stays. */
const neverMs = Date.UTC(9999, 0);

const zoneSecretSchema = z.object({
  id: z.literal(zoneSecretId),
  revision: z.int(),
  state: z.literal("zone_secret"),
  expiresAtMs: z.int(),
  /** 256 random bits, as base64url. */
  value: z.string().min(43),
});
export type ZoneSecret = z.infer<typeof zoneSecretSchema>;

export function parseZoneSecret(json: unknown): ZoneSecret {
  return zoneSecretSchema.parse(json);
}

/**
 * Reads the secret, and makes it where the store has none. It never changes, so each process reads it once. Rejects where the
 * store is away, which is not remembered.
 */
export function createZoneSecret({
  store,
  newSecret = () => randomBytes(32).toString("base64url"),
}: {
  store: Pick<TaskStore<ZoneSecret>, "get" | "create">;
  newSecret?: (() => string) | undefined;
}): () => Promise<string> {
  let secret: string | undefined;
  async function read(): Promise<string> {
    const known = await store.get({ id: zoneSecretId });
    if (known !== undefined) return known.value;
    const item: ZoneSecret = {
      id: zoneSecretId,
      revision: 1,
      state: "zone_secret",
      expiresAtMs: neverMs,
      value: newSecret(),
    };
    const created = await store.create({ item });
    // Another process was first: its secret counts.
    const kept = created ?? (await store.get({ id: zoneSecretId }));
    if (kept === undefined) throw new Error("The zone's secret can neither be made nor read.");
    return kept.value;
  }
  return async () => {
    secret ??= await read();
    return secret;
  };
}
