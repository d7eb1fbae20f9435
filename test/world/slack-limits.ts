/** The content that Slack refuses, with the errors of the real adapter. */

import { parseBlocks } from "@sekisho/local/fake-slack/blocks.ts";
import type { MessageContent, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { toNamedError, toSlackError } from "@sekisho/verification/slack/api/web-call.ts";

const maxTextLength = 40_000;
const maxPieceLength = 12_000;

/** Throws a SlackError where Slack, or the encoding on the way to it, refuses the content. */
export function requireContent({ text, blocks = [] }: MessageContent): void {
  requireEncodable(text);
  if (text === "" && blocks.length === 0) throw refusal("no_text");
  if (text.length > maxTextLength) throw refusal("msg_too_long");
  // Blocks go as JSON, which escapes half a surrogate pair; Slack then does not know the character.
  const json = JSON.stringify(blocks);
  if (/\\ud[89a-f]/i.test(json)) throw refusal("invalid_blocks");
  if (
    blocks.length > 0 &&
    "problem" in parseBlocks({ json: JSON.parse(json), refusesMarkdown: false })
  ) {
    throw refusal("invalid_blocks");
  }
}

/** The same of a piece of a stream. */
export function requirePiece(markdown: string): void {
  requireEncodable(markdown);
  if (markdown === "") throw refusal("no_text");
  if (markdown.length > maxPieceLength) throw refusal("msg_too_long");
}

/** Calls are forms. */
function requireEncodable(text: string): void {
  try {
    encodeURIComponent(text);
  } catch (error) {
    throw toSlackError(error);
  }
}

export function refusal(error: string): SlackError {
  return toNamedError(error);
}
