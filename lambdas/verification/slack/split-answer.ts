/** An answer in parts that Slack takes, cut where a reader would cut it. Pure. */
import { findCut } from "./find-cut.ts";

/**
 * `chat.update` refuses texts above 4,000 characters (`msg_too_long`), and the first part is an edit of the placeholder;
 * what Slack counts is not said to be UTF-16 units, hence the distance. (`chat.postMessage` would take 40,000, then cuts.)
 */
const defaultMaxLength = 3900;

const fence = "```";
const reopened = `${fence}\n`;
const closed = `\n${fence}`;

/**
 * Each part has at most `maxLength` UTF-16 units (at least 100). A code block that is cut is closed in the one part and
 * opened again in the next. What is lost is white space at the cuts; everything else stays, in order. Apart from that the
 * parts number at most twice what their lengths need. A text of white space alone has no parts: the caller has words for it.
 * `text` is escaped mrkdwn: an entity such as `&amp;` is never cut.
 */
export function splitAnswer({ text, maxLength = defaultMaxLength }: { text: string; maxLength?: number }): string[] {
  if (maxLength < 100) throw new RangeError("maxLength must be at least 100");
  const parts: string[] = [];
  let rest = text.trimEnd();
  let isOpen = false;
  while (rest.trim() !== "") {
    const start = isOpen ? reopened : "";
    if (start.length + rest.length <= maxLength) {
      parts.push(start + rest);
      break;
    }
    const cut = findCut({ text: rest, budget: maxLength - start.length - closed.length, isOpen });
    const kept = cut.isOpen ? rest.slice(0, cut.end) : rest.slice(0, cut.end).trimEnd();
    if (kept.trim() !== "") parts.push(start + kept + (cut.isOpen ? closed : ""));
    rest = rest.slice(cut.next);
    isOpen = cut.isOpen;
  }
  return parts;
}
