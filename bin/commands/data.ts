/** `sekisho data`: counts or deletes the data that is kept of one person. */
import { isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import { formatPersonKey } from "../../lambdas/verification/usage/entry.ts";
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
import { type Person, personOptions, type RecordZone, readPerson, withRecordZone } from "../../lib/cli/data/person.ts";
import { countAll, eraseAll } from "../../lib/cli/data/person-data.ts";
import { type Counts, formatCounts, formatRuleNumbers, remainingDataText } from "../../lib/cli/data/text.ts";
import { type ZoneValues, zoneOptions } from "../../lib/cli/zone/zone.ts";

export const dataShow = defineCommand({
  name: "data show",
  about: `
Counts what is kept of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records, and
rules that name the person. No texts. \`sekisho data delete\` deletes it.`,
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
Deletes what is kept of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records. A
person who is still allowed leaves new data, so remove them from the allowlist first. Repeated, it finds what is left.`,
  options: {
    ...personOptions,
    "dry-run": flag("only says what there is"),
    yes: flag("does not ask"),
    cancel: flag("cancels tasks under way, and waits until they are over; without it nothing is deleted then"),
    rules: flag("also removes the rules of `sekisho allow` that name the person"),
    "request-ids": option(
      "FILE",
      "deletes only the Execution zone's records of those tasks: what another run could not reach, with credentials of the Execution zone's account; with --stage and --yes",
    ),
    ...zoneOptions,
  },
  exits: awsExits("something is left, it cannot be deleted"),
  async run(run) {
    const { values } = run;
    const file = values["request-ids"];
    if (file !== undefined) return deleteLeftOver(run, { ...values, file });
    const person = readPerson(values);
    try {
      return await withRecordZone(run, values, (zone) => deletePerson(run, { ...values, zone, person }));
    } catch (cause) {
      if (!run.signal.aborted) throw cause;
      throw new Error("Interrupted. What is deleted stays deleted. Run the command again for the rest.", { cause });
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

async function deletePerson(run: CommandRun, { zone, person, config, ...wanted }: Deletion): Promise<number> {
  const { directory, signal, print, note } = run;
  const nowMs = Date.now();
  const find = () => findPerson({ store: zone.store, person, nowMs: Date.now(), signal });
  let found = await find();
  const [unreadable] = found.unreadable;
  if (unreadable !== undefined) {
    const count = found.unreadable.length;
    throw new Error(`${count} tasks are of another version of Sekisho, such as ${unreadable}. Run that version.`);
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
    note(`Tasks are under way, or ended within the last minutes: ${listIds(underWay)}`);
    note("Nothing was deleted. End them with `sekisho tasks cancel ID`, or wait; --cancel does both.");
    return exitCodes.failed;
  }
  if (!wanted.yes && !(await confirmDeletion({ person, signal }))) {
    note("Nothing was deleted.");
    return exitCodes.failed;
  }
  if (underWay.length > 0) {
    note("Canceling, and waiting until all of it is over; a few minutes at the most.");
    const isOver = await cancelAll({ zone, ids: underWay, team: person.team, signal });
    if (!isOver) throw new Error("Some tasks are still under way. Does a zone run there? Nothing was deleted.");
    found = await find();
  }
  let isExecutionLeft = false;
  const left = await eraseAll({
    ...{ zone, person, found, nowMs, signal },
    withRules: wanted.rules,
    async leftOver(ids, why) {
      if (!("stageName" in zone.at)) throw why;
      isExecutionLeft = true;
      for (const line of await writeLeftOver({ directory, config, ids, named: zone.at, nowMs })) note(line);
    },
  });
  print("");
  if (left.length > 0) {
    // Another person's task is not for this command to end.
    note(`Answers of the person are left in tasks of others that are under way, or just ended: ${listIds(left)}`);
    note("Run the command again some minutes after these are over.");
  }
  const isLeft = isExecutionLeft || left.length > 0;
  if (isLeft) print(`Deleted, but for ${isExecutionLeft ? "the Execution zone's records" : "what is under way"}.`);
  else print(isNothing(counts) ? `Nothing was found of ${formatPersonKey(person)}.` : "Deleted.");
  for (const line of [...listRemaining({ zone, found, counts, ...wanted }), ...remainingDataText]) print(line);
  return isLeft ? exitCodes.failed : exitCodes.success;
}

function printCounts(
  { print }: CommandRun,
  { zone, person, counts }: { zone: RecordZone; person: Person; counts: Counts },
): void {
  for (const line of [`${formatPersonKey(person)} ${zone.where}:`, ...formatCounts(counts)]) print(line);
}

function noteOtherTeams({ note }: CommandRun, { otherTeams }: PersonRecords): void {
  if (otherTeams.length === 0) return;
  note(
    `Tasks of that user are kept under another workspace: ${otherTeams.map((team) => `--team ${team}`).join(", ")}.`,
  );
}

function listIds(ids: readonly string[]): string {
  return `${ids.slice(0, shownIds).join(", ")}${ids.length > shownIds ? ", …" : ""}`;
}

function isNothing({ tasks, history, answered, quotas, rules }: Counts): boolean {
  return tasks + history + answered + quotas + rules.length === 0;
}

async function confirmDeletion({ person, signal }: { person: Person; signal: AbortSignal }): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError("There is no terminal to ask at. --yes deletes without asking.");
  return confirm({ question: `Type ${person.user} to delete all of this: `, word: person.user, signal });
}

type RemainingData = { zone: RecordZone; found: PersonRecords; counts: Counts; rules: boolean };

/** Notes the data that the command does not delete: data of agents elsewhere, and rules. */
function listRemaining({ zone, found, counts: { rules: numbers, configuration }, rules: withRules }: RemainingData) {
  const { destinations } = zone.config();
  const used = new Set(found.tasks.flatMap(({ destination }) => destination ?? []));
  const foreign = [...used].filter((name) => {
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    return destination === undefined || !(destination.transport === "in-process" || isOwnExecution(destination));
  });
  return [
    ...(foreign.length === 0 ? [] : [`Ask those who run them what they keep: ${foreign.join(", ")}.`]),
    ...(numbers.length === 0 || withRules
      ? []
      : [`Rules that name the person stay (--rules): ${formatRuleNumbers(numbers)}.`]),
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
  print(`Records of ${where} deleted: ${count} of ${ids.size}. The others had expired.`);
  return exitCodes.success;
}
