/** An answer in parts that Slack takes, cut where a reader would cut it. Pure. */
import { divideBlock } from "./divide-block.ts";
import { blockText, joinBlocks, jointBefore, scanBlocks, type TextBlock } from "./scan-blocks.ts";

/**
 * All markdown blocks of one message hold 12,000 characters together (https://docs.slack.dev/reference/block-kit/blocks/markdown-block),
 * and messages of little more than 13,000 in blocks of any kind have been refused (`msg_blocks_too_long`).
 */
export const maxMarkdownLength = 11_500;
/**
 * `chat.update` refuses texts above 4,000 characters (`msg_too_long`), and the first part is an edit of the placeholder;
 * what Slack counts is not said to be UTF-16 units, hence the distance. (`chat.postMessage` would take 40,000, then cuts.)
 */
export const maxMrkdwnLength = 3900;

/** A paragraph or a list that would fit into the next part is cut only where this one would stay emptier than that. */
const goodShare = 0.5;
/** Less room than that is left empty. */
const leastRoom = 0.25;

/**
 * Each part has at most `maxLength` UTF-16 units (at least 200). Cut is between blocks of Markdown before lines, sentences and
 * words; a code block that has to be cut is closed and opened again with its language, a table gets its header again.
 * What is lost is white space at the cuts; everything else stays, in order. A text of white space alone has no parts: the
 * caller has words for it. `text` is Markdown or escaped mrkdwn, of which an entity such as `&amp;` is never cut.
 */
export function splitAnswer({ text, maxLength }: { text: string; maxLength: number }): string[] {
  if (maxLength < 200) throw new RangeError("maxLength must be at least 200");
  const whole = text.trimEnd();
  if (whole === "") return [];
  if (whole.length <= maxLength) return [whole];
  const parts: string[] = [];
  const waiting = scanBlocks(whole).reverse();
  let part: TextBlock[] = [];
  let partLength = 0;
  for (let block = waiting.pop(); block !== undefined; block = waiting.pop()) {
    const room = maxLength - partLength - jointBefore({ block, isFirst: part.length === 0 }).length;
    const { length } = blockText(block);
    if (length <= room) {
      take(block);
      continue;
    }
    const isShort = room > maxLength * (1 - goodShare);
    const fitsNext = length <= maxLength && !(isShort && (block.kind === "text" || block.kind === "list"));
    if (part.length > 0 && (fitsNext || room < maxLength * leastRoom)) {
      waiting.push(block);
      // A heading goes along with what it is the heading of.
      if (part.length > 1 && part.at(-1)?.kind === "heading") waiting.push(...part.splice(-1));
      flush();
      continue;
    }
    const { kept, rest } = divideBlock({ block, room });
    take(kept);
    if (hasText(rest)) waiting.push(rest);
    flush();
  }
  flush();
  return parts;

  function take(block: TextBlock): void {
    partLength += jointBefore({ block, isFirst: part.length === 0 }).length + blockText(block).length;
    part.push(block);
  }

  function flush(): void {
    if (part.some(hasText)) parts.push(joinBlocks(part).trimEnd());
    part = [];
    partLength = 0;
  }
}

function hasText({ kind, head, body }: TextBlock): boolean {
  return (kind === "table" && head.length > 0) || body.some((line) => line.trim() !== "");
}
