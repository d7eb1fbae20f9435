/** Turns what an agent needs to know into buttons, fields or a free text, and what the person replied into the value for the agent. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import type { FieldValue, QuestionField } from "@sekisho/contracts/question-fields.ts";
import { isJsonObject, truncate } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";

/** A question on which the run waits. `schema` is a JSON Schema of the answer, or undefined. */
export type Ask = {
  kind: "interrupt" | "legacy" | "tool";
  id: string;
  prompt: string;
  schema?: unknown;
  /** The answers to the two buttons that approve and deny, if it is not the schema that says so. */
  decisions?: readonly [unknown, unknown] | undefined;
  expiresAt?: string | undefined;
};

/** `key` is the member of the answer that the field fills; without it, the field is the answer itself. */
export type Input = {
  key: string | undefined;
  field: DistributiveOmit<QuestionField, "id">;
  /** The values of the field's options, in their order. */
  values?: readonly unknown[];
  isDecision?: boolean;
};

type DistributiveOmit<T, K extends string> = T extends unknown ? Omit<T, K> : never;

export type Strings = {
  approve: string;
  deny: string;
  yes: string;
  no: string;
  answer: string;
  wait: string;
};

const english: Strings = {
  ...{ approve: "Approve", deny: "Deny", yes: "Yes", no: "No", answer: "Answer" },
  wait: "I need your answer to go on.",
};
const japanese: Strings = {
  ...{ approve: "承認する", deny: "却下する", yes: "はい", no: "いいえ", answer: "回答" },
  wait: "続けるには回答が必要です。",
};

export function chooseStrings(isJapanese: boolean | undefined): Strings {
  return isJapanese ? japanese : english;
}

/** Kana, which Chinese has not. */
export const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;

const maxLabelLength = 200;
const maxOptions = 100;
const approvalKeys: readonly string[] = ["approved", "accepted", "confirmed"];

const maxFields = 20;
/** Without ids, and with short labels: less than a form may have, so that each of these fits into one. */
const maxInputsBytes = 28 * 1024;

/** False for more than one form can hold. */
export function isFormWithin(fields: readonly object[], maxBytes: number): boolean {
  return fields.length <= maxFields && isJsonWithin({ value: fields, maxBytes });
}

/** Undefined for a schema that no form can fill in; then a person writes a text. */
export function createInputs(ask: Ask, strings: Strings): Input[] | undefined {
  const inputs = listInputs(ask, strings);
  return inputs !== undefined &&
    isFormWithin(
      inputs.map(({ field }) => field),
      maxInputsBytes,
    )
    ? inputs
    : undefined;
}

function listInputs({ schema, decisions }: Ask, strings: Strings): Input[] | undefined {
  const required = true;
  if (decisions !== undefined)
    return [createDecision({ key: undefined, values: decisions, strings })];
  if (!isJsonObject(schema)) return [createText(undefined, strings.answer, required)];
  if (!isJsonObject(schema.properties) || schema.type === "string") {
    const input = createInput({ key: undefined, schema, required, strings });
    return input && [input];
  }
  const properties = Object.entries(schema.properties);
  const requiredKeys = new Set<unknown>(Array.isArray(schema.required) ? schema.required : []);
  const approval = properties.find(
    ([key, each]) => approvalKeys.includes(key) && Object(each).type === "boolean",
  );
  const isApproval = [...requiredKeys].every((key) => key === approval?.[0]);
  if (approval !== undefined && isApproval)
    return [createDecision({ key: approval[0], values: [true, false], strings })];
  const inputs: Input[] = [];
  for (const [key, property] of properties) {
    const isRequired = requiredKeys.has(key);
    const input = createInput({ key, schema: Object(property), required: isRequired, strings });
    if (input !== undefined) inputs.push(input);
    else if (isRequired) return undefined;
  }
  return inputs.length === 0 ? undefined : inputs;
}

function createDecision(request: {
  key: string | undefined;
  values: readonly unknown[];
  strings: Strings;
}): Input {
  const { key, values, strings } = request;
  return { ...createChoice([strings.approve, strings.deny], values), key, isDecision: true };
}

function createText(key: string | undefined, label: string, required: boolean): Input {
  return { key, field: { type: "text", label, required, multiline: true } };
}

/** `label` is set by the caller. */
function createChoice(labels: readonly string[], values: readonly unknown[]): Input {
  const options = labels.map((label, index) => ({ id: String(index), label: toLabel(label) }));
  return { key: undefined, field: { type: "choice", label: "…", required: true, options }, values };
}

/** Never without a visible character, which the host refuses. */
export function toLabel(text: string): string {
  const label = truncate(text.trim(), maxLabelLength);
  return isVisible(label) ? label : "…";
}

type JsonSchema = Record<string, unknown>;

