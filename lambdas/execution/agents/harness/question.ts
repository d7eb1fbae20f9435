/** Asks people what an inline function of the harness asks, and gives the harness the results. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { isJsonObject, isNestedTooDeep, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { AgentAnswer, TaskUpdate } from "../agent.ts";
import { createUnreadable, toQuestion } from "../http-answer.ts";
import { joinPrompt } from "../question-prompt.ts";
import { createEventError, RemoteError } from "../remote-call.ts";
import type { OpenCall, Usage } from "./events.ts";

type FunctionCall = { toolUseId: string; name: string; input: unknown };

/** Stored with a question. `replies` are those to the first questions of the calls. */
export type QuestionState = {
  harness: 1;
  calls: readonly FunctionCall[];
  replies: readonly string[];
  usage?: Usage | undefined;
};

const maxCalls = 20;
/** The host's limit, less some room. */
const maxStateBytes = 63 * 1024;
const noResult = "This function is not available here.";

/** Throws a RemoteError if none of the calls is a question. */
export function createState(end: {
  openCalls: readonly OpenCall[];
  usage: Usage | undefined;
}): QuestionState {
  const { openCalls, usage } = end;
  if (openCalls.some(({ input }) => input.length > maxStateBytes)) throw createTooLarge();
  const calls = openCalls.map(({ toolUseId, name, input }) => {
    // Nothing is written for a function without parameters.
    const value = input.trim() === "" ? {} : parseJson(input);
    if (value === undefined)
      throw createEventError("contentBlockDelta.delta.toolUse.input: not JSON");
    return { toolUseId, name, input: value };
  });
  const state: QuestionState = { harness: 1, calls, replies: [], ...(usage && { usage }) };
  const isTooLarge =
    calls.length > maxCalls ||
    isNestedTooDeep(state) ||
    !isJsonWithin({ value: state, maxBytes: maxStateBytes });
  if (isTooLarge) throw createTooLarge();
  if (listQuestions(state).length === 0)
    throw createUnreadable(
      "the harness stops for a function whose input has no text in question, prompt, message, text or description",
    );
  return state;
}

function createTooLarge(): RemoteError {
  return createUnreadable("the calls of inline functions are too large");
}

function listQuestions({ calls }: QuestionState) {
  return calls.flatMap(({ input }) => toQuestion(input) ?? []);
}

/** Undefined if all questions have a reply. `text` is what the agent wrote before it asked. */
export function createQuestion(
  state: QuestionState,
  text = "",
): Extract<TaskUpdate, { type: "question" }> | undefined {
  const question = listQuestions(state)[state.replies.length];
  return question && { ...question, prompt: joinPrompt({ text, prompt: question.prompt }), state };
}

/** Undefined before the first question. Throws a RemoteError if the question was one of another agent. */
export function readState(answer: AgentAnswer | undefined): QuestionState | undefined {
  if (answer === undefined) return undefined;
  const { state, option_id: optionId, text } = answer;
  if (!isJsonObject(state) || state.harness !== 1)
    throw new RemoteError("the question is one of another agent", { lost: false });
  // The host stores what `createQuestion` wrote.
  const questionState = state as QuestionState;
  const reply = optionId ?? text;
  // Without a text, the question is asked again.
  if (!isVisible(reply)) return questionState;
  return { ...questionState, replies: [...questionState.replies, reply] };
}

/** The harness takes the calls again with their results, and each call needs one. */
export function createResultMessages({ calls, replies }: QuestionState) {
  const openReplies = [...replies];
  const results = calls.map(({ toolUseId, input }) => {
    const reply = toQuestion(input) && openReplies.shift();
    return {
      toolResult: {
        toolUseId,
        content: [{ text: reply ?? noResult }],
        status: reply === undefined ? "error" : "success",
      },
    };
  });
  return [
    { role: "assistant", content: calls.map((toolUse) => ({ toolUse })) },
    { role: "user", content: results },
  ];
}
