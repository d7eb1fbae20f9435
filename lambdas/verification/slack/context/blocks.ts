/**
 * Reads the blocks of a message (https://docs.slack.dev/reference/block-kit/blocks) as Markdown. New types appear every few months, so
 * the words of an unknown block are collected.
 */

import { isJsonObject } from "@sekisho/runtime/untrusted-input.ts";
import { mrkdwnToMarkdown, notationToMarkdown, writeLink } from "./mrkdwn.ts";
import { richTextToMarkdown } from "./rich-text.ts";
import { chartText, tableText } from "./tables.ts";
import {
  type Fields,
  fieldsOf,
  joinLines,
  joinParagraphs,
  listOf,
  maxBlockDepth,
  type Reading,
  textOf,
  typeOf,
} from "./values.ts";

type ReadBlock = (block: Fields, reading: Reading, depth: number) => string;

export type BlockText = { type: string; text: string };

/** Returns the texts of the blocks, without those that show no words. */
export function readBlocks(blocks: unknown, reading: Reading, depth = 0): BlockText[] {
  if (depth > maxBlockDepth) return [];
  return listOf(blocks, reading).flatMap((value) => {
    const block = fieldsOf(value);
    const text = blockText(block, reading, depth).trim();
    return text === "" ? [] : [{ type: typeOf(block), text }];
  });
}

/** Separates the blocks by blank lines. */
export function joinBlocks(blocks: readonly BlockText[]): string {
  return joinParagraphs(blocks.map(({ text }) => text));
}

export function blocksToMarkdown(blocks: unknown, reading: Reading, depth = 0): string {
  return joinBlocks(readBlocks(blocks, reading, depth));
}

function blockText(block: Fields, reading: Reading, depth: number): string {
  const type = typeOf(block);
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
  return reader === undefined ? unknownText(block, reading, depth) : reader(block, reading, depth);
}

const nothing = () => "";

const readers: Record<string, ReadBlock> = {
  rich_text: ({ elements }, reading) => richTextToMarkdown(elements, reading),
  section: sectionText,
  header: ({ text }, reading) =>
    prefix("## ", wordsText(text, reading).replace(/\s+/g, " ").trim()),
  markdown: ({ text }, reading) => textOf(text, reading),
  context: ({ elements }, reading) =>
    listOf(elements, reading)
      .map((element) => elementText(element, reading))
      .filter((text) => text !== "")
      .join(" "),
  image: imageText,
  video: videoText,
  divider: nothing,
  actions: ({ elements }, reading) => controlsText(elements, reading),
  input: ({ label, hint, element }, reading) =>
    joinLines([
      wordsText(label, reading),
      wordsText(hint, reading),
      controlsText([element], reading),
    ]),
  /** Buttons to vote on an answer. */
  context_actions: nothing,
  table: tableText,
  data_table: tableText,
  data_visualization: chartText,
  card: cardText,
  carousel: ({ elements }, reading, depth) => blocksToMarkdown(elements, reading, depth + 1),
  container: ({ rich_text_title, title, subtitle, child_blocks }, reading, depth) =>
    joinParagraphs([
      wordsText(rich_text_title ?? title, reading, depth),
      wordsText(subtitle, reading),
      blocksToMarkdown(child_blocks, reading, depth + 1),
    ]),
  alert: ({ level, text }, reading, depth) => {
    const word = textOf(level, reading);
    return prefix(
      word === "" || word === "default" ? "" : `(${word}) `,
      wordsText(text, reading, depth),
    );
  },
  plan: ({ title, tasks }, reading, depth) =>
    joinParagraphs([wordsText(title, reading), blocksToMarkdown(tasks, reading, depth + 1)]),
  task_card: taskText,
  /** It is among the files of the message. */
  file: nothing,
};

function prefix(start: string, text: string): string {
  return text === "" ? "" : `${start}${text}`;
}

function sectionText({ text, fields, accessory }: Fields, reading: Reading): string {
  const fieldTexts = listOf(fields, reading).map((field) => wordsText(field, reading));
  return joinLines([wordsText(text, reading), ...fieldTexts, elementText(accessory, reading)]);
}

function imageText({ title, alt_text }: Fields, reading: Reading): string {
  const words = wordsText(title, reading) || textOf(alt_text, reading);
  return words === "" ? "(image)" : `(image: ${words})`;
}

