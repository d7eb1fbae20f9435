/** Asks a person what the agent waits for, and continues the run with the answers. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import type { FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";
import { isJsonObject, isNestedTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { AgentAnswer, TaskUpdate } from "../agent.ts";
import { joinPrompt } from "../question-prompt.ts";
import { createEventError } from "../remote-call.ts";
import {
  type Ask,
  chooseStrings,
  createInputs,
  type Input,
  isFormWithin,
  readTextAnswer,
  readValue,
  type Strings,
  toLabel,
} from "./form.ts";
import { type Continuation, deriveId, type Message } from "./request.ts";

/** Stored with a question. `answers` are those given so far, for the first of the asks. */
export type QuestionState = {
  agUi: 1;
  asks: readonly Ask[];
  answers: readonly { payload: unknown }[];
  /** As many of the asks as the question was about. */
  askedCount?: number;
  isJapanese?: boolean;
  messageId?: string | undefined;
  /** Undefined if they are too large; then only the messages of the task are sent. */
  messages?: readonly Message[] | undefined;
  state?: unknown;
  usage?: Record<string, number> | undefined;
};

const maxOptions = 20;
/** The host takes 32 KiB. */
const maxFormBytes = 31 * 1024;
/** The host's limit, less some room. */
const maxStateBytes = 63 * 1024;

type Question = Extract<TaskUpdate, { type: "question" }>;

/** Asks everything that is open, if it fits into one form, else the first of it. */
export function createQuestion({ state, text }: { state: QuestionState; text: string }): Question {
  const openAsks = state.asks.slice(state.answers.length);
  const strings = chooseStrings(state.isJapanese);
  const wholeForm = createForm(openAsks, strings);
  const asks = wholeForm === undefined ? openAsks.slice(0, 1) : openAsks;
  const form = wholeForm ?? createForm(asks, strings);
  const prompts = asks.map(({ prompt }, index) => {
    const shownPrompt = isVisible(prompt) ? prompt : strings.wait;
    return asks.length === 1 ? shownPrompt : `${index + 1}. ${shownPrompt}`;
  });
  const question = {
    type: "question" as const,
    prompt: joinPrompt({ text, prompt: prompts.join("\n\n") }),
    state: fitState({ ...state, askedCount: asks.length }),
  };
  if (form === undefined) return question;
  const [field, ...otherFields] = form;
  if (field === undefined || otherFields.length > 0) return { ...question, fields: form };
  if (field.type === "choice" && field.required && field.options.length <= maxOptions)
    return { ...question, options: field.options };
  const isFreeText = field.type === "text" && asks.every((ask) => hasNoKey(ask, strings));
  return isFreeText ? question : { ...question, fields: form };
}

/** True if a text is the whole answer. */
function hasNoKey(ask: Ask, strings: Strings): boolean {
  const [input] = createInputs(ask, strings) ?? [];
  return input?.key === undefined;
}

/** Undefined if one of the asks needs a text of another kind, or if they are too many. */
function createForm(asks: readonly Ask[], strings: Strings): QuestionField[] | undefined {
  const fields: QuestionField[] = [];
  for (const [index, ask] of asks.entries()) {
    const inputs = createInputs(ask, strings);
    if (inputs === undefined) return undefined;
    for (const [inputIndex, { key, field, isDecision }] of inputs.entries()) {
      const isNamedByPrompt = key === undefined || isDecision;
      const number = asks.length === 1 ? "" : `${index + 1}. `;
      const name = isVisible(ask.prompt) ? ask.prompt : strings.answer;
      const label = isNamedByPrompt ? toLabel(number + name) : field.label;
      fields.push({ ...field, label, id: createFieldId(index, inputIndex) });
    }
  }
  return isFormWithin(fields, maxFormBytes) ? fields : undefined;
}

function createFieldId(askIndex: number, inputIndex: number): string {
  return `${askIndex}.${inputIndex}`;
}

