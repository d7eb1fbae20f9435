/** Describes in Markdown the tools that an agent asks about. A person must see what they approve, so the arguments are shown. */
import {
  asksForCredentials,
  readConfirmation,
  readInputMessage,
  type ToolCall,
} from "@sekisho/contracts/a2a/adk-part.ts";
import { formatJson, quoteName } from "@sekisho/runtime/shown-json.ts";

/** More calls or data of one question than a person would read. */
export const maxDescribed = 20;

/** Never shows the arguments of a request for credentials, which hold secrets of the agent. */
export function describeCall(call: ToolCall): string {
  if (asksForCredentials(call)) return "The agent needs credentials for one of its tools.";
  const confirmation = readConfirmation(call);
  if (confirmation === undefined) return readInputMessage(call) ?? describeTool(call);
  const { originalFunctionCall, toolConfirmation } = confirmation;
  return `${describeTool(originalFunctionCall)}\n\n${readHint(toolConfirmation.hint)}`.trim();
}

function describeTool({ name, args }: ToolCall): string {
  const line = `The tool ${quoteName(name)} waits for you.`;
  return args === undefined ? line : `${line} Its arguments:\n\n${formatJson(args)}`;
}

/** The hint of an agent that has none of its own tells a program how to reply. */
export function readHint(hint = ""): string {
  return hint.includes("FunctionResponse") ? "" : hint;
}