function createInput(request: {
  key: string | undefined;
  schema: JsonSchema;
  required: boolean;
  strings: Strings;
}): Input | undefined {
  const { key, schema, required, strings } = request;
  const { title, description, type, items } = schema;
  const labelText = [title, key, description, strings.answer].find(
    (text) => typeof text === "string" && isVisible(text),
  );
  const label = toLabel(String(labelText));
  const choice = readChoice(schema, strings);
  if (choice !== undefined) return { ...choice, key, field: { ...choice.field, label, required } };
  const itemChoice = type === "array" ? readChoice(Object(items), strings) : undefined;
  if (itemChoice?.field.type === "choice")
    return { ...itemChoice, key, field: { ...itemChoice.field, type: "choices", label, required } };
  if (type === "number" || type === "integer")
    return { key, field: createNumber(schema, label, required) };
  if (type !== "string") return undefined;
  if (schema.format === "date") return { key, field: { type: "date", label, required } };
  return createText(key, label, required);
}

function createNumber(schema: JsonSchema, label: string, required: boolean): Input["field"] {
  const { minimum: min, maximum: max } = schema;
  const isRange = typeof min !== "number" || typeof max !== "number" || min <= max;
  return {
    ...{ type: "number", label, required },
    ...(isRange && typeof min === "number" && { min }),
    ...(isRange && typeof max === "number" && { max }),
  };
}

/** Undefined unless the schema lists what is allowed. */
function readChoice(schema: JsonSchema, strings: Strings): Input | undefined {
  if (schema.type === "boolean") return createChoice([strings.yes, strings.no], [true, false]);
  const alternatives = [schema.oneOf, schema.anyOf].find(Array.isArray);
  const constants: JsonSchema[] | undefined = Array.isArray(schema.enum)
    ? schema.enum.map((value) => ({ const: value }))
    : alternatives?.map((each) => Object(each));
  const isList = constants?.every((each) => Object.hasOwn(each, "const")) === true;
  if (constants === undefined || !isList) return undefined;
  if (constants.length === 0 || constants.length > maxOptions) return undefined;
  const values = constants.map((each) => each.const);
  const labels = constants.map(({ title, const: value }) =>
    typeof title === "string" ? title : typeof value === "string" ? value : JSON.stringify(value),
  );
  return createChoice(labels, values);
}

/** The answer of one field. Undefined for a value that the agent would refuse. */
export function readValue({ field, values = [] }: Input, value: FieldValue): unknown {
  if (field.type === "choice") return values[Number(value)];
  if (field.type === "choices" && Array.isArray(value))
    return value.map((each) => values[Number(each)]);
  return value;
}

const yesWords: readonly string[] = [
  "yes",
  "y",
  "ok",
  "okay",
  "approve",
  "approved",
  "はい",
  "承認",
];
const noWords: readonly string[] = ["no", "n", "deny", "denied", "reject", "いいえ", "却下"];

/**
 * The answer in a text of a person who did not use buttons or fields. Undefined if it is no answer. A text beside a decision is a reason
 * against, where the agent takes one.
 */
export function readTextAnswer(request: {
  ask: Ask;
  inputs: readonly Input[] | undefined;
  text: string;
}): { payload: unknown } | undefined {
  const { ask, inputs, text } = request;
  const object = readObject(text);
  if (inputs === undefined) return { payload: object ?? text };
  const [input] = inputs;
  if (ask.schema !== undefined && input?.key !== undefined && object !== undefined)
    return { payload: object };
  const neededInputs = inputs.filter(({ field }) => field.required);
  const neededInput = inputs.length === 1 ? input : neededInputs[0];
  if (neededInput === undefined || neededInputs.length > 1) return undefined;
  const value = readTextValue(neededInput, text.trim());
  if (value !== undefined) return { payload: wrapValue(neededInput.key, value) };
  const { properties } = Object(ask.schema) as { properties?: { reason?: { type?: unknown } } };
  const { isDecision, key } = neededInput;
  return isDecision && key !== undefined && properties?.reason?.type === "string"
    ? { payload: { [key]: false, reason: text } }
    : undefined;
}

function wrapValue(key: string | undefined, value: unknown) {
  return key === undefined ? value : { [key]: value };
}

function readTextValue({ field, values = [], isDecision }: Input, text: string): unknown {
  const word = text.toLowerCase();
  if (field.type === "choice") {
    const index = findOption(field.options, text);
    if (index !== undefined) return values[index];
    if (!isDecision && typeof values[0] !== "boolean") return undefined;
    if (yesWords.includes(word)) return values[0];
    return noWords.includes(word) ? values[1] : undefined;
  }
  if (field.type === "number")
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  return field.type === "text" || field.type === "date" ? text : undefined;
}

/** Undefined if no label is that text, and if several are, such as those that were too long. */
function findOption(options: readonly { label: string }[], text: string): number | undefined {
  const labels = options.map(({ label }) => label);
  for (const write of [String, (label: string) => label.toLowerCase()]) {
    const [index, ...otherIndices] = labels.flatMap((label, index) =>
      write(label) === write(text) ? [index] : [],
    );
    if (index !== undefined) return otherIndices.length === 0 ? index : undefined;
  }
  return undefined;
}

function readObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
