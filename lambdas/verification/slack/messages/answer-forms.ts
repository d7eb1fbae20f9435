/** The two forms of an answer's messages: blocks, and mrkdwn where Slack has refused blocks. */
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { mrkdwnBlocks } from "../markdown/mrkdwn.ts";
import { cutBlocks, maxMrkdwnLength, splitBlocks } from "../markdown/split.ts";
import { createTextBlock, joinBlocks, type TextBlock } from "../markdown/text-blocks.ts";
import { hasVisibleMrkdwn, hasVisibleText } from "../markdown/visible-text.ts";
import type { AnswerText } from "./answer-text.ts";
import { context, cut, markdownBlock, removeEmpty, section } from "./blocks.ts";

/** Lines of mrkdwn and blocks around the text. Messages in mrkdwn do not show the blocks `below`. */
type MessageEnd = { notes: readonly string[]; reference: string; below: readonly SlackBlock[] };

export type AnswerForm = {
  /** Returns the messages of the text, with the line `aboveLine` above it. Each shows something. */
  createMessages(text: AnswerText, aboveLine: string): MessageContent[];
  /** Adds the end to the last message. Without messages, the end is a message of its own. */
  addEnd(messages: readonly MessageContent[], end: MessageEnd): MessageContent[];
};

export const blocksForm: AnswerForm = {
  createMessages({ markdown, parts, mrkdwn }, aboveLine) {
    return parts.filter(hasVisibleText).map((part, index) => {
      const above = index === 0 ? removeEmpty([aboveLine]) : [];
      const partMrkdwn = part.blocks === markdown.blocks ? mrkdwn : mrkdwnBlocks(part);
      return {
        text: cutBlocks({
          blocks: addAbove(above, partMrkdwn),
          maxLength: maxMrkdwnLength,
        }),
        blocks: [...above.map(context), markdownBlock(part.text)],
      };
    });
  },
  addEnd(messages, { notes, reference, below }) {
    const { text, blocks = [] } = messages.at(-1) ?? { text: notes.join("\n") };
    const lastBlocks = [...blocks, ...notes.map(section)];
    return [...messages.slice(0, -1), withBlocks({ text, blocks: lastBlocks, reference, below })];
  },
};

export const mrkdwnForm: AnswerForm = {
  createMessages({ markdown, mrkdwn }, aboveLine) {
    if (!hasVisibleText(markdown) || !isVisible(joinBlocks(mrkdwn))) return [];
    const blocks = addAbove(removeEmpty([aboveLine]), mrkdwn);
    const parts = [...splitBlocks({ blocks, maxLength: maxMrkdwnLength })];
    const texts = parts.map(({ text }) => ({ text }));
    const visibleTexts = texts.filter(({ text }) => hasVisibleMrkdwn(text));
    // An answer of symbols alone, such as a check mark, is still shown.
    return visibleTexts.length > 0 ? visibleTexts : texts;
  },
  addEnd(messages, { notes, reference }) {
    const end = withReference({ text: notes.join("\n"), reference }).text;
    const lastText = messages.at(-1)?.text ?? "";
    const wholeText = removeEmpty([lastText, end]).join("\n\n");
    const endTexts =
      wholeText.length <= maxMrkdwnLength
        ? [wholeText]
        : [lastText, cut({ text: end, maxLength: maxMrkdwnLength })];
    return [...messages.slice(0, -1), ...endTexts.map((text) => ({ text }))];
  },
};

function addAbove(lines: readonly string[], [first, ...others]: readonly TextBlock[]): TextBlock[] {
  const blocks = first === undefined ? [] : [{ ...first, joint: "\n" }, ...others];
  return [...lines.map(createTextBlock), ...blocks];
}

/** A text in mrkdwn with the short request id below it. */
export function withReference({ text, reference }: { text: string; reference: string }) {
  return { text: removeEmpty([text, `_${reference}_`]).join("\n") };
}

/** `text` is shown where Slack cannot show blocks, such as in notifications. `below` are the blocks below the reference. */
export function withBlocks(request: {
  text: string;
  blocks: readonly SlackBlock[];
  reference: string;
  below?: readonly SlackBlock[];
}): MessageContent {
  const { text, blocks, reference, below = [] } = request;
  return { text, blocks: [...blocks, context(reference), ...below] };
}
