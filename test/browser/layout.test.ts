/** Both pages on a wide screen and on a phone, light and dark: readable, and nothing out of view. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
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
    [1366, 390].map((width) => ({ colorScheme, width })),
  );
  const show = async ({ colorScheme, width }: (typeof screens)[number]) => {
    // A colour that is still changing is nobody's choice.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height: width === 390 ? 660 : 768 });
  };

  it.each(screens)(
    "fits the conversation into the screen %j with readable texts",
    async (screen) => {
      await page.goto(site.address("/"));
      await page.getByText("connected", { exact: true }).waitFor();
      await show(screen);
      expect(await faintTexts(page)).toEqual([]);
      expect([await overflow(page), await rowsOf(page, "#channels button")]).toEqual([0, 1]);
      const send = await page.getByRole("button", { name: "Send" }).boundingBox();
      expect((send?.y ?? Infinity) + (send?.height ?? 0)).toBeLessThanOrEqual(
        page.viewportSize()?.height ?? 0,
      );
    },
  );

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
      expect([await overflow(page), await rowsOf(page, "nav a")]).toEqual([0, 1]);
    },
  );

  it("the layout checks detect faint text and overflow", async () => {
    await page.goto(
      "data:text/html,<p style='color:%23888;background:%23fff'>faint</p><div style='width:200vw'>a</div>",
    );
    expect(await faintTexts(page)).toEqual(["faint 3.54"]);
    expect(await overflow(page)).toBeGreaterThan(0);
  });
});
