/**
 * Describes in Markdown the tools that an agent asks about. A person must see what they approve, so the arguments are shown: as JSON in a code
 * block that nothing in them can leave, with every character that could hide or reorder others written as its number.
 */
import {
  asksForCredentials,
  readConfirmation,
  readInputMessage,
  type ToolCall,
} from "@sekisho/contracts/a2a/adk-part.ts";
import {
  escapeActiveCharacters,
  sanitizeLine,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";

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

const maxNameLength = 100;

/** Returns a name as code of Markdown, on one line. */
export function quoteName(name: string): string {
  return `\`${truncate(sanitizeLine(name), maxNameLength).replaceAll("`", "'")}\``;
}

/** Longer data is not indented, and of data that is still longer only the beginning is shown. */
const maxShownLength = 3000;

/** Returns a code block of Markdown. Indented, a megabyte of deep data would take a hundred. */
export function formatJson(value: unknown): string {
  const json = JSON.stringify(value);
  const shownJson = escapeActiveCharacters(json.slice(0, maxShownLength + 1));
  if (shownJson.length > maxShownLength) {
    return `${codeBlock(shownJson.slice(0, maxShownLength).toWellFormed())}\n\nThe data is longer than what is shown.`;
  }
  const indentedJson = escapeActiveCharacters(JSON.stringify(value, undefined, 2));
  return codeBlock(indentedJson.length > maxShownLength ? shownJson : indentedJson);
}

function codeBlock(json: string): string {
  return `\`\`\`json\n${json}\n\`\`\``;
}
