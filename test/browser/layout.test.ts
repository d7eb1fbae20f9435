/** Both pages on a wide screen and on a phone, light and dark: readable, and nothing out of view. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { listAxeFindings } from "./axe.ts";
import { findChromium, openBrowser } from "./browser.ts";
import { faintTexts, overflow, rowsOf } from "./layout.ts";
import { openPage } from "./person.ts";
import { type Started, startWithPage } from "./started.ts";

const withBrowser =
  findChromium() === undefined && process.env.CI === undefined ? describe.skip : describe;

withBrowser("the pages", () => {
  let browser: Browser;
  let site: Started;
  let page: Page;
  beforeAll(async () => {
    [site, browser] = await Promise.all([startWithPage(), openBrowser()]);
    page = await browser.newPage();
    const person = await openPage({ page, url: site.address("/") });
    await person.say("fail");
    await person.thread().getByTitle(":x:").waitFor();
    await person.say("long");
    await person.thread().getByTitle(":white_check_mark:").waitFor();
    await person.say("ask me");
    await person.thread().getByRole("button", { name: "Yes", exact: true }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  const screens = (["light", "dark"] as const).flatMap((colorScheme) =>
    [1280, 390].map((width) => ({ colorScheme, width })),
  );
  const show = async ({ colorScheme, width }: (typeof screens)[number]) => {
    // A colour that is still changing is nobody's choice.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: width === 390 ? 660 : 768 });
  };

  it.each(screens)(
    "fits the conversation into the screen %j for everybody to use",
    async (screen) => {
      await page.goto(site.address("/"));
      await page.getByText("live", { exact: true }).waitFor();
      await show(screen);
      await page.getByRole("button", { name: "Reply in thread" }).first().click();
      expect(await listAxeFindings(page)).toEqual([]);
      expect(await faintTexts(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      const conversations = page.getByRole("navigation", { name: "Conversations" });
      expect(await rowsOf(conversations.getByRole("button"))).toBe(1);
      const send = await page.getByRole("button", { name: "Send" }).boundingBox();
      const bottom = (send?.y ?? Infinity) + (send?.height ?? 0);
      const right = (send?.x ?? Infinity) + (send?.width ?? 0);
      const { width = 0, height = 0 } = page.viewportSize() ?? {};
      expect(right).toBeLessThanOrEqual(width);
      expect(bottom).toBeLessThanOrEqual(height);
      expect(bottom).toBeGreaterThan(height - 60);
    },
  );

  it.each(screens)("shows a form on the screen %j for everybody to use", async (screen) => {
    await page.goto(site.address("/"));
    await page.getByText("live", { exact: true }).waitFor();
    await show(screen);
    await page.getByRole("button", { name: "Post as an alert" }).click();
    await page.getByRole("dialog").getByLabel("Severity").waitFor();
    expect(await listAxeFindings(page)).toEqual([]);
    expect(await faintTexts(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  });

  it.each(screens)("shows the timeline on the screen %j for everybody to use", async (screen) => {
    await page.goto(site.address("/"));
    await page.getByText("live", { exact: true }).waitFor();
    await show(screen);
    const steps = page.getByRole("list", { name: "Steps" });
    const isNarrow = screen.width === 390;
    expect(await steps.isVisible()).toBe(!isNarrow);
    if (isNarrow) await page.getByRole("button", { name: "Timeline", exact: true }).click();
    await steps.getByText("execute_task").first().click();
    await steps.locator("pre").first().waitFor();
    expect(await listAxeFindings(page)).toEqual([]);
    expect(await faintTexts(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  });

  it.each(
    screens.flatMap((screen) =>
      ["tasks", "task", "destinations", "dead-letters"].map((view) => ({ view, ...screen })),
    ),
  )(
    "fits a view for operators into the screen %j with readable texts",
    async ({ view, ...screen }) => {
      await page.goto(`${site.url}/operate/#/${view === "task" ? "tasks" : view}`);
      await page.getByText("live", { exact: true }).waitFor();
      if (view === "destinations") await page.getByText("unreachable", { exact: true }).waitFor();
      if (view === "task") {
        await page.locator(".row").last().click();
        await page.getByRole("list", { name: "Steps" }).getByText("execute_task").first().waitFor();
      }
      await show(screen);
      expect(await faintTexts(page)).toEqual([]);
      expect([await overflow(page), await rowsOf(page.locator("nav a"))]).toEqual([0, 1]);
    },
  );

  it("the layout checks detect faint text, overflow and missing attributes", async () => {
    await page.goto(
      "data:text/html,<p style='color:%23888;background:%23fff'>faint</p><div style='width:200vw'>a</div>",
    );
    expect(await faintTexts(page)).toEqual(["faint 3.54"]);
    expect(await overflow(page)).toBeGreaterThan(0);
    expect(await listAxeFindings(page)).toContainEqual(expect.stringMatching(/^html-has-lang: /));
  });
});
