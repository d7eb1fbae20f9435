/** `sekisho allow remove`: takes a rule out of the allowlist, without a deploy. */
import { parseArgs } from "node:util";
import { changeRules } from "../allow/change-rules.ts";
import { atRulePlace, rulePlaceHelp } from "../allow/place.ts";
import { isSame, type RuleFields, withoutRule } from "../allow/rule-set.ts";
import { fieldOptions, fieldsIn, numberIn, ruleText } from "../allow/rule-words.ts";
import { placeOptions } from "../tasks/place.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const allowRemove: Command = {
  help: `
sekisho allow remove NUMBER [--stage NAME | --store FILE]
sekisho allow remove [--team T] [--channel C] [--user U] [--group S] [--stage NAME | --store FILE]

Removes one rule of the allowlist: by its number, which sekisho allow list shows and which is never given to another
rule, or by what it was added with, all of it. Rules of the configuration are removed in the configuration.

${rulePlaceHelp}

It lets nobody in any more within 15 seconds; tasks that are under way go on.

Exit code: 0; 1 there is no such rule, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { ...fieldOptions, ...placeOptions },
    });
    const meant = meantBy({ positionals, fields: fieldsIn(values) });
    return atRulePlace(run, values, async ({ place, configured, configName }) => {
      const { rule } = await changeRules({ store: place.store, decide: (kept) => withoutRule({ kept, meant }) });
      if (rule !== undefined) {
        run.print(`Removed rule ${rule.number} ${place.where}: ${ruleText(rule.rule)}\nIt is gone ${place.sinceWhen}.`);
        return exitCodes.success;
      }
      const isConfigured = typeof meant !== "number" && configured.some((one) => isSame(one, meant));
      const name = typeof meant === "number" ? `number ${meant}` : ruleText(meant);
      run.note(
        isConfigured
          ? `That rule is one of ${configName}: remove it there. It then holds no more ${place.ofConfiguration}.`
          : `There is no rule ${name} ${place.where}. sekisho allow list shows them all.`,
      );
      return exitCodes.failed;
    });
  },
};

function meantBy({ positionals, fields }: { positionals: string[]; fields: RuleFields }): number | RuleFields {
  const [number, ...more] = positionals;
  const hasFields = Object.keys(fields).length > 0;
  if (more.length > 0 || (number === undefined) === !hasFields) {
    throw new UsageError("Name one rule: by its number, or by what it was added with.");
  }
  return number === undefined ? fields : numberIn(number);
}
