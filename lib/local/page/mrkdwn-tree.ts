/** Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text) as the page draws it. */
import { createLinkNodes, createNode, type DisplayNode, decodeSlackEntities, findEmoji } from "./display-node.ts";

const pieces =
  /(```[\s\S]*?```|`[^`\n]+`|<[^<>\n]+>|(?<![\w*])\*[^*\n]+\*(?![\w*])|(?<![\w_])_[^_\n]+_(?![\w_])|(?<![\w~])~[^~\n]+~(?![\w~])|:[a-z0-9_+'-]+:)/;

/** `nameOf` gives the name of a user or a channel that is mentioned. */
export function createMrkdwnTree(text: string, nameOf: (id: string) => string): DisplayNode[] {
  const shown: DisplayNode[] = [];
  let quoted: string[] = [];
  const endQuote = () => {
    if (quoted.length > 0) shown.push(createNode("blockquote", inline(quoted.join("\n"), nameOf)));
    quoted = [];
  };
  // A code block may hold lines that look like a quote.
  for (const part of text.split(/(```[\s\S]*?```)/)) {
    if (part.startsWith("```")) {
      endQuote();
      shown.push(...inline(part, nameOf));
      continue;
    }
    const lines = part.split("\n");
    for (const [index, line] of lines.entries()) {
      if (/^(&gt;|>)/.test(line)) {
        quoted.push(line.replace(/^(&gt;|>) ?/, ""));
        continue;
      }
      endQuote();
      shown.push(...inline(index < lines.length - 1 ? `${line}\n` : line, nameOf));
    }
  }
  endQuote();
  return shown.filter((each) => each !== "");
}

function inline(text: string, nameOf: (id: string) => string): DisplayNode[] {
  return text.split(pieces).flatMap((piece): DisplayNode[] => {
    const inner = piece.slice(1, -1);
    if (piece.startsWith("```") && piece.length > 5)
      return [createNode("pre", [decodeSlackEntities(piece.slice(3, -3).trim())])];
    if (/^`.+`$/.test(piece)) return [createNode("code", [decodeSlackEntities(inner)])];
    if (/^<.+>$/.test(piece)) return special(inner, nameOf);
    if (/^\*.+\*$/.test(piece)) return [createNode("strong", inline(inner, nameOf))];
    if (/^_.+_$/.test(piece)) return [createNode("em", inline(inner, nameOf))];
    if (/^~.+~$/.test(piece)) return [createNode("del", inline(inner, nameOf))];
    if (/^:.+:$/.test(piece)) return [findEmoji(inner)];
    return piece === "" ? [] : [decodeSlackEntities(piece)];
  });
}

/** Mentions, dates, broadcasts and links. */
function special(inner: string, nameOf: (id: string) => string): DisplayNode[] {
  const [target = "", label] = inner.split("|");
  if (/^[@#]/.test(target)) return [createNode("mention", [`${target[0]}${label ?? nameOf(target.slice(1))}`])];
  if (target.startsWith("!date^")) return [decodeSlackEntities(label ?? "")];
  if (target.startsWith("!")) return [createNode("mention", [`@${label ?? target.slice(1)}`])];
  return createLinkNodes({ href: decodeSlackEntities(target), children: [decodeSlackEntities(label ?? target)] });
}
