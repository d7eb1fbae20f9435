/** One document as HTML: its headings with anchors, its links rewritten; HTML that it holds itself stays text. */
import { Marked, type Tokens } from "marked";
import { escapeHtml, readHtmlText } from "./html.ts";
import type { Links } from "./links.ts";

export type Heading = { depth: number; anchor: string; text: string };
export type Rendered = { html: string; headings: Heading[] };

/** `pictureOf` gives the text of an SVG file of the project. */
export function renderMarkdown({
  text,
  links,
  pictureOf,
}: {
  text: string;
  links: Links;
  pictureOf: (href: string) => string;
}): Rendered {
  const headings: Heading[] = [];
  const anchorOf = createAnchors();
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        const words = readHtmlText(inner);
        const anchor = anchorOf(words);
        headings.push({ depth, anchor, text: words });
        const mark = `<a class="anchor" href="#${escapeHtml(anchor)}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${escapeHtml(anchor)}">${inner}${depth === 1 ? "" : ` ${mark}`}</h${depth}>\n`;
      },
      html: ({ text: given }) => (isComment(given) ? "" : escapeHtml(given)),
      code: ({ text: code, lang = "" }) => {
        const language = /^[\w-]+/.exec(lang)?.[0] ?? "text";
        return `<div class="code"><pre tabindex="0"><code class="language-${language}">${escapeHtml(code)}\n</code></pre></div>\n`;
      },
      table({ header, rows }) {
        const line = (cells: Tokens.TableCell[], tag: "th" | "td") => {
          const html = cells.map(({ tokens, align }) => {
            const side = align === null ? "" : ` class="${align}"`;
            return `<${tag}${tag === "th" ? ' scope="col"' : ""}${side}>${this.parser.parseInline(tokens)}</${tag}>`;
          });
          return `<tr>${html.join("")}</tr>\n`;
        };
        const head = header.some(({ text: words }) => words !== "") ? `<thead>${line(header, "th")}</thead>` : "";
        const body = rows.map((cells) => line(cells, "td")).join("");
        // A wide table is scrolled by itself, so that the page never is; by keyboard, too.
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(links.hrefOf(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image: ({ href, text: words }) => {
        if (/^[a-z]+:/i.test(href)) throw new Error(`${href}: a page shows pictures of this project alone.`);
        if (href.endsWith(".svg")) return pictureOf(href);
        return `<img src="${escapeHtml(links.hrefOf(href))}" alt="${escapeHtml(words)}" loading="lazy">`;
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
}

function isComment(html: string): boolean {
  return /^\s*<!--[\s\S]*?-->\s*$/.test(html);
}

// The names by which a page's headings are linked, the same as on GitHub.

/** Gives each heading of one page its name; of two that are alike the second gets `-1`. */
function createAnchors(): (heading: string) => string {
  const taken = new Map<string, number>();
  return (heading) => {
    const name = heading
      .toLowerCase()
      .trim()
      .replaceAll(/[^\p{L}\p{M}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const before = taken.get(name) ?? 0;
    taken.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  };
}
