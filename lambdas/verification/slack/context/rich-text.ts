/** Converts a `rich_text` block (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block) to Markdown. Slack does not escape its texts. */

import { botMention, writeLink } from "./mrkdwn.ts";
import { writeId } from "./names.ts";
import {
  type Fields,
  fieldsOf,
  idOf,
  integerOf,
  listOf,
  maxBlockDepth,
  quote,
  type Reading,
  textOf,
  toIsoDate,
  typeOf,
} from "./values.ts";

/** `marks` is the Markdown around the text, from the inside out. */
type Run = { text: string; marks: string };

/** Returns the lines of the elements: paragraphs, lists, quotations and code. */
export function richTextToMarkdown(elements: unknown, reading: Reading, depth = 0): string {
  if (depth > maxBlockDepth) return "";
  let markdown = "";
  let previous = "";
  for (const element of listOf(elements, reading)) {
    const fields = fieldsOf(element);
    const type = typeOf(fields);
    const text = trimLineEnds(containerText(fields, { reading, depth }));
    if (text === "") continue;
    // Without a blank line, a paragraph after a list or a quotation would be part of it.
    const isApart = (previous === list || previous === quotation) && type !== list;
    markdown += `${markdown === "" ? "" : isApart ? "\n\n" : "\n"}${text}`;
    previous = type;
  }
  return markdown;
}

const list = "rich_text_list";
const quotation = "rich_text_quote";

type Within = { reading: Reading; depth: number };

function containerText(fields: Fields, { reading, depth }: Within): string {
  switch (typeOf(fields)) {
    case list: {
      const text = listText(fields, { reading, depth });
      return integerOf(fields.border) > 0 ? quote(text) : text;
    }
    case quotation:
      return quote(trimLineEnds(inlineText(fields.elements, reading)));
    case "rich_text_preformatted":
      return codeBlock(
        inlineRuns(fields.elements, reading)
          .map(({ text }) => text)
          .join(""),
      );
    case "rich_text_section":
      return inlineText(fields.elements, reading);
    default:
      // A container that is not known yet holds containers, or is an element itself.
      return Array.isArray(fields.elements)
        ? richTextToMarkdown(fields.elements, reading, depth + 1)
        : joinRuns([leafRun(fields, reading)]);
  }
}

const maxIndent = 8;
/**
 * A level of a list in a list counts as so many. Slack puts only paragraphs into lists, and each level makes every line longer, so that twelve
 * levels of indented lines could exhaust the memory.
 */
const listCost = 4;

function listText({ elements, style, indent, offset }: Fields, { reading, depth }: Within): string {
  const margin = "    ".repeat(Math.min(Math.max(integerOf(indent), 0), maxIndent));
  const items = listOf(elements, reading).map((item, index) => {
    const mark = style === "ordered" ? `${integerOf(offset) + index + 1}.` : "-";
    const box = style === "checked" ? "[x] " : style === "unchecked" ? "[ ] " : "";
    const text = richTextToMarkdown([item], reading, depth + listCost);
    return `${margin}${mark} ${box}${text.replaceAll("\n", `\n${margin}    `)}`;
  });
  return items.join("\n");
}

function codeBlock(code: string): string {
  const fence = "`".repeat(Math.max(3, longestRun(code) + 1));
  return code.trim() === "" ? "" : `${fence}\n${code.replace(/\n$/, "")}\n${fence}`;
}

function longestRun(code: string): number {
  return Math.max(0, ...(code.match(/`+/g) ?? []).map(({ length }) => length));
}

/** Returns the words of a section, a quotation or a table cell. */
export function inlineText(elements: unknown, reading: Reading): string {
  return joinRuns(inlineRuns(elements, reading));
}

function inlineRuns(elements: unknown, reading: Reading): Run[] {
  return listOf(elements, reading).map((element) => leafRun(fieldsOf(element), reading));
}

/** Neighbours with the same marks share them. */
function joinRuns(runs: readonly Run[]): string {
  const joinedRuns: Run[] = [];
  for (const run of runs) {
    const last = joinedRuns.at(-1);
    if (last !== undefined && last.marks === run.marks) last.text += run.text;
    else if (run.text !== "") joinedRuns.push({ ...run });
  }
  return joinedRuns.map(runText).join("");
}

/** Marks enclose the words of each line, because Markdown knows none beside a blank. */
function runText({ text, marks }: Run): string {
  if (marks === "") return text;
  return text
    .split("\n")
    .map((line) => {
      const words = line.trim();
      if (words === "") return line;
      const start = line.indexOf(words);
      return `${line.slice(0, start)}${enclose(words, marks)}${line.slice(start + words.length)}`;
    })
    .join("\n");
}

const styleMarks = { code: "`", italic: "_", bold: "*", strike: "~" } as const;

function enclose(words: string, marks: string): string {
  let text = words;
  for (const mark of marks) {
    if (mark === "`") {
      const fence = "`".repeat(longestRun(words) + 1);
      text = fence.length === 1 ? `\`${text}\`` : `${fence} ${text} ${fence}`;
    } else text = mark === "_" ? `_${text}_` : `${mark}${mark}${text}${mark}${mark}`;
  }
  return text;
}

function leafRun(element: Fields, reading: Reading): Run {
  const style = fieldsOf(element.style);
  const marks = Object.entries(styleMarks).flatMap(([name, mark]) =>
    style[name] === true ? mark : [],
  );
  return { text: leafText(element, reading), marks: marks.join("") };
}

function leafText(element: Fields, reading: Reading): string {
  const readText = (name: string) => textOf(element[name], reading);
  switch (typeOf(element)) {
    case "text":
      return readText("text");
    case "user": {
      const user = idOf(element.user_id);
      return reading.botUsers.includes(user) ? botMention : mention("@", user);
    }
    case "usergroup":
      return mention("@", element.usergroup_id);
    case "channel":
      return mention("#", element.channel_id);
    case "team":
      return idOf(element.team_id);
    case "broadcast":
      return `@${readText("range") || "here"}`;
    case "emoji":
      return emojiText(readText("unicode"), readText("name"));
    case "date":
      return writeLink({
        url: readText("url"),
        label: toIsoDate(element.timestamp) ?? readText("fallback"),
      });
    case "color":
      return readText("value");
    default:
      // Links, and mentions of canvases, lists, workflows and whatever Slack adds.
      return writeLink({
        url: readText("url"),
        label: readText("text") || readText("label") || readText("fallback"),
      });
  }
}

function mention(sign: "@" | "#", value: unknown): string {
  const id = idOf(value);
  return id === "" ? "" : writeId({ sign, id });
}

/** A custom emoji has no code points. */
function emojiText(unicode: string, name: string): string {
  const points = unicode
    .split("-")
    .map((point) => (/^[0-9a-f]{2,6}$/i.test(point) ? Number.parseInt(point, 16) : 0));
  const isCharacter = points.every(
    (point) => point > 0x1f && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff),
  );
  return isCharacter ? String.fromCodePoint(...points) : name && `:${name}:`;
}

/** Removes line breaks at the end. */
function trimLineEnds(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}