function videoText(
  { title, title_url, description, author_name, provider_name, alt_text }: Fields,
  reading: Reading,
) {
  const label = wordsText(title, reading) || textOf(alt_text, reading);
  const source = [author_name, provider_name]
    .map((name) => textOf(name, reading))
    .filter((name) => name !== "");
  const link = writeLink({ url: textOf(title_url, reading), label });
  return joinLines([prefix("Video: ", link), wordsText(description, reading), source.join(", ")]);
}

function cardText(
  { title, subtitle, body, hero_image, actions }: Fields,
  reading: Reading,
): string {
  const [heading, ...lines] = [title, subtitle, body].map((words) => wordsText(words, reading));
  const image =
    hero_image === undefined || hero_image === null ? "" : imageText(fieldsOf(hero_image), reading);
  return joinLines([
    prefix("### ", heading ?? ""),
    ...lines,
    image,
    controlsText(actions, reading),
  ]);
}

function taskText(
  { title, status, details, output, sources }: Fields,
  reading: Reading,
  depth: number,
): string {
  const state = textOf(status, reading);
  const links = listOf(sources, reading).map((source) => {
    const { url, text } = fieldsOf(source);
    return writeLink({ url: textOf(url, reading), label: textOf(text, reading) });
  });
  const heading = wordsText(title, reading);
  return joinLines([
    prefix("- ", heading && state ? `${heading} (${state})` : heading),
    wordsText(details, reading, depth),
    wordsText(output, reading, depth),
    ...links,
  ]);
}

/** Reads a text object, a plain text, or rich text. */
function wordsText(value: unknown, reading: Reading, depth = 0): string {
  if (typeof value === "string") return notationToMarkdown(textOf(value, reading), reading);
  const { type, text, elements } = fieldsOf(value);
  if (type === "mrkdwn") return mrkdwnToMarkdown(textOf(text, reading), reading);
  if (Array.isArray(elements))
    return richTextToMarkdown(type === "rich_text" ? elements : [value], reading, depth + 1);
  return typeof text === "string" ? notationToMarkdown(textOf(text, reading), reading) : "";
}

/** Reads an element of a context, or an accessory: a text, an image or a control. */
function elementText(element: unknown, reading: Reading): string {
  const fields = fieldsOf(element);
  if (fields.type === "image") return imageText(fields, reading);
  if (fields.type === "mrkdwn" || fields.type === "plain_text") return wordsText(element, reading);
  return controlText(fields, reading);
}

function controlsText(elements: unknown, reading: Reading): string {
  return listOf(elements, reading)
    .map((element) => controlText(fieldsOf(element), reading))
    .filter((text) => text !== "")
    .join(" ");
}

/** Writes the labels of a control in brackets. A button that opens an address is a link. */
function controlText({ text, url, placeholder, options }: Fields, reading: Reading): string {
  const label = wordsText(text, reading).trim();
  const address = textOf(url, reading);
  if (label !== "") return address === "" ? `[${label}]` : writeLink({ url: address, label });
  const labels = listOf(options, reading).map((option) =>
    wordsText(fieldsOf(option).text, reading),
  );
  return [wordsText(placeholder, reading), ...labels]
    .flatMap((each) => (each.trim() === "" ? [] : `[${each}]`))
    .join(" ");
}

/** The members of a block that hold words. Addresses are left out: one of them could sign somebody in. */
const wordMembers = [
  "title",
  "text",
  "subtitle",
  "caption",
  "body",
  "label",
  "description",
] as const;
const listMembers = ["elements", "fields", "items", "rows", "child_blocks", "blocks"] as const;

function unknownText(block: Fields, reading: Reading, depth: number): string {
  const words = collectWords(block, reading, depth);
  return words === "" && typeOf(block) !== "" ? "(unsupported content)" : words;
}

function collectWords(value: unknown, reading: Reading, depth: number): string {
  if (depth > maxBlockDepth) return "";
  if (Array.isArray(value)) {
    return joinLines(
      listOf(value, reading).map((member) => collectWords(member, reading, depth + 1)),
    );
  }
  if (typeof value === "string") return wordsText(value, reading);
  if (!isJsonObject(value)) return "";
  const block = fieldsOf(value);
  const type = typeOf(block);
  if (depth > 0 && Object.hasOwn(readers, type)) return blockText(block, reading, depth);
  if (type.startsWith("rich_text") || type === "mrkdwn") return wordsText(block, reading, depth);
  const members = [...wordMembers, ...listMembers].map((name) =>
    collectWords(block[name], reading, depth + 1),
  );
  return joinLines(members);
}
