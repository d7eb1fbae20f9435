/** What a message would show, as far as Slack refuses it: half characters, and nothing that anybody could see. */
import { jsonOf } from "./reply.ts";

const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;

/** `blocks` is JSON. Slack's own errors; undefined where a person sees something. */
export function refusalOfTexts({
  text = "",
  blocks,
}: {
  text?: string | undefined;
  blocks?: string | undefined;
}): "invalid_arguments" | "no_text" | undefined {
  const inBlocks = textsIn(blocks === undefined ? [] : jsonOf(blocks));
  const shown = inBlocks.length === 0 ? [text] : inBlocks;
  if (![text, ...inBlocks].every((each) => each.isWellFormed())) return "invalid_arguments";
  return shown.some((each) => visible.test(each)) ? undefined : "no_text";
}

function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "text" && typeof member === "string" ? [member] : textsIn(member),
  );
}
