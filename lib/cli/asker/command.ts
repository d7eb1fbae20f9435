/** `sekisho asker`: publishes, shows and rotates the keys that sign who asked. */
import { randomUUID } from "node:crypto";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { formatVerificationRoleArn } from "@sekisho/cdk/names.ts";
import { configPath, loadConfig } from "@sekisho/config/load.ts";
import { localClientId } from "@sekisho/local/asker-keys.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { requireVerificationAccount } from "../aws/account.ts";
import { chooseStage } from "../aws/stage.ts";
import {
  awsExits,
  type CommandRun,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../command.ts";
import { createDocuments } from "./documents.ts";
import { readPublished } from "./issuer.ts";
import { type KeySource, readPublicKeys } from "./public-keys.ts";
import { replaceKeys } from "./replace-keys.ts";
import { planRotation, type Rotation } from "./rotation.ts";
import { describeStatus, type KeyStatus } from "./status.ts";

const stage = option("NAME", "a stage of the configuration; without it, the keys of this machine");

export const askerPublish = defineCommand({
  name: "asker publish",
  about: `
Writes the discovery documents (OpenID Connect, and OAuth if the issuer has no path) and the public keys of asker.issuer.
Put the folder's content below the issuer's address. It holds no secret. Publish after each change of asker.keys, some hours
before a new key signs.`,
  options: {
    to: option("DIR", "the folder to write to (required); files of other names stay"),
    stage,
    config: configOption,
  },
  exits: awsExits("a key does not exist yet"),
  async run({ values, ...run }) {
    const { to } = values;
    if (!to) throw new UsageError("Give --to DIR.");
    const { asker, keys } = await openKeys(run, { ...values, creates: true });
    const missing = asker.keys.filter(({ id }) => keys.every((key) => key.id !== id));
    if (missing.length > 0) {
      const ids = missing.map(({ id }) => id).join(", ");
      run.note(`KMS has no key ${ids}. Deploy the stage, which creates it, then publish.`);
      return exitCodes.failed;
    }
    for (const [path, text] of createDocuments({ asker, keys })) {
      const file = join(resolve(run.directory, to), path);
      mkdirSync(dirname(file), { recursive: true });
      writeWhole(file, text);
      run.print(file);
    }
    run.note(
      `Put them below ${asker.issuer}, public, without a redirect, with Content-Type: application/json and Cache-Control: public, max-age=300. Then run ${sekisho} asker show${stageOptionOf(values)}`,
    );
    return exitCodes.success;
  },
});

export const askerShow = defineCommand({
  name: "asker show",
  about: `
Lists the keys that sign who asked: their age, which one signs, and which ones the issuer publishes. Shows the client_id by
which verifiers know the zone, and says what to do next.`,
  options: { stage, config: configOption, json: flag("prints one JSON object") },
  exits: awsExits("there is something to do"),
  async run({ values, ...run }) {
    const {
      asker,
      clientId,
      keys: publicKeys,
    } = await openKeys(run, { ...values, creates: false });
    const published = await readPublished({ issuer: asker.issuer, signal: run.signal });
    const stageOption = stageOptionOf(values);
    const nowMs = Date.now();
    const status = describeStatus({ asker, publicKeys, published, nowMs, stageOption });
    const { keys, problems } = status;
    if (values.json) run.print(JSON.stringify({ issuer: asker.issuer, clientId, ...status }));
    else {
      run.print(`${asker.issuer} (${asker.algorithm}), client_id ${clientId}`);
      for (const key of keys) run.print(describeKey(key));
      for (const { what, remedy } of problems) run.print(`! ${what} ${remedy}`);
      if (problems.length === 0) run.print("Nothing to do.");
    }
    return problems.length === 0 ? exitCodes.success : exitCodes.failed;
  },
});

const roleTexts = { signs: "signs since", next: "signs from", superseded: "signed from" };

function describeKey({ id, kid = "no key yet", role, from, ageDays, isPublished }: KeyStatus) {
  const age = ageDays < 0 ? "" : ` (${ageDays} days)`;
  const roleText = role === "signs" && ageDays < 0 ? "signs before" : roleTexts[role];
  return `${id}  ${roleText} ${from}${age}, ${isPublished ? "published" : "not published"}, kid ${kid}`;
}

export const askerRotate = defineCommand({
  name: "asker rotate",
  about: `
Does the next safe step of a rotation in the configuration, and says what to do then. The first step adds a key that signs
in a day, so that verifiers learn it before. The second, a day after that key began to sign, drops the former one. A step
that comes too early is refused.`,
  options: {
    now: flag("for a leaked key: a new key signs at once, and all others are dropped"),
    config: configOption,
    "dry-run": flag("only shows what would be written"),
  },
  exits:
    "Exit code: 0 the step is written; 1 no step is safe now; 2 bad usage or a file that would be invalid.",
  async run({ directory, values, print, note }) {
    const location = { directory, file: values.config };
    const path = configPath(location);
    const { asker } = loadConfig(location);
    if (asker === undefined) throw new UsageError(noAskerText);
    const { keys } = asker;
    const plan = planRotation({ keys, nowMs: Date.now(), isEmergency: values.now });
    if (plan.step === "wait") {
      note(`${plan.reason}. Run it again later. If a key has leaked, use --now.`);
      return exitCodes.failed;
    }
    if (!values["dry-run"]) replaceKeys({ path, before: keys, after: plan.keys });
    for (const { id } of plan.dropped) print(`- asker.keys: ${id}`);
    if (plan.added) print(`+ asker.keys: ${JSON.stringify(plan.added)}`);
    for (const text of nextSteps(plan)) note(text);
    return exitCodes.success;
  },
});

const noAskerText =
  'The configuration has no section asker. Add "asker": { "issuer": "https://…" }.';

/** The folder may be the one that is served: a verifier reads the old or the new document, and never a part of it. */
function writeWhole(file: string, text: string): void {
  const part = `${file}.${randomUUID()}.part`;
  try {
    writeFileSync(part, text);
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
}

function stageOptionOf({ stage: name }: { stage?: string | undefined }): string {
  return name === undefined ? "" : ` --stage ${name}`;
}

/** Reads the configuration, and the public keys that exist. */
async function openKeys(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  options: { stage?: string | undefined; config?: string | undefined } & Pick<KeySource, "creates">,
) {
  const { stage: stageName, config: file, creates } = options;
  const config = loadConfig({ directory, file });
  const { asker } = config;
  if (asker === undefined) throw new UsageError(noAskerText);
  const named = stageName === undefined ? undefined : chooseStage(config, stageName);
  if (named !== undefined) await requireVerificationAccount({ ...named, signal });
  const dataFolder = join(directory, ".sekisho");
  const clientId =
    named === undefined
      ? localClientId
      : formatVerificationRoleArn({ stageName: named.stageName, ...named.stage.verification });
  const keys = await readPublicKeys({ asker, dataFolder, named, creates, signal });
  return { asker, clientId, keys };
}

function nextSteps(plan: Exclude<Rotation, { step: "wait" }>): string[] {
  const publish = `run ${sekisho} asker publish --to DIR --stage NAME and put the files below the issuer's address`;
  const machine = "On one machine: leave out --stage, and restart instead of the deploy.";
  switch (plan.step) {
    case "add":
      return [
        `Today: deploy each stage, which creates the key, then ${publish}. The key must be public some hours before ${plan.added?.from}. ${sekisho} asker show --stage NAME says whether it is.`,
        `From two days on: run ${sekisho} asker rotate again, which drops the former key.`,
        machine,
      ];
    case "drop":
      return [
        `Deploy each stage, then ${publish}. AWS deletes the key after its waiting time.`,
        machine,
      ];
    case "replace":
      return [
        `Now: deploy each stage, then ${publish}.`,
        "Until both are done and the caches of the verifiers are over (up to about two hours), they refuse the new tokens: tasks for destinations that are told fail, and can be repeated. Verifiers that have a former key in their cache accept its tokens that long. If you know such a verifier, restart it.",
        `${machine} Also delete the former files in .sekisho/asker-keys.`,
      ];
  }
}
