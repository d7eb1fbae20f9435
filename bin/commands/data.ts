/** `sekisho data show`: what is kept of one person, in numbers. */
import { parseArgs } from "node:util";
import { isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import { taskSchema } from "../../lambdas/verification/task/task.ts";
import { readStage } from "../../lib/cli/aws/stage.ts";
import { cancelAll } from "../../lib/cli/data/cancel-all.ts";
import { confirm } from "../../lib/cli/data/confirm.ts";
import { countAll } from "../../lib/cli/data/count-all.ts";
import { eraseAll } from "../../lib/cli/data/erase-all.ts";
import { createStageExecutionPart } from "../../lib/cli/data/execution-records.ts";
import { findPerson, isUnderWay, type PersonRecords } from "../../lib/cli/data/find-person.ts";
import { readLeftOver, writeLeftOver } from "../../lib/cli/data/left-over.ts";
import {
  formatPerson,
  type Person,
  personHelp,
  personOptions,
  type RecordPlace,
  readPerson,
  withRecordPlace,
} from "../../lib/cli/data/person.ts";
import { type Counts, formatCounts, otherTeamsLine, remainingDataText } from "../../lib/cli/data/text.ts";
import { zoneHelp, zoneOptions } from "../../lib/cli/zone/zone.ts";
import { type Command, type CommandRun, exitCodes, UsageError } from "./command.ts";

export const dataShow: Command = {
  help: `
sekisho data show --team T --user U [--json] [--stage NAME | --store FILE]

Counts what is kept of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records,
rules that name the person. No texts. \`sekisho data delete\` takes it away.

${personHelp}
  --json         as a JSON object
${zoneHelp}

Exit code: 0; 1 it could not be read, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values } = parseArgs({
      args: run.words,
      options: { ...personOptions, json: { type: "boolean", default: false }, ...zoneOptions },
    });
    const person = readPerson(values);
    return withRecordPlace(run, values, async (place) => {
      const { signal } = run;
      const nowMs = Date.now();
      const found = await findPerson({ store: place.store, person, nowMs, signal });
      const counts = await countAll({ place, person, found, nowMs, signal });
      const elsewhere = otherTeamsLine(found);
      if (elsewhere !== undefined) run.note(elsewhere);
      if (values.json) run.print(JSON.stringify({ ...person, ...counts }));
      else for (const line of [`${formatPerson(person)} ${place.where}:`, ...formatCounts(counts)]) run.print(line);
      return exitCodes.success;
    });
  },
};

// `sekisho data delete`: takes away what is kept of one person.

const shownIds = 5;

export const dataDelete: Command = {
  help: `
sekisho data delete --team T --user U [--dry-run] [--yes] [--cancel] [--rules] [--stage NAME | --store FILE]
sekisho data delete --request-ids FILE --stage NAME [--yes]

Deletes what is kept of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records.
Whoever may still ask leaves new data: take the person off the allowlist first. Repeated, it finds what is left.

${personHelp}
  --dry-run      only says what there is
  --yes          does not ask
  --cancel       ends tasks that are under way, and waits for their ends; without it they are a reason to stop
  --rules        also the rules of \`sekisho allow\` that name the person
  --request-ids FILE  only the Execution zone's records of those tasks: what another run could not reach, with
                 credentials of the Execution zone's account
${zoneHelp}

Exit code: 0; 1 something is left, it could not be deleted, or AWS refused; 2 bad usage or configuration; 3 AWS not
reachable.
`,
  async run(run) {
    const { values } = parseArgs({
      args: run.words,
      options: {
        ...personOptions,
        "dry-run": { type: "boolean", default: false },
        yes: { type: "boolean", default: false },
        cancel: { type: "boolean", default: false },
        rules: { type: "boolean", default: false },
        "request-ids": { type: "string" },
        ...zoneOptions,
      },
    });
    const file = values["request-ids"];
    if (file !== undefined) return deleteLeftOver({ run, file, ...values });
    const person = readPerson(values);
    const wishes = { ...values, isDry: values["dry-run"] };
    try {
      return await withRecordPlace(run, values, (place) => deletePerson({ run, place, person, wishes }));
    } catch (thrown) {
      if (!run.signal.aborted) throw thrown;
      throw new Error("Interrupted. What is deleted stays deleted; run the command again for the rest.", {
        cause: thrown,
      });
    }
  },
};

type DeletionOptions = { isDry: boolean; yes: boolean; cancel: boolean; rules: boolean; config?: string | undefined };
type Deletion = { run: CommandRun; place: RecordPlace; person: Person; wishes: DeletionOptions };

async function deletePerson({ run, place, person, wishes }: Deletion): Promise<number> {
  const { signal, print, note } = run;
  const nowMs = Date.now();
  const find = () => findPerson({ store: place.store, person, nowMs: Date.now(), signal });
  let found = await find();
  if (found.unreadable.length > 0) {
    throw new Error(
      `${found.unreadable.length} tasks are of another version of Sekisho: run that version. ${found.unreadable[0]} is one.`,
    );
  }
  const counts = await countAll({ place, person, found, nowMs, signal });
  for (const line of [`${formatPerson(person)} ${place.where}:`, ...formatCounts(counts)]) print(line);
  const elsewhere = otherTeamsLine(found);
  if (elsewhere !== undefined) note(elsewhere);
  if (wishes.isDry) {
    for (const line of ["", ...remainingDataText, "", "Nothing was deleted."]) print(line);
    return exitCodes.success;
  }
  const underWay = found.tasks.filter((task) => task.isUnderWay);
  if (underWay.length > 0 && !wishes.cancel) {
    const ids = underWay.slice(0, shownIds).map(({ id }) => id);
    note(
      `Tasks are under way, or ended within the last minutes: ${ids.join(", ")}${underWay.length > shownIds ? ", …" : ""}`,
    );
    note("Nothing was deleted. End them by `sekisho tasks cancel ID`, or wait; --cancel does both.");
    return exitCodes.failed;
  }
  if (!wishes.yes && !(await confirmDeletion({ person, signal }))) {
    note("Nothing was deleted.");
    return exitCodes.failed;
  }
  if (underWay.length > 0) {
    note("Canceling, and waiting until all of it is over; a few minutes at the most.");
    const stillUnderWay = () => countUnderWay({ place, ids: underWay.map(({ id }) => id) });
    const isOver = await cancelAll({ tasks: underWay, team: person.team, queue: place.queue, stillUnderWay, signal });
    if (!isOver) throw new Error("Some tasks are still under way. Is a zone at work there? Nothing was deleted.");
    found = await find();
  }
  let isExecutionLeft = false;
  const left = await eraseAll({
    ...{ place, person, found, nowMs, signal },
    withRules: wishes.rules,
    async leftOver(ids, why) {
      if (!("stageName" in place.at)) throw why;
      isExecutionLeft = true;
      const { config } = wishes;
      for (const line of await writeLeftOver({ directory: run.directory, ids, named: place.at, config, nowMs }))
        note(line);
    },
  });
  print("");
  for (const line of formatRemainingAnswers(left)) note(line);
  const isLeft = isExecutionLeft || left.length > 0;
  if (!isLeft) print(isNothing(counts) ? `Nothing was found of ${formatPerson(person)}.` : "Deleted.");
  else print(`Deleted, but for ${isExecutionLeft ? "the Execution zone's records" : "what is under way"}.`);
  for (const line of foreignLines({ place, found })) print(line);
  for (const line of describeRemainingRules({ counts, withRules: wishes.rules })) print(line);
  for (const line of remainingDataText) print(line);
  return isLeft ? exitCodes.failed : exitCodes.success;
}

function isNothing({ tasks, history, answered, quotas, rules }: Counts): boolean {
  return tasks + history + answered + quotas + rules.length === 0;
}

/** Another person's task is not for this command to end. */
function formatRemainingAnswers(left: readonly string[]): string[] {
  if (left.length === 0) return [];
  const ids = left.slice(0, shownIds).join(", ");
  return [
    `Answers of the person are left in tasks of others that are under way, or just ended: ${ids}${left.length > shownIds ? ", …" : ""}`,
    "Run the command once more some minutes after these are over.",
  ];
}

async function confirmDeletion({ person, signal }: { person: Person; signal: AbortSignal }): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError("There is no terminal to ask at: --yes says that it is meant.");
  return confirm({ question: `Type ${person.user} to delete all of this: `, word: person.user, signal });
}

