/** What the search of the site looks through: every section of every page, with its words. */
import { escapeHtml, readHtmlText } from "./html.ts";

export type SearchEntry = { page: string; section: string; url: string; text: string };

export function listSearchEntries({
  title,
  target,
  html,
}: {
  title: string;
  target: string;
  html: string;
}): SearchEntry[] {
  const pieces = html.split(/(?=<h[123] id=")/);
  return pieces.flatMap((piece) => {
    const [heading = "", anchor = "", inner = ""] = /^<h[123] id="([^"]*)">(.*?)<\/h[123]>/.exec(piece) ?? [];
    const section = readHtmlText(inner).replace(/ #$/, "");
    const text = readHtmlText(piece.slice(heading.length));
    if (section === "" && text === "") return [];
    return [{ page: title, section: section || title, url: anchor === "" ? target : `${target}#${anchor}`, text }];
  });
}

/** JSON that a page can also load as a file, where a browser lets no script read one: for `file:` addresses. */
export function searchScript(entries: SearchEntry[]): string {
  // U+2028 and U+2029 end a line for some readers of scripts.
  const json = JSON.stringify(entries).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  return `globalThis.sekishoSearch = ${json};\n`;
}

export const searchMarkup = `<search class="search" hidden>
<label for="find">Search</label>
<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="${escapeHtml("Search  ( / )")}">
<p class="found" role="status"></p>
<ol class="hits"></ol>
</search>`;
