/** `sekisho zone-secret`: replaces the secret that keys the ids of sessions and of people who vote. */
import { changeRecord } from "@sekisho/runtime/engine/records.ts";
import {
  newZoneSecret,
  parseZoneSecret,
  withNewSecret,
  withoutFormerSecret,
  type ZoneSecret,
  zoneSecretId,
  zoneSecretKeepMs,
} from "@sekisho/verification/zone-secret.ts";
import { awsExits, defineCommand, exitCodes } from "../command.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { withZone, zoneOptions } from "../zone/zone.ts";

const keepMinutes = zoneSecretKeepMs / 60_000;

export const zoneSecretReplace = defineCommand({
  name: "zone-secret replace",
  about: `
Replaces the zone's secret, which keys session ids and the ids of voters, by a random value, and keeps the former one.
Threads that begin ten minutes later or more use the new value. Earlier threads and direct messages keep their sessions
until zone-secret drop-former. No value is printed.`,
  options: zoneOptions,
  exits: awsExits("there is no secret yet, or a former one is still kept"),
  async run(run) {
    return withZone(run, run.values, async (zone) => {
      const { former } = await changeSecret(zone, (item) => {
        if (item.former === undefined)
          return withNewSecret(item, { value: newZoneSecret(), nowMs: Date.now() });
        throw new Error(
          `The secret ${zone.where} was replaced already, for threads since ${formatTime(item.former.beforeMs)}. Nothing was written. Drop the former value first: sekisho zone-secret drop-former.`,
        );
      });
      const since = former === undefined ? "now on" : formatTime(former.beforeMs);
      run.print(
        `Replaced the secret ${zone.where}. Threads that begin from ${since} use the new one.`,
      );
      run.note(
        "Earlier threads and direct messages keep their sessions until sekisho zone-secret drop-former.",
      );
      return exitCodes.success;
    });
  },
});

export const zoneSecretDropFormer = defineCommand({
  name: "zone-secret drop-former",
  about: `
Drops the value that zone-secret replace kept, within ${keepMinutes} minutes. Earlier threads and direct messages begin new
sessions with their next task. Running tasks keep theirs.`,
  options: zoneOptions,
  exits: awsExits("there is no secret yet"),
  async run(run) {
    return withZone(run, run.values, async (zone) => {
      let isKept = false;
      await changeSecret(zone, (item) => {
        isKept = item.former !== undefined;
        return withoutFormerSecret(item);
      });
      run.print(
        isKept
          ? `Dropped the former secret ${zone.where}. Workers notice it within ${keepMinutes} minutes.`
          : `There is no former secret ${zone.where}.`,
      );
      return exitCodes.success;
    });
  },
});

function changeSecret(
  zone: OpenZone,
  change: (item: ZoneSecret) => ZoneSecret,
): Promise<ZoneSecret> {
  const doing = { read: "read the zone's secret", write: "write the zone's secret" };
  return changeRecord({
    store: zone.store({ parse: parseZoneSecret, doing }),
    id: zoneSecretId,
    none() {
      throw new Error(
        `There is no secret ${zone.where} yet: the worker makes it for its first message.`,
      );
    },
    decide(currentSecret) {
      const item = change(currentSecret);
      return { item, result: item };
    },
    exhausted: () =>
      new Error("Other people keep changing the secret. Nothing was written. Try again."),
  });
}

function formatTime(atMs: number): string {
  return new Date(atMs).toISOString();
}
