/** `sekisho data show`: what is kept of one person, in numbers. */
import { parseArgs } from "node:util";
import { countAll } from "../data/count-all.ts";
import { findPerson } from "../data/find-person.ts";
import { nameOf, personHelp, personIn, personOptions } from "../data/person.ts";
import { atRecordPlace } from "../data/record-place.ts";
import { countLines, otherTeamsLine } from "../data/words.ts";
import { placeHelp, placeOptions } from "../tasks/place.ts";
import { type Command, exitCodes } from "./command.ts";

export const dataShow: Command = {
  help: `
sekisho data show --team T --user U [--json] [--stage NAME | --store FILE]

Counts what is kept of one person: tasks, usage history, quota, files, dead letters, the Execution zone's records,
rules that name the person. No texts. \`sekisho data delete\` takes it away.

${personHelp}
  --json         as a JSON object
${placeHelp}

Exit code: 0; 1 it could not be read, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values } = parseArgs({
      args: run.words,
      options: { ...personOptions, json: { type: "boolean", default: false }, ...placeOptions },
    });
    const person = personIn(values);
    return atRecordPlace(run, values, async (place) => {
      const { signal } = run;
      const nowMs = Date.now();
      const found = await findPerson({ store: place.store, person, nowMs, signal });
      const counts = await countAll({ place, person, found, nowMs, signal });
      const elsewhere = otherTeamsLine(found);
      if (elsewhere !== undefined) run.note(elsewhere);
      if (values.json) run.print(JSON.stringify({ ...person, ...counts }));
      else for (const line of [`${nameOf(person)} ${place.where}:`, ...countLines(counts)]) run.print(line);
      return exitCodes.success;
    });
  },
};
