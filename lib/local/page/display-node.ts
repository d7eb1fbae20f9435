/** What the page draws: a tree of few kinds of nodes. Text stays text all the way, so that nothing that is written becomes markup. */

import { parseUrl } from "../../../lambdas/shared/untrusted-input.ts";

/** `href` is http, https or mailto. `lang` of code. `start` of an ordered list. */
export type DisplayNode =
  | string
  | {
      tag:
        | ("p" | "h" | "ul" | "ol" | "li" | "pre" | "code" | "blockquote" | "hr" | "br" | "a" | "strong" | "em" | "del")
        | ("table" | "tr" | "th" | "td" | "mention");
      children: readonly DisplayNode[];
      href?: string;
      lang?: string;
      start?: number;
    };

type Tag = Exclude<DisplayNode, string>["tag"];

export function createNode(
  tag: Tag,
  children: readonly DisplayNode[] = [],
  rest: { lang?: string; start?: number } = {},
): DisplayNode {
  return { tag, children, ...rest };
}

/** A link where its address may be opened; else its words, with the address behind them. */
export function createLinkNodes({ href, children }: { href: string; children: readonly DisplayNode[] }): DisplayNode[] {
  const { protocol } = parseUrl(href) ?? {};
  const isSafe = protocol === "https:" || protocol === "http:" || protocol === "mailto:";
  return isSafe ? [{ tag: "a", children, href }] : [...children, ` (${href})`];
}

const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'" };

/** The entities that stand for characters of Slack's own notation. */
export function decodeSlackEntities(text: string): string {
  return text.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => entities[entity] ?? entity);
}

const emoji: Record<string, string> = {
  eyes: "👀",
  white_check_mark: "✅",
  x: "❌",
  warning: "⚠️",
  hourglass_flowing_sand: "⏳",
  tada: "🎉",
  wave: "👋",
  "+1": "👍",
  paperclip: "📎",
};

export function findEmoji(name: string): string {
  return emoji[name] ?? `:${name}:`;
}
