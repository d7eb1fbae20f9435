/** Builds the site of the documents: reads the project, writes HTML, fetches nothing. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createLinks } from "./links.ts";
import { createPageDocument, type SitePage } from "./page-document.ts";
import { type PlannedPage, planPages } from "./plan.ts";
import { renderMarkdown } from "./render-markdown.ts";
import { listSearchEntries, searchScript } from "./search-index.ts";

const assets = ["site.css", "document.css", "site.js"];

/** Throws where a document leads to a page, a section or a file that there is not. */
export function buildSite({ root, out }: { root: string; out: string }): { pages: string[] } {
  const planned = planPages(root);
  const targets = new Map(planned.map(({ source, target }) => [source, target]));
  const copies = new Map<string, string>();
  const pages = planned.map((page) => renderPage({ root, page, targets, copies }));
  requireAnchors(pages);
  for (const page of pages) write(join(out, page.target), createPageDocument({ page, pages }));
  for (const [file, copy] of copies) copyTo(join(root, file), join(out, copy));
  for (const name of assets) copyTo(join(import.meta.dirname, "assets", name), join(out, "assets", name));
  write(join(out, "assets/search.js"), searchScript(pages.flatMap(listSearchEntries)));
  return { pages: pages.map(({ target }) => target) };
}

function renderPage({
  root,
  page,
  targets,
  copies,
}: {
  root: string;
  page: PlannedPage;
  targets: Map<string, string>;
  copies: Map<string, string>;
}): SitePage {
  const { source, target } = page;
  const links = createLinks({ source, target, targets, exists: (path) => existsSync(join(root, path)) });
  const { html, headings } = renderMarkdown({
    text: readFileSync(join(root, source), "utf8"),
    links,
    pictureOf: (href) => readFileSync(join(root, dirname(source), href), "utf8").replace(/^<\?xml[^>]*>\s*/, ""),
  });
  for (const [file, copy] of links.copies) copies.set(file, copy);
  return { ...page, html, headings, title: headings.find(({ depth }) => depth === 1)?.text ?? source };
}

/** A link to a section that was renamed leads to the top of a page, which nobody notices. */
function requireAnchors(pages: SitePage[]): void {
  for (const page of pages) {
    for (const [, href = ""] of page.html.matchAll(/<a href="([^":]*#[^"]*)"/g)) {
      const [path = "", anchor = ""] = href.split("#");
      const target = path === "" ? page.target : join(dirname(page.target), path);
      const other = pages.find((one) => one.target === target);
      if (other === undefined || other.headings.some((heading) => heading.anchor === decodeURI(anchor))) continue;
      throw new Error(`${page.source}: there is no section "${anchor}" in ${other.source}.`);
    }
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function copyTo(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
