/** `sekisho data`: counts or deletes the stored data of one person. */
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isOwnExecution } from "@sekisho/config/destination-address.ts";
import { configPath } from "@sekisho/config/load.ts";
import { uuidPattern } from "@sekisho/contracts/envelope.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { personKeyOf } from "@sekisho/verification/task/task.ts";
import { readStage } from "../aws/stage.ts";
import {
  awsExits,
  type CommandRun,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../command.ts";
import { confirm } from "../confirm.ts";
import { quoteForShell } from "../shell.ts";
import { formatTable } from "../table.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { withZone, type ZoneValues, zoneOptions } from "../zone/zone.ts";
import {
  type Counts,
  cancelTasks,
  countData,
  eraseData,
  eraseExecutionRecords,
  findData,
  isUnderWay,
  type Person,
  type PersonData,
} from "./data.ts";

const personOptions = {
  team: option(
    "T",
    "the workspace in which the app was asked, such as T012AB3CD; required. For a guest (Slack Connect) it is yours; in an organization each workspace in which they asked",
  ),
  user: option("U", "the id of the person there, such as U012AB3CD; required"),
};

type PersonValues = { team?: string | undefined; user?: string | undefined };

function readPerson({ team = "", user = "" }: PersonValues): Person {
  if ([team, user].every((id) => /^[A-Z0-9]{1,64}$/.test(id))) return { team, user };
  throw new UsageError(
    "--team T and --user U are needed, both as ids of Slack, such as --team T012AB3CD --user U012AB3CD.",
  );
}

export const dataShow = defineCommand({
  name: "data show",
  about: `
Counts the stored data of one person: tasks, quota, files, dead letters, the Execution zone's records, and rules that name
the person. Shows no texts.`,
  options: { ...personOptions, json: flag("prints a JSON object"), ...zoneOptions },
  exits: awsExits("it cannot be read"),
  async run(run) {
    const { values, signal } = run;
    const person = readPerson(values);
    return withZone(run, values, async (zone) => {
      const data = await findData({ zone, person, signal });
      const counts = await countData(data);
      if (values.json) run.print(JSON.stringify({ ...person, ...counts }));
      else printCounts(run, data, counts);
      noteOtherTeams(run, data);
      return exitCodes.success;
    });
  },
});

export const dataDelete = defineCommand({
  name: "data delete",
  about: `
Deletes the stored data of one person, as data show counts it. Remove the person from the allowlist first, because new
messages leave new data. The command can be repeated.`,
  options: {
    ...personOptions,
    yes: flag("deletes without asking"),
    cancel: flag(
      "cancels running tasks and waits until they end; without it, running tasks prevent the deletion",
    ),
    rules: flag("also removes the rules of `sekisho allow` that name the person"),
    "request-ids": option(
      "FILE",
      "deletes only the Execution zone's records of the tasks in a file that an earlier run wrote, with credentials of the Execution zone's account; needs --stage and --yes",
    ),
    ...zoneOptions,
  },
  exits: awsExits("data is left or cannot be deleted"),
  async run(run) {
    const { values } = run;
    const file = values["request-ids"];
    if (file !== undefined) return deleteExecutionRecords(run, { ...values, file });
    const person = readPerson(values);
    try {
      return await withZone(run, values, (zone) => deletePerson(run, { ...values, zone, person }));
    } catch (cause) {
      if (!run.signal.aborted) throw cause;
      const text =
        "Interrupted. Some data may be deleted already. Run the command again to delete the rest.";
      throw new Error(text, { cause });
    }
  },
});

type Deletion = ZoneValues & {
  zone: OpenZone;
  person: Person;
  yes: boolean;
  cancel: boolean;
  rules: boolean;
};

async function deletePerson(run: CommandRun, deletion: Deletion): Promise<number> {
  const { zone, person, yes, cancel, rules: withRules, config } = deletion;
  const { directory, signal, print, note } = run;
  let data = await findData({ zone, person, signal });
  const counts = await countData(data);
  printCounts(run, data, counts);
  noteOtherTeams(run, data);
  const runningIds = data.tasks.filter(isUnderWay).map(({ id }) => id);
  if (runningIds.length > 0 && !cancel) {
    note(`These tasks are running, or ended within the last minutes: ${listIds(runningIds)}`);
    note(
      "Nothing was deleted. Run the command again with --cancel, which cancels them and waits until they end.",
    );
    return exitCodes.failed;
  }
  if (!yes && !(await confirmDeletion(person, signal))) {
    note("Nothing was deleted.");
    return exitCodes.failed;
  }
  if (runningIds.length > 0) {
    note("Canceling the tasks and waiting until they end. This takes a few minutes at most.");
    if (!(await cancelTasks(data)))
      throw new Error("Some tasks are still running. Does the zone run? Nothing was deleted.");
    data = await findData({ zone, person, signal });
  }
  const folder = dirname(configPath({ directory, file: config }));
  const idsFile = join(folder, `sekisho-request-ids-${data.nowMs}.txt`);
  const { answered: answeredIds, executionFailure } = await eraseData(data, { withRules, idsFile });
  if (executionFailure !== undefined)
    noteExecutionLeft(run, { deletion, idsFile, why: executionFailure.message });
  if (answeredIds.length > 0) {
    // The command must not cancel another person's task.
    note(
      `Answers of the person are left in running tasks of other people: ${listIds(answeredIds)}`,
    );
    note("Run the command again some minutes after these tasks have ended.");
  }
  const isLeft = executionFailure !== undefined || answeredIds.length > 0;
  if (isLeft)
    print(
      `Deleted, except ${executionFailure ? "the Execution zone's records" : "answers in running tasks of others"}.`,
    );
  else print(isNothing(counts) ? `No data of ${personKeyOf(person)} was found.` : "Deleted.");
  for (const line of listRemaining(data, counts, withRules)) print(line);
  return isLeft ? exitCodes.failed : exitCodes.success;
}

function printCounts(
  { print }: CommandRun,
  { zone, person }: PersonData,
  { rules, configuration, ...counts }: Counts,
): void {
  const running =
    counts.underWay === 0 ? "" : `, of which under way or just ended: ${counts.underWay}`;
  const rows = [
    ["tasks", `${counts.tasks}${running}`],
    ["usage history of version 1.0.0", counts.history],
    ["answers to questions of others' tasks", counts.answered],
    ["quota", counts.quotas],
    ["files of messages", counts.files],
    ["dead letters kept", counts.deadLetters],
    ["records of the Execution zone", counts.execution],
    ["rules of `sekisho allow`", rules.length === 0 ? 0 : formatRules(rules)],
    ["named in the configuration", configuration.length === 0 ? 0 : configuration.join(", ")],
  ];
  print(`${personKeyOf(person)} ${zone.where}:`);
  for (const line of formatTable(rows.map(([what, count]) => [`  ${what}`, String(count)])))
    print(line);
}

function noteOtherTeams({ note }: CommandRun, { otherTeams }: PersonData): void {
  if (otherTeams.size === 0) return;
  const teams = [...otherTeams].map((team) => `--team ${team}`).join(", ");
  note(`There are tasks of this user under another workspace: ${teams}.`);
}

const shownIds = 5;

function listIds(ids: readonly string[]): string {
  return `${ids.slice(0, shownIds).join(", ")}${ids.length > shownIds ? ", …" : ""}`;
}

function formatRules(numbers: readonly number[]): string {
  return numbers.map((number) => `#${number}`).join(", ");
}

function isNothing({ tasks, history, answered, quotas, deadLetters, rules }: Counts): boolean {
  return tasks + history + answered + quotas + deadLetters + rules.length === 0;
}

async function confirmDeletion({ user }: Person, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError("There is no terminal for the confirmation. Give --yes to delete.");
  return confirm({ question: `Type ${user} to delete all of this: `, word: user, signal });
}

type ExecutionLeft = { deletion: Deletion; idsFile: string; why: string };

/** Says how to delete the Execution zone's records with other credentials. */
function noteExecutionLeft({ note }: CommandRun, { deletion, idsFile, why }: ExecutionLeft): void {
  const { stage, config } = deletion;
  const configOption = config === undefined ? "" : ` --config ${quoteForShell(config)}`;
  const options = `--request-ids ${quoteForShell(idsFile)} --stage ${stage}${configOption} --yes`;
  note(`The Execution zone's records were not deleted. ${why}`);
  note("They expire a day after each task's end. To delete them now, run this with credentials of");
  note("that account (AWS_PROFILE, or aws sso login), and then delete the file:");
  note(`\n  ${sekisho} data delete ${options}\n`);
}

/** Lists the data that the command does not delete. */
function listRemaining(data: PersonData, counts: Counts, withRules: boolean): string[] {
  const { destinations } = data.zone.config();
  const usedDestinations = new Set(data.tasks.flatMap(({ call }) => call?.destination ?? []));
  const foreign = [...usedDestinations].filter((name) => {
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    return !(
      destination?.transport === "in-process" ||
      (destination && isOwnExecution(destination))
    );
  });
  const lines = [
    "docs/how-to/personal-data.md says what remains, such as messages in Slack, log lines and backups.",
  ];
  if (foreign.length > 0)
    lines.push(
      `Other destinations may have stored data too. Ask the people who run them: ${foreign.join(", ")}.`,
    );
  if (counts.rules.length > 0 && !withRules)
    lines.push(
      `Rules that name the person are left: ${formatRules(counts.rules)}. --rules removes them.`,
    );
  if (counts.configuration.length > 0)
    lines.push(`The configuration names the person. Edit it: ${counts.configuration.join(", ")}.`);
  return lines;
}

async function deleteExecutionRecords(
  { directory, signal, print }: CommandRun,
  { file, yes, ...values }: ZoneValues & { file: string; yes: boolean },
): Promise<number> {
  if (!yes) throw new UsageError("--request-ids needs --yes.");
  const { named } = readStage({ directory }, values);
  const path = resolve(directory, file);
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${cause.code}).`);
  });
  const ids = new Set(text.split(/\s+/).filter((word) => word !== ""));
  if (ids.size === 0 || [...ids].some((id) => !uuidPattern.test(id)))
    throw new UsageError(`${path} does not hold request ids, one per line.`);
  const count = await eraseExecutionRecords({ at: named, ids, isDryRun: false, signal });
  const where = `the Execution zone of stage ${named.stageName}`;
  print(`Deleted ${count} of ${ids.size} records of ${where}. The others had expired.`);
  return exitCodes.success;
}
