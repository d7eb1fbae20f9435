/** Pushes routes, and the fields of destinations that need no permission, to a deployed stage without a deploy. */

import {
  type Fingerprints,
  type LiveSettings,
  listUndeployedChanges,
  toLiveSettings,
} from "@sekisho/config/live-settings.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { readJson } from "@sekisho/local/read-json.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import * as z from "zod";
import { AwsFailure } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";
import { type CommandRun, exitCodes } from "../command.ts";
import { checkSize, readLiveSettings, writeLiveSettings } from "../zone/live-settings.ts";
import { openStageZone } from "../zone/stage-zone.ts";

type Push = NamedStage & { config: Config; dryRun: boolean } & Pick<
    CommandRun,
    "signal" | "print" | "note"
  >;

/** Resolves to the exit code. It is 1, and nothing is written, where a deploy is needed. Rejects with an AwsFailure. */
export async function pushLiveSettings({
  config,
  dryRun,
  signal,
  print,
  note,
  stageName,
}: Push): Promise<number> {
  const zone = await openStageZone({ config, stage: stageName, signal });
  try {
    const deployedFingerprints = fingerprintsIn(zone.at.outputs.deployedDestinations);
    const inEffect = await readLiveSettings(zone);
    const previousSettings = readJson(inEffect.settings) ?? {};
    const { settings, refused, leftOut } = planPush({
      config: createStageConfig({ config, stageName }),
      deployed: deployedFingerprints,
      before: previousSettings,
    });
    if (refused.length > 0) {
      note(
        `These destinations need a deploy first: ${refused.map(({ name, why }) => `${name} (${why})`).join(", ")}.`,
      );
      note(`Nothing was written. Run npx cdk deploy --all -c stage=${stageName}.`);
      return exitCodes.failed;
    }
    for (const name of leftOut) {
      note(
        `Note: ${name} is left out until the next deploy, because its deployed settings differ. No route leads to it.`,
      );
    }
    checkSize(settings);
    const changes = jsonChanges({
      before: previousSettings,
      after: JSON.parse(JSON.stringify(settings)),
    });
    if (changes.length === 0) {
      print("Nothing changes.");
      return exitCodes.success;
    }
    print(changes.join("\n"));
    for (const name of listMoved(previousSettings, settings)) {
      note(
        `Note: the address of ${name} changes, so running tasks at the old address can no longer be polled (${sekisho} tasks list --stage ${stageName} lists them). To keep such tasks, add a new destination and change the route instead.`,
      );
    }
    if (dryRun) return exitCodes.success;
    await writeLiveSettings({ zone, storedRecord: inEffect.storedRecord, settings });
    print(
      `Written to the table ${zone.at.outputs.tableName}. The workers of stage ${stageName} see it within a minute.`,
    );
    return exitCodes.success;
  } finally {
    await zone.close();
  }
}

const fingerprintsSchema = z.record(z.string(), z.string());

/** Reads the stack's output that says what was deployed. Throws an AwsFailure where it cannot be read. */
export function fingerprintsIn(output: string): Record<string, string> {
  const result = fingerprintsSchema.safeParse(readJson(output));
  if (!result.success)
    throw new AwsFailure("The stack's list of deployed destinations cannot be read; deploy again.");
  return result.data;
}

/** Lists the destinations that were pushed before with another address. */
function listMoved(previousSettings: unknown, { destinations = {} }: LiveSettings): string[] {
  const pushedDestinations = pushedSchema.parse(previousSettings).destinations;
  return Object.entries(destinations).flatMap(([name, { card, url }]) => {
    const { card: knownCard = card, url: knownUrl = url } = pushedDestinations[name] ?? {};
    return knownCard === card && knownUrl === url ? [] : [name];
  });
}

export type PushPlan = {
  settings: LiveSettings;
  /** Destinations that need a deploy before this push. */
  refused: { name: string; why: string }[];
  /** Destinations that need a deploy too, but that no route uses. They stay as they are in the stage. */
  leftOut: string[];
};

type PushSource = { config: Config; deployed: Fingerprints; before: unknown };

/** Plans a push. `before` is the last push, as unchecked JSON. A worker refuses a route to an unknown destination. */
export function planPush({ config, deployed, before }: PushSource): PushPlan {
  const pushedDestinations = new Map(Object.entries(pushedSchema.parse(before).destinations));
  const { routes, destinations: wantedDestinations = {} } = toLiveSettings(config);
  const routedNames = new Set(config.routes.flatMap(({ destination }) => destination));
  const behind = listUndeployedChanges({ config, deployed }).map((name) => {
    const fields = changedFields({
      before: pushedDestinations.get(name),
      after: wantedDestinations[name],
    });
    const editNote = fields.length === 0 ? "" : `another ${fields.join(", ")}`;
    return { name, why: routedNames.has(name) ? "a route leads there" : editNote };
  });
  const leftOut = behind.filter(({ why }) => why === "").map(({ name }) => name);
  const sentDestinations = Object.entries(wantedDestinations).filter(
    ([name]) => !leftOut.includes(name),
  );
  // The fields that were pushed for it before stay in effect. Without them the deployed ones would be.
  const unchangedDestinations = [...pushedDestinations].filter(
    ([name]) =>
      Object.hasOwn(deployed, name) &&
      (leftOut.includes(name) || !Object.hasOwn(wantedDestinations, name)),
  );
  return {
    settings: {
      routes,
      destinations: Object.fromEntries([...sentDestinations, ...unchangedDestinations]),
    },
    refused: behind.filter(({ why }) => why !== ""),
    leftOut,
  };
}

const fieldsSchema = z.record(z.string(), z.unknown());

/** An unreadable value counts as empty, and is replaced. */
const pushedSchema = z
  .object({ destinations: z.record(z.string(), fieldsSchema).catch({}) })
  .catch({ destinations: {} });

type FieldsChange = {
  before: Record<string, unknown> | undefined;
  after: Record<string, unknown> | undefined;
};

/** Returns the changed fields that both have. The fingerprint is left out: a change of it is what "needs a deploy" means. */
function changedFields({ before = {}, after = {} }: FieldsChange): string[] {
  return Object.keys(after).filter(
    (field) =>
      field !== "fingerprint" && Object.hasOwn(before, field) && before[field] !== after[field],
  );
}

/** Returns one line for each difference between two JSON values. */
export function jsonChanges({ before, after }: { before: unknown; after: unknown }): string[] {
  const old = new Map(leaves(before));
  const newLeaves = new Map(leaves(after));
  const paths = [...new Set([...old.keys(), ...newLeaves.keys()])];
  return paths.flatMap((path) => {
    const [from, to] = [old.get(path), newLeaves.get(path)];
    if (from === to) return [];
    if (from === undefined) return [`+ ${path}: ${to}`];
    return [to === undefined ? `- ${path}: ${from}` : `  ${path}: ${from} -> ${to}`];
  });
}

/** Returns every value that holds no other, with its path. */
function leaves(value: unknown, path = ""): [string, string][] {
  if (typeof value !== "object" || value === null) return [[path, JSON.stringify(value)]];
  const entries = Object.entries(value);
  if (entries.length === 0) return path === "" ? [] : [[path, Array.isArray(value) ? "[]" : "{}"]];
  const joinPath = (key: string) =>
    Array.isArray(value) ? `${path}[${key}]` : [path, key].filter(Boolean).join(".");
  return entries.flatMap(([key, inner]) => leaves(inner, joinPath(key)));
}
