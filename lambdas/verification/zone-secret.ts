/** The zone's secret: a random value that is created once and stored in the task store, so that nobody has to deploy one. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { TaskStore } from "../shared/engine/ports.ts";
import { checkRecord } from "../shared/engine/record-version.ts";

const zoneSecretId = "zone-secret";
/** The record never expires. */
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
  return checkRecord({ schema: zoneSecretSchema, json });
}

/**
 * Reads the secret, or creates it if the store has none. It never changes, so each process reads it once. Rejects if the store is
 * unavailable; the next call tries again.
 */
export function createZoneSecret(options: {
  store: Pick<TaskStore<ZoneSecret>, "get" | "create">;
  newSecret?: (() => string) | undefined;
}): () => Promise<string> {
  const { store, newSecret = () => randomBytes(32).toString("base64url") } = options;
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
    // Another process may have created it first. Its secret is valid then.
    const stored = created ?? (await store.get({ id: zoneSecretId }));
    if (stored === undefined) throw new Error("The zone's secret can be neither created nor read.");
    return stored.value;
  }
  return async () => {
    secret ??= await read();
    return secret;
  };
}
