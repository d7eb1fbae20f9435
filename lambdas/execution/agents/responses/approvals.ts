/** Asks a person about calls of tools that need an approval, and brings the decision to the endpoint. */
import { formatJson, quoteName } from "@sekisho/runtime/shown-json.ts";
import {
  isJsonObject,
  isNestedTooDeep,
  parseJson,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import type { AgentAnswer, TaskUpdate } from "../agent.ts";
import { isId, isText, type OutputItem } from "./reader.ts";
import type { InputItem } from "./request.ts";

/** Stored with a question: the response that waits, the calls that it wants to make, and the tokens that it took. */
export type ApprovalState = {
  responses: 1;
  responseId: string;
  requestIds: readonly string[];
  usage?: Usage | undefined;
};

type Usage = Record<string, unknown>;

type Question = Extract<TaskUpdate, { type: "question" }>;

/** Far more than a model calls at once. */
const maxRequests = 30;
const maxPromptLength = 9000;

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const english = {
  ask: "May I use these tools?",
  unshown: "The arguments are too long to be shown.",
  approve: "Approve",
  deny: "Deny",
};
const japanese = {
  ask: "次のツールを使ってもよいですか。",
  unshown: "引数は長すぎるため表示できません。",
  approve: "承認する",
  deny: "却下する",
};

/** Undefined if nothing waits for an approval. A person must see what they approve, so the arguments of the tools are shown. */
export function createApprovalQuestion(request: {
  items: readonly OutputItem[];
  responseId: string | undefined;
  text: string;
  /** The person's message, whose language the question has. */
  message: string;
  usage: Usage | undefined;
}): Question | undefined {
  const { items, responseId, text, message, usage } = request;
  const requests = items
    .filter(({ type }) => type === "mcp_approval_request")
    .slice(0, maxRequests);
  const requestIds = [...new Set(requests.map(({ id }) => id).filter(isId))];
  if (requestIds.length === 0 || responseId === undefined) return undefined;
  const strings = kana.test(message + text) ? japanese : english;
  const ask = truncate(`${strings.ask}\n\n${describeTools(requests, strings)}`, maxPromptLength);
  const shownText = truncate(text.trim(), maxPromptLength - ask.length);
  const state: ApprovalState = {
    ...{ responses: 1, responseId, requestIds },
    ...(usage && { usage: addUsage({}, usage) }),
  };
  return {
    type: "question",
    prompt: shownText === "" ? ask : `${shownText}\n\n${ask}`,
    options: [
      { id: "approve", label: strings.approve },
      { id: "deny", label: strings.deny },
    ],
    state,
  };
}

/** The arguments of all tools, as far as they fit, and the names of the tools otherwise. */
function describeTools(requests: readonly OutputItem[], strings: typeof english): string {
  let lengthLeft = maxPromptLength - requests.length * maxNameLineLength;
  const tools = requests.map((request) => {
    const names = [request.name, request.server_label].filter(isText).map(quoteName).join(", ");
    const shownArguments = showArguments(request.arguments);
    lengthLeft -= shownArguments.length;
    const details = lengthLeft < 0 ? strings.unshown : shownArguments;
    return details === "" ? names : `${names}\n\n${details}`;
  });
  return [...new Set(tools)].join("\n\n");
}

/** Two names of 100 characters, the sentence in place of the arguments, and what is between them. */
const maxNameLineLength = 260;

/** The arguments are the text of JSON. What cannot be read is shown as that text. */
function showArguments(json: unknown): string {
  if (!isText(json) || json.trim() === "") return "";
  const value = parseJson(json);
  return formatJson(value === undefined || isNestedTooDeep(value) ? json : value);
}

const countNames: readonly string[] = ["input_tokens", "output_tokens", "total_tokens"];

/** The tokens of several responses of one task. */
export function addUsage(earlierUsage: Usage, usage: Usage): Usage {
  const sums = countNames.map((name) => [
    name,
    Number(earlierUsage[name] ?? 0) + Number(usage[name] ?? 0),
  ]);
  return Object.fromEntries(sums);
}

/** Undefined if the question was one of another agent. */
export function readApprovalState(value: unknown): ApprovalState | undefined {
  // The host stores what `createApprovalQuestion` wrote.
  return isJsonObject(value) && value.responses === 1
    ? (value as unknown as ApprovalState)
    : undefined;
}

/** A reply in words is a refusal with that reason. */
export function createDecisions(
  { requestIds }: ApprovalState,
  { option_id: optionId, text }: AgentAnswer,
): InputItem[] {
  const reason = optionId === undefined && text.trim() !== "" ? { reason: text } : {};
  return requestIds.map((id) => ({
    type: "mcp_approval_response",
    approval_request_id: id,
    approve: optionId === "approve",
    ...reason,
  }));
}
