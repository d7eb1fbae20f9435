/** The site of the documents in a browser, from a folder, without a server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { buildSite } from "../../lib/cli/docs/build-site.ts";
import { findChromium, howToInstall, openBrowser } from "./browser.ts";

const isMissing = findChromium() === undefined;
// Elsewhere a browser is needed; on a machine of one's own its absence is seen in the list of tests.
const withBrowser = isMissing && process.env.CI === undefined ? describe.skip : describe;
if (isMissing) process.stderr.write(`${howToInstall}\n`);

const folder = mkdtempSync(join(tmpdir(), "sekisho site "));
const url = (page: string) => pathToFileURL(join(folder, page)).href;
let pages: string[] = [];
let browser: Browser;
/** What the browser complained about: what the policy stopped, addresses outside of the folder, errors. */
const complaints: string[] = [];

async function open(options: { colorScheme?: "light" | "dark"; width?: number; script?: boolean } = {}): Promise<Page> {
  const { colorScheme = "light", width = 1280, script = true } = options;
  const page = await browser.newPage({ colorScheme, javaScriptEnabled: script, viewport: { width, height: 900 } });
  page.setDefaultTimeout(15_000);
  page.on("pageerror", ({ message }) => void complaints.push(message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("request", (request) => /^(?:file|data):/.test(request.url()) || complaints.push(request.url()));
  return page;
}

withBrowser("the site of the documents in a browser", () => {
  beforeAll(async () => {
    ({ pages } = buildSite({ root: join(import.meta.dirname, "../.."), out: folder }));
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    expect(complaints.splice(0)).toEqual([]);
  });

  it("opens every page without a complaint, light and dark, and none is wider than a phone", async () => {
    const grounds = new Set<string>();
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await open({ colorScheme, width: 390 });
      for (const name of pages) {
        await page.goto(url(name));
        const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
        expect({ name, wide }).toEqual({ name, wide: false });
        grounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
      }
      await page.close();
    }
    expect(grounds.size).toBe(2);
  });

  it('finds "redrive", by keyboard, and leads there', async () => {
    const page = await open();
    await page.goto(url("decisions/index.html"));
    await page.keyboard.press("/");
    await page.keyboard.type("redrive");
    const hits = page.locator(".hits a");
    await hits.first().waitFor();
    expect((await hits.allTextContents()).join()).toContain("When an alarm comes");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\.html(#|$)/);
    expect(await page.locator("main").textContent()).toContain("redrive");
    await page.goto(url("index.html"));
    await page.locator("#find").fill("nothing-of-that-kind");
    await page.getByText("Nothing found").waitFor();
    await page.close();
  });

  it("copies a block of code, or selects it where the browser allows no more", async () => {
    const page = await open();
    await page.goto(url("start.html"));
    await page.locator(".code").first().getByRole("button").click();
    await page.locator(".code button", { hasText: /Copied|Select/ }).waitFor();
    await page.close();
  });

  it("can be read without a script: pages, contents and neighbours, and no search that does nothing", async () => {
    const page = await open({ script: false });
    await page.goto(url("index.html"));
    expect(await page.locator(".search").isVisible()).toBe(false);
    await page.getByRole("link", { name: "Next" }).click();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Operations" }).click();
    await page.getByRole("link", { name: "When an alarm comes", exact: true }).click();
    expect(page.url()).toContain("operations.html#when-an-alarm-comes");
    await page.close();
  });

  it("shows the picture of the zones in the page's own colours", async () => {
    const page = await open({ colorScheme: "dark" });
    await page.goto(url("start.html"));
    const fill = await page.evaluate('getComputedStyle(document.querySelector(".z-box")).fill');
    expect(fill).toBe("rgb(23, 22, 20)");
    await page.close();
  });
});
