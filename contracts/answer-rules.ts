/** Who may answer a question, and how many people must agree. An agent narrows what the operator allows with it, and never widens it. */
import * as z from "zod";

const maxApprovals = 10;

/** `anyone` and `asker` are as in `questions.answerBy`. A group is one of Slack. Unknown members are refused, because they may narrow. */
export const answerersSchema = z.union([
  z.enum(["asker", "anyone", "not-asker"]),
  z.strictObject({ group: z.string().regex(/^S[A-Z0-9]{1,63}$/) }),
]);
export type Answerers = z.infer<typeof answerersSchema>;

/** So many different people must choose the same option. */
export const approvalsSchema = z.int().min(1).max(maxApprovals);

/** The ids of the people who chose the option, in their order. */
export const approvedBySchema = z.array(z.string().min(1).max(64)).min(1).max(maxApprovals);

/** The rules of a question. */
export type AnswerRules = {
  url?: string | undefined;
  kind?: "auth" | undefined;
  options?: readonly { id?: unknown; style?: unknown }[] | undefined;
  answerers?: Answerers | undefined;
  approvals?: number | undefined;
};

/** Why nobody could answer a question with these rules, for the author of the agent. `path` is the member to change. */
export function findRuleProblem({
  url,
  kind,
  options = [],
  answerers,
  approvals = 1,
}: AnswerRules): { path: "url" | "answerers" | "approvals"; message: string } | undefined {
  if (url !== undefined && kind !== "auth")
    return { path: "url", message: 'is only for questions of `kind: "auth"`' };
  if (url !== undefined && (answerers ?? "asker") !== "asker")
    return { path: "answerers", message: "must be the asker if there is a `url`" };
  if (approvals > 1 && (kind !== undefined || options.length === 0))
    return { path: "approvals", message: "needs `options` and no `kind`" };
  if (approvals > 1 && options.every(({ style }) => style === "danger"))
    return {
      path: "approvals",
      message:
        "needs an option whose `style` is not `danger`, because one person alone can choose a `danger`",
    };
  if (approvals > 1 && answerers === "asker")
    return { path: "approvals", message: "must be 1 if only the asker may answer" };
  return undefined;
}
