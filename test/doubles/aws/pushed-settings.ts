/** Reads and writes the live settings of a stage past the command line, which needs no permission. */
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import {
  liveSettingsId,
  parseStoredSettings,
  saveSettings,
} from "@sekisho/verification/config/stored-settings.ts";

type Table = { client: DynamoDb; table?: string };

function openSettings({ client, table = "tasks" }: Table) {
  return createDynamoTaskStore({ client, table, parse: parseStoredSettings });
}

/** The text of the pushed settings. */
export async function pushedSettings(of: Table): Promise<string | undefined> {
  return (await openSettings(of).get({ id: liveSettingsId }))?.settings;
}

export async function pushSettings({
  settings,
  ...of
}: Table & { settings: string }): Promise<void> {
  const store = openSettings(of);
  const storedRecord = await store.get({ id: liveSettingsId });
  if (!(await saveSettings({ store, storedRecord, settings, formerVersion: undefined })))
    throw new Error("not stored");
}