async function countUnderWay({ place, ids }: { place: RecordPlace; ids: readonly string[] }): Promise<number> {
  let sum = 0;
  for (const id of ids) {
    const task = taskSchema.safeParse(await place.store.get({ id })).data;
    if (task !== undefined && isUnderWay({ task, nowMs: Date.now() })) sum += 1;
  }
  return sum;
}

/** What agents elsewhere keep is theirs. */
function foreignLines({ place, found }: { place: RecordPlace; found: PersonRecords }): string[] {
  const { destinations } = place.config();
  const asked = new Set(found.tasks.flatMap(({ destination }) => destination ?? []));
  const foreign = [...asked].filter((name) => {
    const destination = Object.hasOwn(destinations, name) ? destinations[name] : undefined;
    return destination === undefined || !(destination.transport === "in-process" || isOwnExecution(destination));
  });
  return foreign.length === 0 ? [] : [`Ask those who run them what they keep: ${foreign.join(", ")}.`];
}

function describeRemainingRules({
  counts,
  withRules,
}: {
  counts: { rules: number[]; configuration: string[] };
  withRules: boolean;
}): string[] {
  const { rules, configuration } = counts;
  return [
    ...(rules.length === 0 || withRules
      ? []
      : [`Rules that name the person stay (--rules): ${rules.map((n) => `#${n}`).join(", ")}.`]),
    ...(configuration.length === 0
      ? []
      : [`The configuration names the person; edit it: ${configuration.join(", ")}.`]),
  ];
}

async function deleteLeftOver({
  run,
  file,
  stage,
  config,
  yes,
}: {
  run: CommandRun;
  file: string;
  stage?: string | undefined;
  config?: string | undefined;
  yes: boolean;
}): Promise<number> {
  const { directory, signal, print } = run;
  if (!yes) throw new UsageError("--request-ids goes with --yes.");
  const { named } = readStage(run, { stage, config });
  const ids = await readLeftOver({ directory, file });
  const many = await createStageExecutionPart({ ...named, signal }).erase({ ids });
  print(
    `Records of the Execution zone of stage ${named.stageName} deleted: ${many} of ${ids.size}. The others had expired.`,
  );
  return exitCodes.success;
}
