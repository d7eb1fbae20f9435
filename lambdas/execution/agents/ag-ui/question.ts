/** Asks a person what the agent waits for, and continues the run with the answers. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import type { FieldValues, QuestionField } from "@sekisho/contracts/question-fields.ts";
import { isJsonObject, truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { AgentAnswer, TaskUpdate } from "../agent.ts";
import { createEventError } from "./events.ts";
import {
  type Ask,
  chooseStrings,
  createInputs,
  type Input,
  readTextAnswer,
  readValue,
  type Strings,
} from "./form.ts";
import { type Continuation, deriveId, type Message } from "./request.ts";

/** Stored with a question. `answers` are those given so far, for the first of the asks. */
export type QuestionState = {
  agUi: 1;
  asks: readonly Ask[];
  answers: readonly { payload: unknown }[];
  /** Undefined if they are too large; then only the messages of the task are sent. */
  messages?: readonly Message[] | undefined;
  state?: unknown;
  usage?: Record<string, number> | undefined;
};

const maxFields = 20;
const maxOptions = 20;
const maxFieldsBytes = 30 * 1024;
const maxPromptLength = 9000;
/** The host's limit, less some room. */
const maxStateBytes = 63 * 1024;

type Question = Extract<TaskUpdate, { type: "question" }>;

/** Asks everything that is open, in one form, if it fits into one. */
export function createQuestion({ state, text }: { state: QuestionState; text: string }): Question {
  const openAsks = state.asks.slice(state.answers.length);
  const strings = chooseStrings(text + openAsks.map(({ prompt }) => prompt).join(""));
  const form = createForm(openAsks, strings);
  const [firstAsk] = openAsks;
  const askedAsks = form === undefined ? openAsks.slice(0, 1) : openAsks;
  const prompts = askedAsks.map(({ prompt }, index) => {
    const shownPrompt = prompt.trim() === "" ? strings.wait : prompt;
    return askedAsks.length === 1 ? shownPrompt : `${index + 1}. ${shownPrompt}`;
  });
  const prompt = truncate(
    [text, ...prompts].filter((each) => each.trim() !== "").join("\n\n"),
    maxPromptLength,
  );
  const question = { type: "question" as const, prompt, state: fitState(state) };
  const input = readOnlyInput(firstAsk, openAsks, strings);
  if (input?.field.type === "choice" && input.field.options.length <= maxOptions)
    return { ...question, options: input.field.options };
  if (input !== undefined && input.field.type === "text" && input.key === undefined)
    return question;
  return form === undefined ? question : { ...question, fields: form };
}

/** The input of a question that has one only. */
function readOnlyInput(
  ask: Ask | undefined,
  openAsks: readonly Ask[],
  strings: Strings,
): Input | undefined {
  const inputs = ask && createInputs(ask, strings);
  return openAsks.length === 1 && inputs?.length === 1 ? inputs[0] : undefined;
}

/** Undefined if one of the asks needs a text of another kind, or if they are too many. */
function createForm(asks: readonly Ask[], strings: Strings): QuestionField[] | undefined {
  const fields: QuestionField[] = [];
  for (const [index, ask] of asks.entries()) {
    const inputs = createInputs(ask, strings);
    if (inputs === undefined) return undefined;
    for (const [inputIndex, { key, field, isDecision }] of inputs.entries()) {
      const isNamedByPrompt = key === undefined || isDecision;
      const label = isNamedByPrompt
        ? truncate(
            `${asks.length === 1 ? "" : `${index + 1}. `}${ask.prompt || strings.answer}`,
            200,
          )
        : field.label;
      fields.push({ ...field, label, id: createFieldId(index, inputIndex) });
    }
  }
  return fields.length > maxFields || !isJsonWithin({ value: fields, maxBytes: maxFieldsBytes })
    ? undefined
    : fields;
}

function createFieldId(askIndex: number, inputIndex: number): string {
  return `${askIndex}.${inputIndex}`;
}

/** Leaves out what can be done without, if the state is too large. */
function fitState(state: QuestionState): QuestionState {
  const { messages: _messages, ...smallState } = state;
  const { state: _state, ...smallestState } = smallState;
  const fittingState = [state, smallState, smallestState].find((value) =>
    isJsonWithin({ value, maxBytes: maxStateBytes }),
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
  const openAsks = state.asks.slice(state.answers.length);
  const strings = chooseStrings(openAsks.map(({ prompt }) => prompt).join(""));
  const [firstAsk] = openAsks;
  if (firstAsk === undefined) return state;
  const inputs = createInputs(firstAsk, strings);
  if (fields !== undefined) {
    const newAnswers = openAsks.map((ask, index) => ({
      payload: readFields({ inputs: createInputs(ask, strings) ?? [], fields, index }),
    }));
    return { ...state, answers: [...state.answers, ...newAnswers] };
  }
  const newAnswer =
    optionId === undefined
      ? readTextAnswer({ ask: firstAsk, inputs, text })
      : readOption(inputs?.[0], optionId);
  return newAnswer === undefined ? state : { ...state, answers: [...state.answers, newAnswer] };
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
    furtherMessages: [...messages, ...toolMessages],
    state: sharedState,
    ...(resume.length > 0 && { resume }),
    ...(legacyEntry && { command: { resume: legacyEntry.payload } }),
  };
}
