/** `sekisho allow list`: who may ask, and where that is said. */
import { parseArgs } from "node:util";
import type { AllowlistRule } from "../../lambdas/shared/config/schema.ts";
import { matchRules } from "../../lambdas/verification/gate/rules.ts";
import { changeRules, readRules } from "../../lib/cli/allow/change-rules.ts";
import { withRulePlace } from "../../lib/cli/allow/place.ts";
import { isSame, type RuleFields, withoutRule, withRule } from "../../lib/cli/allow/rule-set.ts";
import {
  fieldOptions,
  formatRule,
  formatRuleField,
  readRequester,
  readRule,
  readRuleFields,
  readRuleNumber,
} from "../../lib/cli/allow/rule-text.ts";
import { zoneHelp, zoneOptions } from "../../lib/cli/zone/zone.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const allowList: Command = {
  help: `
sekisho allow list [--json] [--stage NAME | --store FILE]

Lists the rules of the allowlist: those that sekisho allow add made, with their numbers, and those of the configuration.
A message must fit every field of at least one rule.

  --json         one JSON object a line
${zoneHelp}

Exit code: 0; 1 it could not be read, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const options = { json: { type: "boolean", default: false }, ...zoneOptions } as const;
    const { values } = parseArgs({ args: run.words, options });
    return withRulePlace(run, values, async ({ place, configured, configName }) => {
      const kept = (await readRules({ store: place.store }))?.rules ?? [];
      for (const { number, addedAtMs, rule } of kept) {
        const addedAt = new Date(addedAtMs).toISOString();
        const line = `${String(number).padStart(4)}  ${formatRule(rule)}  (added ${addedAt})`;
        run.print(values.json ? JSON.stringify({ source: "added", number, addedAt, ...rule }) : line);
      }
      for (const rule of configured) {
        const line = `   -  ${formatRule(rule)}  (${configName})`;
        run.print(values.json ? JSON.stringify({ source: "configuration", ...rule }) : line);
      }
      if (kept.length + configured.length === 0) run.note(`There is no rule ${place.where}: nobody may ask.`);
      if (configured.length > 0) run.note(`${configName} holds ${place.ofConfiguration}.`);
      return exitCodes.success;
    });
  },
};

// `sekisho allow add`: lets people in, without a deploy.

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
                 scope usergroups:read. A new member is let in after 15 seconds, a removed one
                 is kept out after five minutes
  --label TEXT   for people: what the rule is for
${zoneHelp}

A rule holds within 15 seconds. One that is there already is not added twice.

Exit code: 0; 1 it could not be added, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const options = { ...fieldOptions, label: { type: "string" }, ...zoneOptions } as const;
    const { values } = parseArgs({ args: run.words, options });
    const { team, channel, user, group, label } = values;
    const rule = readRule({ team, channel, user, group, label });
    return withRulePlace(run, values, async ({ place, configured, configName }) => {
      const decide = (kept: Parameters<typeof withRule>[0]["kept"]) => withRule({ kept, rule, nowMs: Date.now() });
      const { rule: there, isNew } = await changeRules({ store: place.store, decide });
      const text = `rule ${there.number} ${place.where}: ${formatRule(there.rule)}`;
      run.print(isNew ? `Added ${text}\nIt holds ${place.sinceWhen}.` : `Nothing to add: it is ${text}`);
      if (configured.some((one) => isSame(one, rule))) run.note(`Note: ${configName} has the same rule.`);
      return exitCodes.success;
    });
  },
};

// `sekisho allow remove`: takes a rule out of the allowlist, without a deploy.

export const allowRemove: Command = {
  help: `
sekisho allow remove NUMBER [--stage NAME | --store FILE]
sekisho allow remove [--team T] [--channel C] [--user U] [--group S] [--stage NAME | --store FILE]

Removes one rule of the allowlist: by its number, which sekisho allow list shows and which is never given to another
rule, or by what it was added with, all of it. Rules of the configuration are removed in the configuration.

${zoneHelp}

It lets nobody in any more within 15 seconds; tasks that are under way go on.

Exit code: 0; 1 there is no such rule, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { ...fieldOptions, ...zoneOptions },
    });
    const meant = readRuleReference({ positionals, fields: readRuleFields(values) });
    return withRulePlace(run, values, async ({ place, configured, configName }) => {
      const { rule } = await changeRules({ store: place.store, decide: (kept) => withoutRule({ kept, meant }) });
      if (rule !== undefined) {
        run.print(
          `Removed rule ${rule.number} ${place.where}: ${formatRule(rule.rule)}\nIt is gone ${place.sinceWhen}.`,
        );
        return exitCodes.success;
      }
      const isConfigured = typeof meant !== "number" && configured.some((one) => isSame(one, meant));
      const name = typeof meant === "number" ? `number ${meant}` : formatRule(meant);
      run.note(
        isConfigured
          ? `That rule is one of ${configName}: remove it there. It then holds no more ${place.ofConfiguration}.`
          : `There is no rule ${name} ${place.where}. sekisho allow list shows them all.`,
      );
      return exitCodes.failed;
    });
  },
};

function readRuleReference({
  positionals,
  fields,
}: {
  positionals: string[];
  fields: RuleFields;
}): number | RuleFields {
  const [number, ...more] = positionals;
  const hasFields = Object.keys(fields).length > 0;
  if (more.length > 0 || (number === undefined) === !hasFields) {
    throw new UsageError("Name one rule: by its number, or by what it was added with.");
  }
  return number === undefined ? fields : readRuleNumber(number);
}

// `sekisho allow why`: whether a person may ask somewhere, by which rule, and what to add where by none.

export const allowWhy: Command = {
  help: `
sekisho allow why --team T --channel C --user U [--stage NAME | --store FILE]

Says which rule of the allowlist lets that person ask in that channel, or that none does and what to add. Who is in a
user group only Slack knows: of rules with a group it says which groups would let the person in.

${zoneHelp}

Exit code: 0 a rule lets the person in; 1 none does, or only one with a group, or AWS refused; 2 bad usage or
configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { team, channel, user } = fieldOptions;
    const { values } = parseArgs({ args: run.words, options: { team, channel, user, ...zoneOptions } });
    const asking = readRequester({ team: values.team, channel: values.channel, user: values.user });
    return withRulePlace(run, values, async ({ place, configured, configName, placeText }) => {
      const kept = (await readRules({ store: place.store }))?.rules ?? [];
      const rules: Named[] = [
        ...kept.map(({ rule, number }) => ({ ...rule, name: `rule ${number}` })),
        ...configured.map((rule) => ({ ...rule, name: `a rule of ${configName}` })),
      ];
      const { rule, byGroup } = matchRules({ rules, asking });
      const where = `in ${asking.channel} of ${asking.team}`;
      if (rule !== undefined) {
        run.print(`${asking.user} may ask ${where}, by ${formatNamed(rule)}`);
        if (rule.name.endsWith(configName)) run.note(`${configName} holds ${place.ofConfiguration}.`);
        return exitCodes.success;
      }
      const none = `No rule ${place.where} or of ${configName} lets ${asking.user} ask ${where}`;
      if (byGroup.length > 0) {
        const groups = byGroup.map((one) => `\n  ${formatNamed(one)}`).join("");
        run.print(`${none}, unless they are in the user group of:${groups}`);
      } else run.print(`${none}.`);
      run.print(`To let them in:\n  npx sekisho allow add ${formatRuleField(asking)}${placeText}`);
      return exitCodes.failed;
    });
  },
};

type Named = AllowlistRule & { name: string };

function formatNamed(rule: Named): string {
  return `${rule.name}: ${formatRule(rule)}`;
}
