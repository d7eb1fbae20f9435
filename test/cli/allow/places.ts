/** Where the commands about the allowlist find its rules, one place of each kind, with a rule of the configuration. */
import type { Run } from "../../e2e/processes.ts";
import { twoAccounts, writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";
import { openAwsPlace, openSqlitePlace, type TestPlace } from "../tasks/places.ts";

export type AllowPlace = Pick<TestPlace, "folder" | "engine" | "aws" | "close"> & {
  /** `sekisho allow <words>` at this place. */
  allow(...words: string[]): Promise<Run>;
  /** Words that name the place themselves. */
  sekisho(...words: string[]): Promise<Run>;
  /** What is said of when the configuration's rules hold there. */
  ofConfiguration: string;
};

const allowlist = [{ channel: "C9", label: "bootstrap" }];

export async function openSqliteAllowPlace(): Promise<AllowPlace> {
  const place = await openSqlitePlace();
  const config = writeConfig({ folder: place.folder, name: "one.json", json: { allowlist } });
  const store = `${place.folder}/verification.db`;
  return {
    ...place,
    allow: (...words) => commandHere(["allow", ...words, "--store", store, "--config", config], {}),
    sekisho: (...words) => commandHere(words, {}),
    ofConfiguration: "from the next start on",
  };
}

export async function openAwsAllowPlace(): Promise<AllowPlace> {
  const place = await openAwsPlace();
  const config = writeConfig({ folder: place.folder, name: "allow.json", json: { ...twoAccounts, allowlist } });
  const env = place.aws?.env ?? {};
  return {
    ...place,
    allow: (...words) => commandHere(["allow", ...words, "--stage", "prod", "--config", config], env),
    sekisho: (...words) => commandHere(words, env),
    ofConfiguration: "as it was when it was deployed",
  };
}
