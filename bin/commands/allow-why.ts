/** `sekisho allow why`: whether a person may ask somewhere, by which rule, and what to add where by none. */
import { parseArgs } from "node:util";
import type { AllowlistRule } from "../../lambdas/shared/config/schema.ts";
import { judge } from "../../lambdas/verification/gate/allowlist.ts";
import { readRules } from "../allow/change-rules.ts";
import { atRulePlace, rulePlaceHelp } from "../allow/place.ts";
import { askingIn, fieldOptions, fieldWords, ruleText } from "../allow/rule-words.ts";
import { placeOptions } from "../tasks/place.ts";
import { type Command, exitCodes } from "./command.ts";

export const allowWhy: Command = {
  help: `
sekisho allow why --team T --channel C --user U [--stage NAME | --store FILE]

Says which rule of the allowlist lets that person ask in that channel, or that none does and what to add. Who is in a
user group only Slack knows: of rules with a group it says which groups would let the person in.

${rulePlaceHelp}

Exit code: 0 a rule lets the person in; 1 none does, or only one with a group, or AWS refused; 2 bad usage or
configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { team, channel, user } = fieldOptions;
    const { values } = parseArgs({ args: run.words, options: { team, channel, user, ...placeOptions } });
    const asking = askingIn({ team: values.team, channel: values.channel, user: values.user });
    return atRulePlace(run, values, async ({ place, configured, configName, placeWords }) => {
      const kept = (await readRules({ store: place.store }))?.rules ?? [];
      const rules: Named[] = [
        ...kept.map(({ rule, number }) => ({ ...rule, name: `rule ${number}` })),
        ...configured.map((rule) => ({ ...rule, name: `a rule of ${configName}` })),
      ];
      const { rule, byGroup } = judge({ rules, asking });
      const where = `in ${asking.channel} of ${asking.team}`;
      if (rule !== undefined) {
        run.print(`${asking.user} may ask ${where}, by ${namedText(rule)}`);
        if (rule.name.endsWith(configName)) run.note(`${configName} holds ${place.ofConfiguration}.`);
        return exitCodes.success;
      }
      const none = `No rule ${place.where} or of ${configName} lets ${asking.user} ask ${where}`;
      if (byGroup.length > 0) {
        const groups = byGroup.map((one) => `\n  ${namedText(one)}`).join("");
        run.print(`${none}, unless they are in the user group of:${groups}`);
      } else run.print(`${none}.`);
      run.print(`To let them in:\n  npx sekisho allow add ${fieldWords(asking)}${placeWords}`);
      return exitCodes.failed;
    });
  },
};

type Named = AllowlistRule & { name: string };

function namedText(rule: Named): string {
  return `${rule.name}: ${ruleText(rule)}`;
}
