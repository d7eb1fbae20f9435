/** Who may ask, by rules alone: default deny. Pure. */
import type { AllowlistRule } from "../../shared/config/schema.ts";

/** Who asks, and where. `team` is the installation's workspace, also where the person is of another one (Slack Connect). */
export type Asking = { team: string; channel: string; user: string };

const fields = ["team", "channel", "user"] as const;

/**
 * `rule` is the first that lets in by itself, whose every given field matches. `byGroup` are those that fit but for their
 * group, in their order: they let in its members, of whom only Slack knows. A rule without fields fits nobody.
 */
export function judge<Rule extends AllowlistRule>({
  rules,
  asking,
}: {
  rules: readonly Rule[];
  asking: Asking;
}): { rule: Rule | undefined; byGroup: readonly (Rule & { group: string })[] } {
  const fitting = rules.filter((rule) => {
    const given = fields.filter((field) => rule[field] !== undefined);
    return (given.length > 0 || rule.group !== undefined) && given.every((field) => rule[field] === asking[field]);
  });
  return { rule: fitting.find(({ group }) => group === undefined), byGroup: fitting.filter(hasGroup) };
}

function hasGroup<Rule extends AllowlistRule>(rule: Rule): rule is Rule & { group: string } {
  return rule.group !== undefined;
}
