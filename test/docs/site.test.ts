/** The site of the documents: every link of it leads somewhere, nothing is fetched from elsewhere, whatever is written in a document. */
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { buildSite } from "../../lib/cli/docs/build-site.ts";
import { root } from "./commands/documented.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-site-"));
const out = join(folder, "site");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type PageFile = { file: string; html: string; ids: string[]; links: string[]; loads: string[] };
let pages: PageFile[] = [];
beforeAll(() => {
  buildSite({ root, out });
  pages = globSync("**/*.html", { cwd: out }).map(readPage);
});

function readPage(file: string): PageFile {
  const html = readFileSync(join(out, file), "utf8");
  const all = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, value = ""]) => value);
  const loads = [...all(/\ssrc="([^"]*)"/g), ...all(/<link [^>]*href="([^"]*)"/g)].filter((url) => url !== "data:,");
  return { file, html, ids: all(/\sid="([^"]*)"/g), links: all(/<a [^>]*?href="([^"]*)"/g), loads };
}

const isOutside = (url: string) => /^(?:https?|mailto):/.test(url);

/** Below the site, of a link on a page; undefined where it leads elsewhere. */
function targetOf(page: PageFile, link: string): { file: string; anchor: string } | undefined {
  if (isOutside(link)) return undefined;
  const [path = "", anchor = ""] = decodeURI(link).split("#");
  return { file: path === "" ? page.file : relative(out, join(out, dirname(page.file), path)), anchor };
}

describe("the site of the documents", () => {
  it("has every document as a page", () => {
    const sources = ["README.md", ...globSync(["docs/*.md", "docs/decisions/*.md"], { cwd: root })];
    expect(pages.length).toBeGreaterThanOrEqual(sources.length);
    for (const name of ["index.html", "start.html", "deploy.html", "security.html", "decisions/index.html"])
      expect(pages.map(({ file }) => file)).toContain(name);
  });

  it("leads nowhere but to pages, sections and files that there are", () => {
    const dead = pages.flatMap((page) =>
      page.links.filter((link) => {
        const target = targetOf(page, link);
        if (target === undefined) return false;
        if (target.anchor === "") return !existsSync(join(out, target.file));
        const other = pages.find(({ file }) => file === target.file);
        return other !== undefined && !other.ids.includes(target.anchor);
      }),
    );
    expect(dead).toEqual([]);
  });

  it("leads from its first page to every other", () => {
    const reached = new Set(["index.html"]);
    for (const file of reached) {
      const page = pages.find((one) => one.file === file);
      for (const link of page?.links ?? []) {
        const target = page && targetOf(page, link);
        if (target?.file.endsWith(".html")) reached.add(target.file);
      }
    }
    expect(pages.map(({ file }) => file).filter((file) => !reached.has(file))).toEqual([]);
  });

  it("loads nothing from elsewhere, and forbids it", () => {
    for (const page of pages) {
      expect(page.loads.filter((url) => isOutside(url) || url.startsWith("/"))).toEqual([]);
      expect(page.loads.filter((url) => !existsSync(join(out, targetOf(page, url)?.file ?? "")))).toEqual([]);
      expect(page.html).toContain("default-src 'none'; script-src 'self'");
    }
  });
});

/** A project of one document. */
function build(text: string): { html: string; index: string } {
  const project = mkdtempSync(join(folder, "project-"));
  mkdirSync(join(project, "docs"));
  writeFileSync(join(project, "README.md"), text);
  writeFileSync(join(project, "docs/other.md"), "# Other\n\n## `a_b` & c: d\n\n## Twice\n\n## Twice\n");
  const site = join(project, "site");
  buildSite({ root: project, out: site });
  const index = readFileSync(join(site, "assets/search.js"), "utf8");
  return { html: readFileSync(join(site, "index.html"), "utf8"), index };
}

describe("a document", () => {
  it("whose text is HTML shows it, and runs nothing of it", () => {
    const { html, index } = build(
      "# A\n\n<script>alert(1)</script> and <img src=x onerror=alert(2)> `<b>`\n\n<div onclick=x>y</div>\n",
    );
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(html).not.toMatch(/<script>|<img|<div onclick/);
    expect(index).toContain("<script>alert(1)");
  });

  it("leaves its comments out", () => {
    expect(build("# A\n\n<!-- written by a tool -->\n\ntext\n").html).not.toContain("written by a tool");
  });

  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "/etc/passwd",
    "//elsewhere.example/",
    "../../secret.md",
    "nothing.md",
  ])("that leads to %s is refused", (link) => {
    expect(() => build(`# A\n\n[x](${link})\n`)).toThrow(/README\.md: .*(no link for a page|leads to nothing)/);
  });

  it("that leads to a section that there is not is refused", () => {
    expect(() => build("# A\n\n[x](docs/other.md#none)\n")).toThrow('no section "none" in docs/other.md');
    expect(() => build("# A\n\n[x](#none)\n")).toThrow('no section "none" in README.md');
  });

  it("that shows a picture of elsewhere is refused", () => {
    expect(() => build("# A\n\n![x](https://elsewhere.example/a.png)\n")).toThrow("pictures of this project alone");
  });

  it("has the anchors that GitHub gives", () => {
    const { html } = build("# A\n\n[x](docs/other.md#a_b--c-d) [y](docs/other.md#twice-1)\n");
    expect(html).toContain('href="other.html#a_b--c-d"');
    expect(html).toContain('href="other.html#twice-1"');
  });
});
