/** Who may ask: the configuration's rules, default deny. */
import type { AllowlistRule } from "../../shared/config/schema.ts";
import type { AskedMessage } from "../task/messages.ts";

const fields = ["team", "channel", "user"] as const;

/** Whether every given field of one of the rules matches. No rules: nobody. A rule without fields fits nobody either. */
export function isAllowed({ rules, message }: { rules: readonly AllowlistRule[]; message: AskedMessage }): boolean {
  return rules.some((rule) => {
    const given = fields.filter((field) => rule[field] !== undefined);
    return given.length > 0 && given.every((field) => rule[field] === message[field]);
  });
}
