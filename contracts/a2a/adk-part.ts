/**
 * The parts that agents of Google's Agent Development Kit (ADK) mark in `metadata`: thoughts of the model, and calls and results of tools. The
 * marks are those of `part_converter_utils.ts` in google/adk-js and of `part_converter.py` in google/adk-python.
 */
import * as z from "zod";
import type { QuestionOption } from "../methods.ts";
import type { Part } from "./part.ts";

const thoughtKey = "adk_thought";
const typeKey = "adk_type";
/** Marks the call of a tool that waits for a reply. */
const longRunningKey = "adk_is_long_running";

export const adkKeys = [thoughtKey, typeKey, longRunningKey];

/** True for a text that the model wrote for itself on the way to its answer. */
export function isThought({ metadata }: Part): boolean {
  return metadata?.[thoughtKey] === true;
}

const toolTypes: readonly unknown[] = [
  "function_call",
  "function_response",
  "executable_code",
  "code_execution_result",
];

/** True for a record of what the agent did with its tools. It is no part of the answer. */
export function isToolRecord({ metadata }: Part): boolean {
  return toolTypes.includes(metadata?.[typeKey]);
}

/** True for the call of a tool, which in a question is what the agent waits for. */
export function isToolCall({ metadata }: Part): boolean {
  return metadata?.[typeKey] === "function_call";
}

const callSchema = z.object({
  id: z.string().min(1).optional().catch(undefined),
  name: z.string().min(1),
  args: z.unknown().optional(),
});
/** `args` are unchecked. */
export type ToolCall = z.output<typeof callSchema>;

/** Lists the calls that wait for a reply, in a message that asks. */
export function listOpenCalls(parts: readonly Part[]): ToolCall[] {
  const calls = parts.filter(isToolCall);
  // ADK does not mark a call for which it asks again.
  const longRunningCalls = calls.filter(({ metadata }) => metadata?.[longRunningKey] === true);
  return (longRunningCalls.length > 0 ? longRunningCalls : calls).flatMap(
    ({ data }) => callSchema.safeParse(data).data ?? [],
  );
}

export function asksForCredentials({ name }: ToolCall): boolean {
  return name === "adk_request_credential";
}

const confirmationName = "adk_request_confirmation";

/** The choices of a single request for approval. Each id names the call, because the reply must, and nothing else remembers it. */
export function createApprovalOptions([call, ...others]: readonly ToolCall[]):
  | QuestionOption[]
  | undefined {
  if (call?.name !== confirmationName || call.id === undefined || others.length > 0)
    return undefined;
  return [
    { id: `adk-approve:${call.id}`, label: "Approve", style: "primary" },
    { id: `adk-deny:${call.id}`, label: "Deny", style: "danger" },
  ];
}

/** The reply to a request for approval, which ADK reads from data only. Undefined for other choices. */
export function createApprovalPart(optionId: string): Part | undefined {
  const [, verdict, id] = /^adk-(approve|deny):(.+)$/.exec(optionId) ?? [];
  if (verdict === undefined) return undefined;
  const response = { confirmed: verdict === "approve" };
  return {
    data: { id, name: confirmationName, response },
    metadata: { [typeKey]: "function_response" },
  };
}

const confirmationSchema = z.object({
  originalFunctionCall: callSchema,
  toolConfirmation: z.object({ hint: z.string().optional() }).catch({}),
});
const inputSchema = z.object({ message: z.string().min(1) });

/** The tool that a request for approval is about, with the hint of the agent. */
export function readConfirmation({ name, args }: ToolCall) {
  return name === confirmationName ? confirmationSchema.safeParse(args).data : undefined;
}

/** The words of a request for input. */
export function readInputMessage({ name, args }: ToolCall): string | undefined {
  return name === "adk_request_input" ? inputSchema.safeParse(args).data?.message : undefined;
}