/** Leaves out what can be done without, if the state is too large. */
function fitState(state: QuestionState): QuestionState {
  const { messages: _messages, ...smallState } = state;
  const { state: _state, ...smallestState } = smallState;
  const fittingState = [state, smallState, smallestState].find(
    (value) => !isNestedTooDeep(value) && isJsonWithin({ value, maxBytes: maxStateBytes }),
  );
  if (fittingState === undefined)
    throw createEventError("RUN_FINISHED.outcome.interrupts: too large");
  return fittingState;
}

/** Undefined if the question was one of another agent. */
export function readQuestionState(value: unknown): QuestionState | undefined {
  // The host stores what `createQuestion` wrote.
  return isJsonObject(value) && value.agUi === 1 ? (value as QuestionState) : undefined;
}

/** The state with what the person answered. Nothing is added if the reply is no answer to the question, so that it is asked again. */
export function addAnswer({
  state,
  answer,
}: {
  state: QuestionState;
  answer: AgentAnswer;
}): QuestionState {
  const { option_id: optionId, fields, text } = answer;
  const { asks, answers, askedCount = 1, isJapanese } = state;
  const strings = chooseStrings(isJapanese);
  const askedAsks = asks.slice(answers.length, answers.length + askedCount);
  const [firstAsk] = askedAsks;
  if (firstAsk === undefined) return state;
  const inputs = createInputs(firstAsk, strings);
  if (fields !== undefined) {
    const newAnswers = askedAsks.map((ask, index) => ({
      payload: readFields({ inputs: createInputs(ask, strings) ?? [], fields, index }),
    }));
    return { ...state, answers: [...answers, ...newAnswers] };
  }
  const newAnswer =
    optionId === undefined
      ? readTextAnswer({ ask: firstAsk, inputs, text })
      : readOption(inputs?.[0], optionId);
  return newAnswer === undefined ? state : { ...state, answers: [...answers, newAnswer] };
}

function readOption(input: Input | undefined, optionId: string): { payload: unknown } | undefined {
  if (input === undefined) return undefined;
  const value = readValue(input, optionId);
  return { payload: input.key === undefined ? value : { [input.key]: value } };
}

function readFields(request: {
  inputs: readonly Input[];
  fields: FieldValues;
  index: number;
}): unknown {
  const { inputs, fields, index } = request;
  const entries = inputs.flatMap((input, inputIndex) => {
    const value = fields[createFieldId(index, inputIndex)];
    return value === undefined ? [] : [[input.key ?? "", readValue(input, value)] as const];
  });
  const [firstEntry] = entries;
  return inputs[0]?.key === undefined ? firstEntry?.[1] : Object.fromEntries(entries);
}

export function isAnswered({ asks, answers }: QuestionState): boolean {
  return answers.length >= asks.length;
}

/** Answers every interrupt. One that has expired may only be canceled. */
export function createContinuation(state: QuestionState, nowMs: number): Continuation {
  const { asks, answers, messages = [], state: sharedState = {} } = state;
  const entries = asks.map(({ kind, id, expiresAt }, index) => {
    const { payload } = answers[index] ?? {};
    const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= nowMs;
    return { kind, id, payload, isExpired };
  });
  const toolMessages = entries
    .filter(({ kind }) => kind === "tool")
    .map(({ id, payload }) => ({
      ...{ id: deriveId(["tool", id]), role: "tool", toolCallId: id },
      content: typeof payload === "string" ? payload : JSON.stringify(payload),
    }));
  const resume = entries
    .filter(({ kind }) => kind !== "tool")
    .map(({ id, payload, isExpired }) =>
      isExpired
        ? { interruptId: id, status: "cancelled" as const }
        : { interruptId: id, status: "resolved" as const, payload },
    );
  const legacyEntry = entries.find(({ kind, isExpired }) => kind === "legacy" && !isExpired);
  return {
    messageId: state.messageId,
    furtherMessages: [...messages, ...toolMessages],
    state: sharedState,
    ...(resume.length > 0 && { resume }),
    ...(legacyEntry && { command: { resume: legacyEntry.payload } }),
  };
}
