/** `sekisho allow`: lists and changes who may ask. */

import type { AllowlistRule } from "@sekisho/config/schema.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { matchRules, type Requester } from "@sekisho/verification/gate/rules.ts";
import { awsExits, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";
import { formatTable } from "../table.ts";
import { zoneOptions } from "../zone/zone.ts";
import { isSame, type RuleFields, withoutRule, withRule } from "./rule-set.ts";
import {
  fieldOptions,
  formatRule,
  formatRuleOptions,
  readRequester,
  readRule,
  readRuleFields,
  readRuleNumber,
  requireWorkspace,
  ruleFor,
} from "./rule-text.ts";
import { changeRules, readRules, withRuleZone } from "./rule-zone.ts";

export const allowList = defineCommand({
  name: "allow list",
  about: `
Lists the rules of the allowlist: those of sekisho allow add with their numbers, then those of the configuration.`,
  options: { json: flag("prints one JSON object per line"), ...zoneOptions },
  exits: awsExits("it cannot be read"),
  async run(run) {
    return withRuleZone(run, run.values, async (zone) => {
      const { where, store, configured, configName, ofConfiguration } = zone;
      const isIdle = ({ team }: AllowlistRule) => zone.hasManyWorkspaces && team === undefined;
      const storedRules = (await readRules({ store }))?.rules ?? [];
      const addedRules = storedRules.map(({ addedAtMs, ...one }) => ({
        ...one,
        addedAt: new Date(addedAtMs).toISOString(),
      }));
      const lines = run.values.json
        ? [
            ...addedRules.map(({ rule, ...one }) =>
              JSON.stringify({ source: "added", ...one, ...rule }),
            ),
            ...configured.map((rule) => JSON.stringify({ source: "configuration", ...rule })),
          ]
        : formatTable([
            ...addedRules.map(({ number, rule, addedAt }) => [
              `${number}`,
              formatRule(rule),
              `(added ${addedAt}${isIdle(rule) ? "; lets nobody in" : ""})`,
            ]),
            ...configured.map((rule) => ["-", formatRule(rule), `(${configName})`]),
          ]);
      for (const line of lines) run.print(line);
      if (lines.length === 0) run.note(`There is no rule ${where}: nobody may ask.`);
      if (storedRules.some(({ rule }) => isIdle(rule)))
        run.note(
          "A rule without a workspace lets nobody in, because slack.install lets several install the app. Add it again with --team, and remove the old one.",
        );
      if (configured.length > 0) run.note(`The rules of ${configName} apply ${ofConfiguration}.`);
      return exitCodes.success;
    });
  },
});

export const allowAdd = defineCommand({
  name: "allow add",
  about: `
Adds a rule to the allowlist, beside those of the configuration. It takes effect within 15 seconds. Give at least one of
--team, --channel, --user, --group and --bot; a message must fit all of them. With slack.install, --team is required.

Without --bot a rule matches people only, and without --external nothing in channels shared with other organizations (Slack
Connect). --group needs the scope usergroups:read; a removed member stays allowed for up to five minutes.`,
  options: {
    ...fieldOptions,
    label: option("TEXT", "a note that says what the rule is for"),
    ...zoneOptions,
  },
  exits: awsExits("it cannot be added"),
  async run(run) {
    const { team, channel, user, group, bot, external, label } = run.values;
    const rule = readRule({ team, channel, user, group, bot, external, label });
    return withRuleZone(run, run.values, async (zone) => {
      const { where, store, sinceWhen, configured, configName } = zone;
      requireWorkspace(rule, zone);
      const addition = await changeRules({
        store,
        decide: (storedRules) => withRule({ stored: storedRules, rule, nowMs: Date.now() }),
      });
      const text = `rule ${addition.rule.number} ${where}: ${formatRule(addition.rule.rule)}`;
      run.print(
        addition.isNew ? `Added ${text}\nIt takes effect ${sinceWhen}.` : `Already there: ${text}`,
      );
      if (configured.some((one) => isSame(one, rule)))
        run.note(`Note: ${configName} has the same rule.`);
      return exitCodes.success;
    });
  },
});

export const allowRemove = defineCommand({
  name: "allow remove",
  args: "[NUMBER]",
  about: `
Removes one rule, by its number in sekisho allow list or by all fields that it was added with, within 15 seconds. Running
tasks continue. To remove a rule of the configuration, edit the file.`,
  options: { ...fieldOptions, ...zoneOptions },
  exits: awsExits("there is no such rule"),
  async run(run) {
    const reference = readRuleReference({
      positionals: run.positionals,
      fields: readRuleFields(run.values),
    });
    return withRuleZone(run, run.values, async (zone) => {
      const { where, store, configured, configName } = zone;
      const { rule } = await changeRules({
        store,
        decide: (storedRules) => withoutRule({ stored: storedRules, reference }),
      });
      if (rule !== undefined) {
        run.print(
          `Removed rule ${rule.number} ${where}: ${formatRule(rule.rule)}\nThis takes effect ${zone.sinceWhen}.`,
        );
        return exitCodes.success;
      }
      const isConfigured =
        typeof reference !== "number" && configured.some((one) => isSame(one, reference));
      const name = typeof reference === "number" ? `number ${reference}` : formatRule(reference);
      run.note(
        isConfigured
          ? `That rule is in ${configName}. Remove it there; the rules of that file apply ${zone.ofConfiguration}.`
          : `There is no rule ${name} ${where}. sekisho allow list shows all rules.`,
      );
      return exitCodes.failed;
    });
  },
});

type RuleArgs = { positionals: string[]; fields: RuleFields };

function readRuleReference({
  positionals: [number, ...more],
  fields,
}: RuleArgs): number | RuleFields {
  const hasFields = Object.keys(fields).length > 0;
  if (more.length > 0 || (number === undefined) === !hasFields) {
    throw new UsageError(
      "Name one rule, either by its number or by the fields that it was added with.",
    );
  }
  return number === undefined ? fields : readRuleNumber(number);
}

const { group: _group, ...requesterOptions } = fieldOptions;

export const allowWhy = defineCommand({
  name: "allow why",
  about: `
Shows which rule lets a person (or --bot) ask in a channel, or the command that adds one. --team, --channel and --user are
required. Rules with a group are listed as possible matches, because only Slack knows the members. For a shared channel give
--external channels, and for a person of another organization --external people.`,
  options: { ...requesterOptions, ...zoneOptions },
  exits: `Exit code: 0 a rule allows the person; 1 no rule does, or only one with a group might, or AWS refused; 2 bad usage
or configuration; 3 AWS not reachable.`,
  async run(run) {
    const { team, channel, user, bot, external } = run.values;
    const requester = readRequester({ team, channel, user, bot, external });
    return withRuleZone(run, run.values, async (zone) => {
      const { configName, configured, hasManyWorkspaces } = zone;
      const storedRules = (await readRules({ store: zone.store }))?.rules ?? [];
      const rules: NamedRule[] = [
        ...storedRules.map(({ rule, number }) => ({ ...rule, name: `rule ${number}` })),
        ...configured.map((rule) => ({ ...rule, name: `a rule in ${configName}` })),
      ];
      const match = (changes: Partial<Requester> = {}) =>
        matchRules({ rules, hasManyWorkspaces, requester: { ...requester, ...changes } });
      const { rule, byGroup } = match();
      const where = `in ${requester.channel} of ${requester.team}${sharedText(requester)}`;
      if (rule !== undefined) {
        run.print(`${requester.user} may ask ${where}, by ${formatNamed(rule)}`);
        if (rule.name.endsWith(configName))
          run.note(`The rules of ${configName} apply ${zone.ofConfiguration}.`);
        return exitCodes.success;
      }
      const none = `No rule ${zone.where} or in ${configName} lets ${requester.user} ask ${where}`;
      const groups = byGroup.map((one) => `\n  ${formatNamed(one)}`).join("");
      run.print(
        groups === ""
          ? `${none}.`
          : `${none}, unless they are in the user group of one of these:${groups}`,
      );
      const organizations = rules.flatMap(({ team }) => (team?.startsWith("E") ? [team] : []));
      for (const enterprise of new Set(organizations)) {
        const { rule: byOrganization } = match({ enterprise });
        if (byOrganization !== undefined)
          run.print(
            `They may ask if the app is installed in all of ${enterprise} and ${requester.team} is part of it, by ${formatNamed(byOrganization)}`,
          );
      }
      const { rule: elsewhere } = match({ external: undefined });
      if (elsewhere !== undefined) {
        run.print(
          `They may ask in channels that are not shared with other organizations, by ${formatNamed(elsewhere)}`,
        );
      }
      const options = formatRuleOptions(ruleFor(requester));
      run.print(`To allow them:\n  ${sekisho} allow add ${options}${zone.zoneOptionsText}`);
      return exitCodes.failed;
    });
  },
});

function sharedText({ external }: Requester): string {
  if (external === undefined) return "";
  return `, which is shared with other organizations${external === "people" ? ", as a person of one of them" : ""}`;
}

type NamedRule = AllowlistRule & { name: string };

function formatNamed(rule: NamedRule): string {
  return `${rule.name}: ${formatRule(rule)}`;
}
