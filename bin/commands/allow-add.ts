/** `sekisho allow add`: lets people in, without a deploy. */
import { parseArgs } from "node:util";
import { changeRules } from "../allow/change-rules.ts";
import { atRulePlace, rulePlaceHelp } from "../allow/place.ts";
import { isSame, withRule } from "../allow/rule-set.ts";
import { fieldOptions, ruleIn, ruleText } from "../allow/rule-words.ts";
import { placeOptions } from "../tasks/place.ts";
import { type Command, exitCodes } from "./command.ts";

export const allowAdd: Command = {
  help: `
sekisho allow add [--team T] [--channel C] [--user U] [--group S] [--label TEXT] [--stage NAME | --store FILE]

Adds a rule to the allowlist, beside those of the configuration. At least one of the four is needed; a message must
fit all that are given. Nobody is let in by no rule at all.

  --team T       messages in that workspace, by its id (T…): the one where the app is installed, also for people
                 who come from another one (Slack Connect)
  --channel C    messages in that channel, or in those direct messages (C…, D…)
  --user U       messages of that person (U…)
  --group S      messages of the members of that user group (S…), whoever they are at that time. The app needs the
                 scope usergroups:read; a change of the group in Slack holds after five minutes
  --label TEXT   for people: what the rule is for
${rulePlaceHelp}

A rule holds within 15 seconds. One that is there already is not added twice.

Exit code: 0; 1 it could not be added, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const options = { ...fieldOptions, label: { type: "string" }, ...placeOptions } as const;
    const { values } = parseArgs({ args: run.words, options });
    const { team, channel, user, group, label } = values;
    const rule = ruleIn({ team, channel, user, group, label });
    return atRulePlace(run, values, async ({ place, configured, configName }) => {
      const decide = (kept: Parameters<typeof withRule>[0]["kept"]) => withRule({ kept, rule, nowMs: Date.now() });
      const { rule: there, isNew } = await changeRules({ store: place.store, decide });
      const text = `rule ${there.number} ${place.where}: ${ruleText(there.rule)}`;
      run.print(isNew ? `Added ${text}\nIt holds ${place.sinceWhen}.` : `Nothing to add: it is ${text}`);
      if (configured.some((one) => isSame(one, rule))) run.note(`Note: ${configName} has the same rule.`);
      return exitCodes.success;
    });
  },
};
