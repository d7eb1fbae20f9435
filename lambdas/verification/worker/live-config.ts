/** Applies the live settings to the deployed configuration. They are read again in the background. Settings that do not fit are ignored. */

import type { Config } from "@sekisho/config/schema.ts";
import { createCachedValue } from "@sekisho/runtime/async/cache.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { noSettings } from "../config/stored-settings.ts";

/** A change takes effect within a minute. After 30 s settings are read in the background; after 60 s callers wait for them. */
const refreshAfterMs = 30_000;
const staleAfterMs = 60_000;

/** `refused`: the settings were read but do not fit the deployed configuration. */
export type LiveSettingsState = "read" | "unreadable" | "refused";

export type LiveConfig = {
  /** Never rejects. Returns the same object until something changes. */
  current(): Promise<Config>;
  /** The result of the last read. */
  state(): LiveSettingsState;
  /** Resolves when no read is running, so that Lambda does not freeze one with the process. */
  waitForRead(): Promise<void>;
};

/** `read` returns the settings' text. If it fails, the last good settings stay in effect, or else the deployed configuration. */
export function createLiveConfig(options: {
  deployed: Config;
  read: () => Promise<string>;
  log: Log;
  now?: () => number;
}): LiveConfig {
  const { deployed, read, log, now = Date.now } = options;
  let config = deployed;
  let text: string | undefined;
  let isRefused = false;
  let isReadable = true;
  let reading: Promise<unknown> | undefined;

  async function merge(settings: string): Promise<Config> {
    if (settings === noSettings) return deployed;
    // It builds the schemas of the whole configuration, which a cold start without live settings does not need.
    const liveSettings = await import("@sekisho/config/live-settings.ts");
    const json: unknown = JSON.parse(settings);
    const mergedConfig = liveSettings.withLiveSettings({ config: deployed, json });
    const fingerprints = liveSettings.createFingerprints(deployed);
    for (const destination of liveSettings.outdatedSettings({ json, deployed: fingerprints }))
      log.warn("live_settings_outdated", { destination });
    return mergedConfig;
  }

  async function refresh(): Promise<void> {
    let newer: string;
    try {
      newer = await read();
      isReadable = true;
    } catch (error) {
      isReadable = false;
      return log.error("live_settings_unreadable", { cause_kind: errorKind(error) });
    }
    if (newer === text) return;
    text = newer;
    try {
      config = await merge(newer);
      isRefused = false;
      log.info("live_settings_read", { bytes: newer.length });
    } catch (error) {
      isRefused = true;
      log.error("live_settings_refused", { cause_kind: errorKind(error), bytes: newer.length });
    }
  }

  const cachedConfig = createCachedValue({
    async load() {
      await refresh();
      return { value: config, keepMs: staleAfterMs, refreshAfterMs };
    },
    now,
  });

  return {
    async current() {
      const good = cachedConfig.peek();
      const currentConfig = cachedConfig.get();
      if (currentConfig instanceof Promise) reading = currentConfig;
      return good?.value ?? currentConfig;
    },
    state: () => (isReadable ? (isRefused ? "refused" : "read") : "unreadable"),
    async waitForRead() {
      await reading;
    },
  };
}
