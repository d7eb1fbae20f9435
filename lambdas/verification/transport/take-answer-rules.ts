/** Reads who may answer a question, and its link to sign in. */
import { answerersSchema, approvalsSchema } from "@sekisho/contracts/answer-rules.ts";
import { optionalField } from "@sekisho/contracts/optional-field.ts";
import { normalizeSignInUrl, signInUrlSchema } from "@sekisho/contracts/sign-in.ts";
import { dropUndefined } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { unanswerableMember } from "../task/task.ts";

const rulesSchema = z.object({
  url: optionalField(signInUrlSchema.transform(normalizeSignInUrl)),
  answerers: optionalField(answerersSchema),
  approvals: optionalField(approvalsSchema),
});

/**
 * Other optional members that break the contract are left out. Without one of these, more people might answer than the agent wants, so
 * the question is marked as one that nobody may answer. A `url` counts only with the kind `auth`.
 */
export function takeAnswerRules(members: Readonly<Record<string, unknown>>) {
  const { url, answerers, approvals, kind } = members;
  const rules = { answerers, approvals, url: kind === "auth" ? url : undefined };
  const { data } = rulesSchema.safeParse(rules);
  return data === undefined ? { [unanswerableMember]: true } : dropUndefined(data);
}
