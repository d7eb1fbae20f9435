/** `sekisho data`: counts or deletes the stored data of one person. */
import { isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import { personKeyOf } from "../../lambdas/verification/task/task.ts";
import { readStage } from "../../lib/cli/aws/stage.ts";
import {
  awsExits,
  type CommandRun,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../../lib/cli/command.ts";
import { confirm } from "../../lib/cli/confirm.ts";
import { cancelAll } from "../../lib/cli/data/cancel-all.ts";
import { createExecutionRecords } from "../../lib/cli/data/execution-records.ts";
import { findPerson, type PersonRecords } from "../../lib/cli/data/find-person.ts";
import { readLeftOver, writeLeftOver } from "../../lib/cli/data/left-over.ts";
import {
  type Person,
  personOptions,
  type RecordZone,
  readPerson,
  withRecordZone,
} from "../../lib/cli/data/person.ts";
import { countAll, eraseAll } from "../../lib/cli/data/person-data.ts";
import {
  type Counts,
  formatCounts,
  formatRuleNumbers,
  remainingDataText,
} from "../../lib/cli/data/text.ts";
import { type ZoneValues, zoneOptions } from "../../lib/cli/zone/zone.ts";

export const dataShow = defineCommand({
  name: "data show",
  about: `
Counts the stored data of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records, and
rules that name the person. Shows no texts. \`sekisho data delete\` deletes the data.`,
  options: { ...personOptions, json: flag("prints a JSON object"), ...zoneOptions },
  exits: awsExits("it cannot be read"),
  async run(run) {
    const { values, signal } = run;
    const person = readPerson(values);
    return withRecordZone(run, values, async (zone) => {
      const nowMs = Date.now();
      const found = await findPerson({ store: zone.store, person, nowMs, signal });
      const counts = await countAll({ zone, person, found, nowMs, signal });
      if (values.json) run.print(JSON.stringify({ ...person, ...counts }));
      else printCounts(run, { zone, person, counts });
      noteOtherTeams(run, found);
      return exitCodes.success;
    });
  },
});

const shownIds = 5;

export const dataDelete = defineCommand({
  name: "data delete",
  about: `
Deletes the stored data of one person: tasks, usage history, quota, files, dead letters and the Execution zone's records.
Remove the person from the allowlist first, because new messages leave new data. The command can be repeated, and then
deletes what is left.`,
  options: {
    ...personOptions,
    "dry-run": flag("only counts the data"),
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
    if (file !== undefined) return deleteLeftOver(run, { ...values, file });
    const person = readPerson(values);
    try {
      return await withRecordZone(run, values, (zone) =>
        deletePerson(run, { ...values, zone, person }),
      );
    } catch (cause) {
      if (!run.signal.aborted) throw cause;
      throw new Error(
        "Interrupted. Some data may be deleted already. Run the command again to delete the rest.",
        {
          cause,
        },
      );
    }
  },
});

type Deletion = ZoneValues & {
  zone: RecordZone;
  person: Person;
  "dry-run": boolean;
  yes: boolean;
  cancel: boolean;
  rules: boolean;
};

async function deletePerson(
  run: CommandRun,
  { zone, person, config, ...wanted }: Deletion,
): Promise<number> {
  const { directory, signal, print, note } = run;
  const nowMs = Date.now();
  const find = () => findPerson({ store: zone.store, person, nowMs: Date.now(), signal });
  let found = await find();
  const [unreadable] = found.unreadable;
  if (unreadable !== undefined) {
    const count = found.unreadable.length;
    throw new Error(
      `Another version of Sekisho wrote ${count} of these tasks, such as ${unreadable}. Run the command with that version.`,
    );
  }
  const counts = await countAll({ zone, person, found, nowMs, signal });
  printCounts(run, { zone, person, counts });
  noteOtherTeams(run, found);
  if (wanted["dry-run"]) {
    for (const line of ["", ...remainingDataText, "", "Nothing was deleted."]) print(line);
    return exitCodes.success;
  }
  const underWay = found.tasks.flatMap((task) => (task.isUnderWay ? [task.id] : []));
  if (underWay.length > 0 && !wanted.cancel) {
    note(`These tasks are running, or ended within the last minutes: ${listIds(underWay)}`);
    note(
      "Nothing was deleted. Run the command again with --cancel, which cancels them and waits until they end.",
    );
    return exitCodes.failed;
  }
  if (!wanted.yes && !(await confirmDeletion({ person, signal }))) {
    note("Nothing was deleted.");
    return exitCodes.failed;
  }
  if (underWay.length > 0) {
    note("Canceling the tasks and waiting until they end. This takes a few minutes at most.");
    const isOver = await cancelAll({ zone, ids: underWay, team: person.team, signal });
    if (!isOver)
      throw new Error("Some tasks are still running. Does the zone run? Nothing was deleted.");
    found = await find();
  }
  let isExecutionLeft = false;
  const left = await eraseAll({
    ...{ zone, person, found, nowMs, signal },
    withRules: wanted.rules,
    async leftOver(ids, why) {
      if (!("stageName" in zone.at)) throw why;
      isExecutionLeft = true;
      for (const line of await writeLeftOver({ directory, config, ids, named: zone.at, nowMs }))
        note(line);
    },
  });
  print("");
  if (left.length > 0) {
    // The command must not cancel another person's task.
    note(`Answers of the person are left in running tasks of other people: ${listIds(left)}`);
    note("Run the command again some minutes after these tasks have ended.");
  }
  const isLeft = isExecutionLeft || left.length > 0;
  if (isLeft)
    print(
      `Deleted, except ${isExecutionLeft ? "the Execution zone's records" : "answers in running tasks of others"}.`,
    );
  else print(isNothing(counts) ? `No data of ${personKeyOf(person)} was found.` : "Deleted.");
  for (const line of [...listRemaining({ zone, found, counts, ...wanted }), ...remainingDataText])
    print(line);
  return isLeft ? exitCodes.failed : exitCodes.success;
}

function printCounts(
  { print }: CommandRun,
  { zone, person, counts }: { zone: RecordZone; person: Person; counts: Counts },
): void {
  for (const line of [`${personKeyOf(person)} ${zone.where}:`, ...formatCounts(counts)])
    print(line);
}

function noteOtherTeams({ note }: CommandRun, { otherTeams }: PersonRecords): void {
  if (otherTeams.length === 0) return;
  note(
    `There are tasks of this user under another workspace: ${otherTeams.map((team) => `--team ${team}`).join(", ")}.`,
  );
}

function listIds(ids: readonly string[]): string {
  return `${ids.slice(0, shownIds).join(", ")}${ids.length > shownIds ? ", …" : ""}`;
}

function isNothing({ tasks, history, answered, quotas, rules }: Counts): boolean {
  return tasks + history + answered + quotas + rules.length === 0;
}

async function confirmDeletion({
  person,
  signal,
}: {
  person: Person;
  signal: AbortSignal;
}): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError("There is no terminal for the confirmation. Give --yes to delete.");
  return confirm({
    question: `Type ${person.user} to delete all of this: `,
    word: person.user,
    signal,
  });
}

type RemainingData = { zone: RecordZone; found: PersonRecords; counts: Counts; rules: boolean };

/** Lists the data that the command does not delete: data of agents elsewhere, and rules. */
function listRemaining({
  zone,
  found,
  counts: { rules: numbers, configuration },
  rules: withRules,
}: RemainingData) {
  const { destinations } = zone.config();
  const used = new Set(found.tasks.flatMap(({ destination }) => destination ?? []));
  const foreign = [...used].filter((name) => {
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    return (
      destination === undefined ||
      !(destination.transport === "in-process" || isOwnExecution(destination))
    );
  });
  return [
    ...(foreign.length === 0
      ? []
      : [
          `Other destinations may have stored data too. Ask the people who run them: ${foreign.join(", ")}.`,
        ]),
    ...(numbers.length === 0 || withRules
      ? []
      : [
          `Rules that name the person are left: ${formatRuleNumbers(numbers)}. --rules removes them.`,
        ]),
    ...(configuration.length === 0
      ? []
      : [`The configuration names the person. Edit it: ${configuration.join(", ")}.`]),
  ];
}

async function deleteLeftOver(
  { directory, signal, print }: CommandRun,
  { file, yes, ...values }: ZoneValues & { file: string; yes: boolean },
): Promise<number> {
  if (!yes) throw new UsageError("--request-ids needs --yes.");
  const { named } = readStage({ directory }, values);
  const ids = await readLeftOver({ directory, file });
  const count = await createExecutionRecords({ at: named, signal })({ ids, erase: true });
  const where = `the Execution zone of stage ${named.stageName}`;
  print(`Deleted ${count} of ${ids.size} records of ${where}. The others had expired.`);
  return exitCodes.success;
}
