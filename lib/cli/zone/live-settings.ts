/** The live settings of a stage on AWS, read and written with the operator's own credentials. */
import type { LiveSettings } from "@sekisho/config/live-settings.ts";
import { createReadFormer } from "@sekisho/verification/config/former-settings.ts";
import {
  maxSettingsBytes,
  parseStoredSettings,
  readSettings,
  type SettingsInEffect,
  saveSettings,
} from "@sekisho/verification/config/stored-settings.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { openSdkSsm } from "../aws/sdk-clients.ts";
import type { OpenStage, OpenZone } from "./open-zone.ts";

type StageZone = Pick<OpenZone, "store"> & { at: OpenStage };

function openStore({ store }: StageZone) {
  return store({
    parse: parseStoredSettings,
    doing: { read: "read the live settings", write: "write the live settings" },
  });
}

/** Reads what the workers use, and changes nothing. Rejects with an AwsFailure. */
export async function readLiveSettings(zone: StageZone): Promise<SettingsInEffect> {
  const { stageName, stage, outputs, guarded } = zone.at;
  const { formerLiveSettings: name } = outputs;
  if (name === "") {
    throw new AwsFailure(
      `Stage ${stageName} runs an older version, which keeps its live settings elsewhere. Deploy this version first (npx cdk deploy --all -c stage=${stageName}), or use the command of the deployed version.`,
    );
  }
  const ssm = openSdkSsm({ region: stage.verification.region });
  const readFormer = createReadFormer({ ssm, name });
  try {
    return await readSettings({
      store: openStore(zone),
      readFormer: () => guarded(`read the parameter ${name}`, readFormer),
    });
  } finally {
    ssm.destroy();
  }
}

type Replacement = {
  zone: StageZone;
  storedRecord: SettingsInEffect["storedRecord"];
  settings: LiveSettings;
};

/** Writes the settings if the record is still the one that was read. Rejects with an AwsFailure. */
export async function writeLiveSettings({
  zone,
  storedRecord,
  settings,
}: Replacement): Promise<void> {
  const text = JSON.stringify(settings);
  if (
    await saveSettings({
      store: openStore(zone),
      storedRecord,
      settings: text,
      formerVersion: undefined,
    })
  )
    return;
  const { stageName } = zone.at;
  throw new AwsFailure(
    `The live settings of stage ${stageName} have changed since they were read. Nothing was written. Run the command again.`,
  );
}

/** Rejects settings that are too large for a record that every worker reads twice a minute. */
export function checkSize(settings: LiveSettings): void {
  const bytes = Buffer.byteLength(JSON.stringify(settings));
  if (bytes > maxSettingsBytes) {
    throw new AwsFailure(
      `The live settings are ${bytes} bytes. At most ${maxSettingsBytes} can be pushed.`,
    );
  }
}
