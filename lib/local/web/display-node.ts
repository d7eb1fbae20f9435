/** The few kinds of nodes that a message is shown by. The server parses, and the browser draws. */

/** `href` is http, https or mailto. `lang` is of code, `start` of an ordered list. */
export type DisplayNode =
  | string
  | {
      tag:
        | (
            | "p"
            | "h"
            | "ul"
            | "ol"
            | "li"
            | "pre"
            | "code"
            | "blockquote"
            | "hr"
            | "br"
            | "a"
            | "strong"
            | "em"
            | "del"
          )
        | ("table" | "tr" | "th" | "td" | "mention");
      children: readonly DisplayNode[];
      href?: string;
      lang?: string;
      start?: number;
    };
