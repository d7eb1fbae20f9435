/** Finds every mistake in the syntax of a JSON file, where JSON.parse stops at the first. */
import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";

export type Syntax = {
  /** A line for a person for each mistake, with its place in the file. */
  problems: string[];
  /** The content, if the mistakes leave no doubt about it: comments, and commas too many or too few. */
  json?: unknown;
};

export function checkSyntax(text: string): Syntax {
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true });
  const problems: string[] = [];
  let confusedLine = 0;
  for (const { error, offset } of errors) {
    const { line, column } = findPlace(text, offset);
    const place = `line ${line}, column ${column}`;
    // The other mistakes on the line mostly follow from the first one.
    if (line === confusedLine || problems.some((problem) => problem.startsWith(`${place}:`)))
      continue;
    const code = printParseErrorCode(error);
    if (!clearErrors.includes(code)) confusedLine = line;
    problems.push(`${place}: ${describeError({ text, offset, code })}`);
  }
  const doubts: ParseError[] = [];
  const json = parse(text, doubts, { allowTrailingComma: true });
  const isClear = doubts.every(({ error }) => printParseErrorCode(error) === "CommaExpected");
  return { problems, ...(isClear && { json }) };
}

/** After these it is clear how the text goes on. */
const clearErrors = [
  "CommaExpected",
  "InvalidCommentToken",
  "PropertyNameExpected",
  "ValueExpected",
];

function findPlace(text: string, offset: number): { line: number; column: number } {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}

/** Never quotes the text, which may hold a secret by mistake. */
function describeError({
  text,
  offset,
  code,
}: {
  text: string;
  offset: number;
  code: string;
}): string {
  const isAfterComma = text.slice(0, offset).trimEnd().endsWith(",");
  switch (code) {
    case "CommaExpected":
      return "a comma is missing before this";
    case "ColonExpected":
      return "a colon is missing after the key";
    case "PropertyNameExpected":
      return isAfterComma && text[offset] === "}"
        ? "the comma before this is one too many"
        : "a key in double quotes is missing here";
    case "ValueExpected":
      return isAfterComma && text[offset] === "]"
        ? "the comma before this is one too many"
        : "a value is missing here";
    case "CloseBraceExpected":
      return "a } is missing";
    case "CloseBracketExpected":
      return "a ] is missing";
    case "EndOfFileExpected":
      return "the file must end here";
    case "InvalidCommentToken":
    case "UnexpectedEndOfComment":
      return "JSON has no comments";
    case "UnexpectedEndOfString":
      return "the closing double quote is missing";
    case "InvalidCharacter":
    case "InvalidEscapeCharacter":
    case "InvalidUnicode":
      return "a character in this text must be escaped";
    default:
      return "this is not JSON: keys and texts need double quotes, and only true, false, null and numbers go without";
  }
}
