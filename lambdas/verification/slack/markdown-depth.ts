/** Lists and quotes within each other, so deep that reading them takes the parser longer than a person would read on. Pure. */

/** Behind it a line begins with no mark any more. */
const wordJoiner = "\u2060";
const mostMarks = 12;
const mostColumns = 60;

const marks = new RegExp(`^(?:[ \\t]*(?:>|(?:[-+*]|\\d{1,9}[.)])[ \\t])){${mostMarks + 1}}`);
const farItem = new RegExp(`^[ \\t>]{${mostColumns},}(?:[-+*>]|\\d{1,9}[.)])`);
const rule = /^[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)$/;

export function isTooDeep(text: string): boolean {
  return text.split("\n").some(isDeepLine);
}

/** Such a line is text of the paragraph before it. */
export function withoutDepth(text: string): string {
  return text
    .split("\n")
    .map((line) => (isDeepLine(line) ? wordJoiner + line : line))
    .join("\n");
}

function isDeepLine(line: string): boolean {
  return (marks.test(line) || farItem.test(line)) && !rule.test(line);
}
