/** `sekisho allow`: lists and changes who may ask. */
import type { AllowlistRule } from "../../lambdas/shared/config/schema.ts";
import { matchRules } from "../../lambdas/verification/gate/rules.ts";
import { isSame, type RuleFields, withoutRule, withRule } from "../../lib/cli/allow/rule-set.ts";
import {
  fieldOptions,
  formatRule,
  formatRuleOptions,
  readRequester,
  readRule,
  readRuleFields,
  readRuleNumber,
} from "../../lib/cli/allow/rule-text.ts";
import { changeRules, readRules, withRuleZone } from "../../lib/cli/allow/rule-zone.ts";
import { awsExits, defineCommand, exitCodes, flag, option, UsageError } from "../../lib/cli/command.ts";
import { formatTable } from "../../lib/cli/table.ts";
import { zoneOptions } from "../../lib/cli/zone/zone.ts";

export const allowList = defineCommand({
  name: "allow list",
  about: `
Lists the rules of the allowlist: those of sekisho allow add, with their numbers, and those of the configuration. A
message must fit every field of at least one rule.`,
  options: { json: flag("prints one JSON object per line"), ...zoneOptions },
  exits: awsExits("it cannot be read"),
  async run(run) {
    return withRuleZone(run, run.values, async ({ where, store, configured, configName, ofConfiguration }) => {
      const stored = (await readRules({ store }))?.rules ?? [];
      const added = stored.map(({ addedAtMs, ...one }) => ({ ...one, addedAt: new Date(addedAtMs).toISOString() }));
      const lines = run.values.json
        ? [
            ...added.map(({ rule, ...one }) => JSON.stringify({ source: "added", ...one, ...rule })),
            ...configured.map((rule) => JSON.stringify({ source: "configuration", ...rule })),
          ]
        : formatTable([
            ...added.map(({ number, rule, addedAt }) => [`${number}`, formatRule(rule), `(added ${addedAt})`]),
            ...configured.map((rule) => ["-", formatRule(rule), `(${configName})`]),
          ]);
      for (const line of lines) run.print(line);
      if (lines.length === 0) run.note(`There is no rule ${where}: nobody may ask.`);
      if (configured.length > 0) run.note(`${configName} holds ${ofConfiguration}.`);
      return exitCodes.success;
    });
  },
});

export const allowAdd = defineCommand({
  name: "allow add",
  about: `
Adds a rule to the allowlist, beside those of the configuration. At least one of --team, --channel, --user and --group is
needed, and a message must fit all that are given. A rule takes effect within 15 seconds. One that exists is not added
again. The members of a user group may change: a new member is let in after 15 seconds, a removed one is kept out after
five minutes; the app needs the scope usergroups:read.`,
  options: { ...fieldOptions, label: option("TEXT", "for people: what the rule is for"), ...zoneOptions },
  exits: awsExits("it cannot be added"),
  async run(run) {
    const { team, channel, user, group, label } = run.values;
    const rule = readRule({ team, channel, user, group, label });
    return withRuleZone(run, run.values, async ({ where, store, sinceWhen, configured, configName }) => {
      const added = await changeRules({ store, decide: (stored) => withRule({ stored, rule, nowMs: Date.now() }) });
      const text = `rule ${added.rule.number} ${where}: ${formatRule(added.rule.rule)}`;
      run.print(added.isNew ? `Added ${text}\nIt holds ${sinceWhen}.` : `Nothing to add: it is ${text}`);
      if (configured.some((one) => isSame(one, rule))) run.note(`Note: ${configName} has the same rule.`);
      return exitCodes.success;
    });
  },
});

export const allowRemove = defineCommand({
  name: "allow remove",
  args: "[NUMBER]",
  about: `
Removes one rule of the allowlist: by its number, which sekisho allow list shows and which is never given to another rule,
or by all fields that it was added with. It takes effect within 15 seconds; tasks under way go on. Rules of the
configuration are removed in the configuration.`,
  options: { ...fieldOptions, ...zoneOptions },
  exits: awsExits("there is no such rule"),
  async run(run) {
    const reference = readRuleReference({ positionals: run.positionals, fields: readRuleFields(run.values) });
    return withRuleZone(run, run.values, async (zone) => {
      const { where, store, configured, configName } = zone;
      const { rule } = await changeRules({ store, decide: (stored) => withoutRule({ stored, reference }) });
      if (rule !== undefined) {
        run.print(`Removed rule ${rule.number} ${where}: ${formatRule(rule.rule)}\nIt is gone ${zone.sinceWhen}.`);
        return exitCodes.success;
      }
      const isConfigured = typeof reference !== "number" && configured.some((one) => isSame(one, reference));
      const name = typeof reference === "number" ? `number ${reference}` : formatRule(reference);
      run.note(
        isConfigured
          ? `That rule is one of ${configName}: remove it there. It is gone ${zone.ofConfiguration}.`
          : `There is no rule ${name} ${where}. sekisho allow list shows them all.`,
      );
      return exitCodes.failed;
    });
  },
});

type RuleArgs = { positionals: string[]; fields: RuleFields };

function readRuleReference({ positionals: [number, ...more], fields }: RuleArgs): number | RuleFields {
  const hasFields = Object.keys(fields).length > 0;
  if (more.length > 0 || (number === undefined) === !hasFields) {
    throw new UsageError("Name one rule: by its number, or by the fields that it was added with.");
  }
  return number === undefined ? fields : readRuleNumber(number);
}

const { group: _group, ...requesterOptions } = fieldOptions;

export const allowWhy = defineCommand({
  name: "allow why",
  about: `
Says which rule of the allowlist lets that person ask in that channel, or that none does and what to add. --team, --channel
and --user are needed. Only Slack knows the members of a user group, so for rules with a group it says which groups would
let the person in.`,
  options: { ...requesterOptions, ...zoneOptions },
  exits: `Exit code: 0 a rule lets the person in; 1 none does, or only one with a group, or AWS refused; 2 bad usage or
configuration; 3 AWS not reachable.`,
  async run(run) {
    const { team, channel, user } = run.values;
    const asking = readRequester({ team, channel, user });
    return withRuleZone(run, run.values, async (zone) => {
      const { configName, configured } = zone;
      const stored = (await readRules({ store: zone.store }))?.rules ?? [];
      const rules: NamedRule[] = [
        ...stored.map(({ rule, number }) => ({ ...rule, name: `rule ${number}` })),
        ...configured.map((rule) => ({ ...rule, name: `a rule of ${configName}` })),
      ];
      const { rule, byGroup } = matchRules({ rules, asking });
      const where = `in ${asking.channel} of ${asking.team}`;
      if (rule !== undefined) {
        run.print(`${asking.user} may ask ${where}, by ${formatNamed(rule)}`);
        if (rule.name.endsWith(configName)) run.note(`${configName} holds ${zone.ofConfiguration}.`);
        return exitCodes.success;
      }
      const none = `No rule ${zone.where} or of ${configName} lets ${asking.user} ask ${where}`;
      const groups = byGroup.map((one) => `\n  ${formatNamed(one)}`).join("");
      run.print(groups === "" ? `${none}.` : `${none}, unless they are in the user group of:${groups}`);
      run.print(`To let them in:\n  npx sekisho allow add ${formatRuleOptions(asking)}${zone.zoneOptionsText}`);
      return exitCodes.failed;
    });
  },
});

type NamedRule = AllowlistRule & { name: string };

function formatNamed(rule: NamedRule): string {
  return `${rule.name}: ${formatRule(rule)}`;
}
