/** The record of the live settings in the zone's table, which only `sekisho config push` changes. No template writes it. */

import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import type { FormerSettings } from "./former-settings.ts";

export const liveSettingsId = "live-settings";
/**
 * Each process reads the record twice a minute, and one key of a table serves 3,000 read units of 4 KB a second: at this size enough for
 * 5,000 processes.
 */
export const maxSettingsBytes = 64 * 1024;
/** The record never expires. */
const neverMs = Date.UTC(9999, 0);
/** The text of settings that change nothing. */
export const noSettings = "{}";

const storedSettingsSchema = z.object({
  id: z.literal(liveSettingsId),
  revision: z.int(),
  state: z.literal("live_settings"),
  expiresAtMs: z.int(),
  /** JSON text. It is checked where it is used, because it must fit the deployed configuration. */
  settings: z.string(),
  /** The version of the former parameter from which the settings were taken over. Absent once they are pushed. */
  formerVersion: z.int().optional(),
});
export type StoredSettings = z.infer<typeof storedSettingsSchema>;

export function parseStoredSettings(json: unknown): StoredSettings {
  return checkRecord({ schema: storedSettingsSchema, json });
}

export type SettingsStore = Pick<TaskStore<StoredSettings>, "get" | "create" | "replace">;
type ReadFormer = () => Promise<FormerSettings | undefined>;

/** `storedRecord` is the record as it was read. The settings are newer if they still have to be taken over from the former parameter. */
export type SettingsInEffect = Pick<StoredSettings, "settings" | "formerVersion"> & {
  storedRecord: StoredSettings | undefined;
  /** The former parameter could not be read, so it may hold newer settings. */
  isFormerUnread?: boolean;
};

/**
 * Reads the settings in effect, and changes nothing. Until the first push to the record, the former parameter counts if it is newer: it may
 * have been pushed to after a rollback. Once there is a record, a former parameter that cannot be read does not matter.
 */
export async function readSettings(request: {
  store: Pick<SettingsStore, "get">;
  readFormer: ReadFormer;
}): Promise<SettingsInEffect> {
  const { store, readFormer } = request;
  const storedRecord = await store.get({ id: liveSettingsId });
  const inTable = {
    storedRecord,
    settings: storedRecord?.settings ?? noSettings,
    formerVersion: storedRecord?.formerVersion,
  };
  if (storedRecord !== undefined && storedRecord.formerVersion === undefined) return inTable;
  let former: FormerSettings | undefined;
  try {
    former = await readFormer();
  } catch (error) {
    if (storedRecord === undefined) throw error;
    return { ...inTable, isFormerUnread: true };
  }
  if (former === undefined || former.version <= (storedRecord?.formerVersion ?? 0)) return inTable;
  return { storedRecord, settings: former.settings, formerVersion: former.version };
}

/** Resolves to false, and writes nothing, if the record has changed since `storedRecord` was read. */
export async function saveSettings(
  request: { store: SettingsStore } & SettingsInEffect,
): Promise<boolean> {
  const { store, storedRecord, settings, formerVersion } = request;
  const { formerVersion: _oldVersion, ...record } = storedRecord ?? newRecord();
  const item = { ...record, settings, ...(formerVersion !== undefined && { formerVersion }) };
  return (
    (await (storedRecord === undefined ? store.create({ item }) : store.replace({ item }))) !==
    undefined
  );
}

function newRecord(): StoredSettings {
  return {
    id: liveSettingsId,
    revision: 1,
    state: "live_settings",
    expiresAtMs: neverMs,
    settings: noSettings,
  };
}

/**
 * For the worker: reads the settings' text, and takes them over from the former parameter. Each process reads that parameter only once.
 * Rejects if the settings cannot be read.
 */
export function createReadLiveSettings(options: {
  store: SettingsStore;
  readFormer: ReadFormer;
  log: Log;
}): () => Promise<string> {
  const { store, readFormer, log } = options;
  let isFormerRead = false;
  return async () => {
    if (isFormerRead) return readStoredSettings({ store });
    const inEffect = await readSettings({ store, readFormer });
    if (inEffect.formerVersion !== inEffect.storedRecord?.formerVersion) {
      try {
        // Another process may have taken them over, or somebody has pushed newer ones.
        if (!(await saveSettings({ store, ...inEffect }))) return readStoredSettings({ store });
      } catch (error) {
        log.error("live_settings_not_stored", { cause_kind: errorKind(error) });
        return inEffect.settings;
      }
      log.info("live_settings_taken_over", {
        version: inEffect.formerVersion,
        bytes: inEffect.settings.length,
      });
    }
    isFormerRead = inEffect.isFormerUnread !== true;
    return inEffect.settings;
  };
}

async function readStoredSettings({
  store,
}: {
  store: Pick<SettingsStore, "get">;
}): Promise<string> {
  return (await store.get({ id: liveSettingsId }))?.settings ?? noSettings;
}
