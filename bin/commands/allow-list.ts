/** `sekisho allow list`: who may ask, and where that is said. */
import { parseArgs } from "node:util";
import { readRules } from "../allow/change-rules.ts";
import { atRulePlace, rulePlaceHelp } from "../allow/place.ts";
import { ruleText } from "../allow/rule-words.ts";
import { placeOptions } from "../tasks/place.ts";
import { type Command, exitCodes } from "./command.ts";

export const allowList: Command = {
  help: `
sekisho allow list [--json] [--stage NAME | --store FILE]

Lists the rules of the allowlist: those that sekisho allow add made, with their numbers, and those of the configuration.
A message must fit every field of at least one rule.

  --json         one JSON object a line
${rulePlaceHelp}

Exit code: 0; 1 it could not be read, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const options = { json: { type: "boolean", default: false }, ...placeOptions } as const;
    const { values } = parseArgs({ args: run.words, options });
    return atRulePlace(run, values, async ({ place, configured, configName }) => {
      const kept = (await readRules({ store: place.store }))?.rules ?? [];
      for (const { number, addedAtMs, rule } of kept) {
        const addedAt = new Date(addedAtMs).toISOString();
        const line = `${String(number).padStart(4)}  ${ruleText(rule)}  (added ${addedAt})`;
        run.print(values.json ? JSON.stringify({ source: "added", number, addedAt, ...rule }) : line);
      }
      for (const rule of configured) {
        const line = `   -  ${ruleText(rule)}  (${configName})`;
        run.print(values.json ? JSON.stringify({ source: "configuration", ...rule }) : line);
      }
      if (kept.length + configured.length === 0) run.note(`There is no rule ${place.where}: nobody may ask.`);
      if (configured.length > 0) run.note(`${configName} holds ${place.ofConfiguration}.`);
      return exitCodes.success;
    });
  },
};
