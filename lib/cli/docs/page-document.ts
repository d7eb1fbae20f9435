/** The HTML document around one page: navigation, table of contents, neighbours. */
import { createHash } from "node:crypto";
import { escapeHtml } from "./html.ts";
import { relativeTo } from "./links.ts";
import type { PlannedPage } from "./plan.ts";
import type { Heading } from "./render-markdown.ts";
import { searchMarkup } from "./search-index.ts";

export type SitePage = PlannedPage & { title: string; html: string; headings: Heading[] };

export function createPageDocument({ page, pages }: { page: SitePage; pages: SitePage[] }): string {
  const to = (target: string) => escapeHtml(relativeTo(page.target, target));
  const title = page.target === "index.html" ? page.title : `${page.title} · Sekisho`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyFor(page.html)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to("assets/site.css")}">
<link rel="stylesheet" href="${to("assets/document.css")}">
<script src="${to("assets/site.js")}" defer></script>
</head>
<body data-root="${to("index.html").replace(/index\.html$/, "")}">
<a class="skip" href="#content">To the content</a>
<header><a class="home" href="${to("index.html")}">Sekisho</a><a class="to-menu" href="#menu">Pages</a>
${searchMarkup}</header>
<div class="frame">
<main id="content">
${contentsOf(page.headings)}<article>
${page.html}</article>
${neighboursOf({ page, pages, to })}</main>
<nav id="menu" class="menu" aria-label="Pages">
${menuOf({ page, pages, to })}</nav>
</div>
</body>
</html>
`;
}

/** Nothing from elsewhere, nothing inline but the style of the pictures that this page itself holds. */
function policyFor(html: string): string {
  const styles = [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, text = ""]) => {
    return ` 'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  });
  const style = `style-src 'self'${[...new Set(styles)].join("")}`;
  return `default-src 'none'; script-src 'self'; ${style}; img-src 'self' data:; base-uri 'none'; form-action 'none'`;
}

function contentsOf(headings: Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 3) return "";
  const lines = shown.map(
    ({ depth, anchor, text }) =>
      `<li class="depth-${depth}"><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
  );
  return `<details class="contents" open><summary>On this page</summary><ul>\n${lines.join("\n")}\n</ul></details>\n`;
}

type Around = { page: SitePage; pages: SitePage[]; to: (target: string) => string };

function menuOf({ page, pages, to }: Around): string {
  const groups = [...new Set(pages.map(({ group }) => group))];
  const parts = groups.map((group) => {
    const links = pages
      .filter((other) => other.group === group)
      .map((other) => {
        const here = other.target === page.target ? ' aria-current="page"' : "";
        return `<li><a href="${to(other.target)}"${here}>${escapeHtml(other.title)}</a></li>`;
      });
    return `<h2>${escapeHtml(group)}</h2>\n<ul>\n${links.join("\n")}\n</ul>\n`;
  });
  return parts.join("");
}

function neighboursOf({ page, pages, to }: Around): string {
  const at = pages.findIndex(({ target }) => target === page.target);
  const link = (other: SitePage | undefined, rel: "prev" | "next", word: string) =>
    other === undefined
      ? ""
      : `<a rel="${rel}" href="${to(other.target)}"><span>${word}</span> ${escapeHtml(other.title)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next">${link(pages[at - 1], "prev", "Previous")}${link(pages[at + 1], "next", "Next")}</nav>\n`;
}
