/**
 * Shows text literally in mrkdwn. Slack has no escape for the signs of formatting, and its rules for which signs form a pair are not
 * documented. A zero-width space does not help: Slack takes it for the blank at which formatting starts. So a sign that could format
 * is replaced by one that looks like it. All others stay, because people copy names such as `snake_case` and `~/dir`.
 */

import { escapeMrkdwn, wordJoiner } from "./characters.ts";

/** `stored` stands for a sign of the text until the whole line is known: formatting around the text is part of the line. */
type Sign = { sign: string; lookalike: string; stored: string };

/** For each kind of formatting, the signs that Slack reads as its marks. They include the wide signs of a Japanese keyboard. */
const kinds: readonly (readonly Sign[])[] = [
  [
    { sign: "*", lookalike: "\u2217", stored: "\uFDD0" },
    { sign: "＊", lookalike: "\uFE61", stored: "\uFDD4" },
  ],
  [
    { sign: "_", lookalike: "\u02CD", stored: "\uFDD1" },
    { sign: "＿", lookalike: "\u02CD", stored: "\uFDD5" },
  ],
  [{ sign: "~", lookalike: "\u223C", stored: "\uFDD2" }],
  [
    { sign: "`", lookalike: "\u02CB", stored: "\uFDD3" },
    { sign: "｀", lookalike: "\u02CB", stored: "\uFDD6" },
  ],
];
const signs = kinds.flatMap((ofKind, kind) => ofKind.map((each) => ({ ...each, kind })));
const bySign = new Map(signs.map((each) => [each.sign, each]));
const byStored = new Map(signs.map((each) => [each.stored, each]));

/** Part of a character class. Unicode reserves these characters for the inner use of programs. */
export const storedSigns = "\\uFDD0-\\uFDD6";
const anySign = /[*_~`＊＿｀]/;
const everySign = /[*_~`＊＿｀]/g;
const unsettled = new RegExp(`[${storedSigns}]|^(?:&gt;|＞)`, "m");
const storedRun = new RegExp(`([${storedSigns}])\\1*`, "g");

/** For each kind: a run of its signs at which formatting could start, and any of its signs. */
const [strong = "", emphasis = "", struck = "", ticked = ""] = kinds.map((ofKind) =>
  ofKind.map(({ sign, stored }) => sign + stored).join(""),
);
const patterns = [
  {
    start: new RegExp(`(?<![a-zA-Z0-9${strong}])[${strong}]+(?=[^\\s${strong}])`),
    any: new RegExp(`[${strong}]`),
  },
  {
    start: new RegExp(`(?<![a-zA-Z0-9${emphasis}])[${emphasis}]+(?=[^\\s${emphasis}])`),
    any: new RegExp(`[${emphasis}]`),
  },
  {
    start: new RegExp(`(?<![a-zA-Z0-9${struck}])[${struck}]+(?=[^\\s${struck}])`),
    any: new RegExp(`[${struck}]`),
  },
  {
    start: new RegExp(`(?<![a-zA-Z0-9${ticked}])[${ticked}]+(?=[^\\s${ticked}])`),
    any: new RegExp(`[${ticked}]`),
  },
];
/** Code may span lines and start with a blank, so the line does not tell whether a backtick has a partner. */
const code = kinds.length - 1;

/**
 * Escapes the interpolated texts and shows them literally. The template itself is mrkdwn.
 *
 * @example literalMrkdwn`• ${title}: _${message}_`
 */
export function literalMrkdwn(template: TemplateStringsArray, ...texts: readonly string[]): string {
  return settleSigns(
    String.raw({ raw: template }, ...texts.map((text) => storeSigns(escapeMrkdwn(text)))),
  );
}

/** Sets the signs of a literal text aside, until `settleSigns` sees the formatting around them. */
export function storeSigns(text: string): string {
  return anySign.test(text)
    ? text.replace(everySign, (sign) => bySign.get(sign)?.stored ?? sign)
    : text;
}

/** Puts the signs back, or signs that look like them where Slack would format. `text` is mrkdwn. */
export function settleSigns(text: string): string {
  return unsettled.test(text) ? text.split("\n").map(settleLine).join("\n") : text;
}

function settleLine(line: string): string {
  const canFormat = patterns.map((pattern, kind) => kind === code || hasPair(line, pattern));
  const settled = line.replace(storedRun, (run, stored: string, at: number) => {
    const { sign, lookalike, kind } = byStored.get(stored) ?? {
      sign: stored,
      lookalike: stored,
      kind: code,
    };
    const around = `${line[at - 1] ?? " "}${line[at + run.length] ?? " "}`;
    const isInert =
      !canFormat[kind] || (kind !== code && /^(?:[a-zA-Z0-9]{2}|\s{2})$/.test(around));
    return (isInert ? sign : lookalike).repeat(run.length);
  });
  return /^(?:&gt;|＞)/.test(settled) ? wordJoiner + settled : settled;
}

/** True if formatting could start at one sign of the line and end at a later one. */
function hasPair(line: string, { start, any }: { start: RegExp; any: RegExp }): boolean {
  const opening = start.exec(line);
  return opening !== null && any.test(line.slice(opening.index + opening[0].length));
}
