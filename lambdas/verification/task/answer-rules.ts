/**
 * Who may answer a question, as far as its record says it. The agent's `answerers` and the destination's `questions.answerBy` both count,
 * so an agent narrows what the operator allows and never widens it. `gate/gate.ts` decides about a person.
 */
import { type Answerers, findRuleProblem } from "@sekisho/contracts/answer-rules.ts";
import type { InputRequiredResult } from "./events.ts";
import {
  type AgentQuestion,
  type AnswerBy,
  type Approval,
  type GivenAnswer,
  type TaskOutcome,
  unanswerableMember,
} from "./task.ts";
import { failedOutcome } from "./transition.ts";

/** A question with rules that nobody could follow is not asked, so that its task does not wait until it expires. */
export const unanswerableOutcome: TaskOutcome = {
  ...failedOutcome({ reason: "invalid_response", lost: false }),
  unanswerable: true,
};

/** Returns the part of the question's record that says who may answer, or undefined if nobody could. */
export function readAnswerRules(
  result: InputRequiredResult,
  answerBy: AnswerBy,
): Pick<AgentQuestion, "signIn" | "answerers" | "answerBy" | "approvals"> | undefined {
  const { url, kind, fields, answerers, approvals = 1 } = result;
  const options = fields === undefined ? result.options : [];
  const rules = { url: kind === "auth" ? url : undefined, kind, options, answerers, approvals };
  const isBroken =
    result[unanswerableMember] === true ||
    findRuleProblem(rules) !== undefined ||
    (approvals > 1 && !hasButtonForEach(options));
  if (isBroken || excludesAll({ answerers, approvals, answerBy })) return undefined;
  const given = answerers === undefined ? {} : { answerers };
  if (rules.url !== undefined) return { signIn: { url: rules.url }, ...given };
  if (answerers === undefined && approvals === 1) return {};
  return {
    ...given,
    answerBy,
    ...(approvals > 1 && { approvals: { needed: approvals, given: [] } }),
  };
}

/** More buttons than Slack shows would hide some choices. */
const maxButtons = 25;

/** True if each option has its button, and an id by which the agent tells it from the others: one may need several people, another one. */
function hasButtonForEach(options: InputRequiredResult["options"] = []): boolean {
  return (
    options.length <= maxButtons && new Set(options.map(({ id }) => id)).size === options.length
  );
}

/** Only one person may answer, and it is the one who may not, or there must be several. Who is in a group is not known here. */
function excludesAll(rules: {
  answerers: Answerers | undefined;
  approvals: number;
  answerBy: AnswerBy;
}): boolean {
  const isForAsker = rules.answerBy === "asker" || rules.answerers === "asker";
  return isForAsker && (rules.answerers === "not-asker" || rules.approvals > 1);
}

/** True if words in the thread are no answer: a link must be followed, or people must choose the same option. */
export function needsButtons({ signIn, approvals }: AgentQuestion): boolean {
  return signIn !== undefined || approvals !== undefined;
}

/** The question without its link to sign in. */
export function eraseLink(question: AgentQuestion): AgentQuestion {
  return question.signIn === undefined ? question : { ...question, signIn: {} };
}

/**
 * Adds a person's choice to those before. `isComplete`: enough people have chosen the same option. A person counts once, with the latest
 * choice: a repeated or late delivery of an earlier one changes nothing, which is undefined.
 */
export function addApproval(
  { needed, given }: NonNullable<AgentQuestion["approvals"]>,
  { user, atMs, option }: Approval,
): { given: Approval[]; approvedBy: string[]; isComplete: boolean } | undefined {
  const earlier = given.find((approval) => approval.user === user);
  if (earlier !== undefined && (earlier.option === option || earlier.atMs >= atMs))
    return undefined;
  const all = [...given.filter((approval) => approval !== earlier), { user, atMs, option }];
  const approvedBy = all.filter((approval) => approval.option === option).map((one) => one.user);
  return { given: all, approvedBy, isComplete: approvedBy.length >= needed };
}

/** True if one person alone may choose the option: most often, it says no. */
export function isDecidedAlone({ options }: AgentQuestion, option: number): boolean {
  return options[option]?.style === "danger";
}

/** True if the answer is of the form that the question needs. */
export function fitsQuestion(question: AgentQuestion, answer: GivenAnswer): boolean {
  if (question.signIn !== undefined) return answer.signedIn === true;
  if (question.approvals !== undefined)
    return answer.option !== undefined && answer.option < question.options.length;
  return answer.signedIn === undefined;
}
