import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTokenAdmission } from "@sekisho/sekisho/operate/token-admission.ts";
import type { Browser, BrowserContext, Page } from "playwright-core";
import {
  openTasksInFile,
  requestIdOf,
  servePage,
  undelivered,
} from "../cli/operate/tasks-in-file.ts";
import { hangMs } from "../tooling/hang.ts";
import { findAxeViolations } from "./accessibility.ts";
import { findChromium, openBrowser } from "./browser.ts";
import { overflow } from "./layout.ts";
import { openPage, type Person } from "./person.ts";
import { type Started, startWithPage } from "./started.ts";

const withBrowser =
  findChromium() === undefined && process.env.CI === undefined ? describe.skip : describe;

let browser: Browser;
let startedSite: Started;
let context: BrowserContext;
let page: Page;
const complaints: string[] = [];

async function openTab(scheme: "light" | "dark" = "light", width = 1100): Promise<Page> {
  context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 700 } });
  const tab = await context.newPage();
  tab.setDefaultTimeout(hangMs);
  tab.on("pageerror", ({ message }) => void complaints.push(message));
  tab.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  return tab;
}

const focused = () => page.evaluate("document.activeElement.textContent") as Promise<string>;
const press = async (...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

withBrowser("the operators' page in a browser, beside npm start", () => {
  let person: Person;
  beforeAll(async () => {
    [startedSite, browser] = await Promise.all([startWithPage(), openBrowser()]);
    person = await openPage({ page: await browser.newPage(), url: startedSite.address("/") });
    await person.say("fail");
    await person.thread().getByTitle(":x:").waitFor();
    await person.say("slow 60s");
  });
  afterAll(() => startedSite?.close());
  beforeEach(async () => {
    page = await openTab();
    await page.goto(startedSite.address("/operate/"));
    await page.getByText("live", { exact: true }).waitFor();
  });
  afterEach(async () => {
    await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });
  const rows = () => page.getByRole("list", { name: "Tasks" }).getByRole("link");

  it("opens only by the printed address, and keeps no token in the browser", async () => {
    expect(page.url()).toBe(`${startedSite.url}/operate/`);
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    const stranger = await browser.newContext();
    const tab = await stranger.newPage();
    await tab.goto(`${startedSite.url}/operate/`);
    await tab.getByLabel("Token").waitFor();
    await tab.goto(startedSite.url);
    await tab.getByText("Open the address that the command printed").waitFor();
    await stranger.close();
  });

  it("updates the list of tasks without a reload", async () => {
    await rows().nth(1).waitFor();
    await person.say("What is a sekisho?");
    await rows().nth(2).waitFor();
    await page.locator(".row.fresh.good").waitFor();
    expect(await page.content()).not.toContain("What is a sekisho");
  });

  it("shows people and channels by name, with their ids", async () => {
    const first = rows().first();
    await first.getByText("You", { exact: true }).waitFor();
    expect(await first.getByText("#general").getAttribute("title")).toBe("CSTANDIN");
    await first.click();
    await page.getByText("You (UPERSON)").waitFor();
    await page.getByText("#general (CSTANDIN)").waitFor();
  });

  it("filters tasks by state and by id", async () => {
    await page.getByRole("button", { name: /Failed/ }).click();
    await rows().getByText("failed: execution_failed").waitFor();
    expect(await rows().count()).toBe(1);
    await page.getByRole("button", { name: /Open/ }).click();
    expect(await rows().count()).toBe(1);
    await page.getByRole("button", { name: /Mine/ }).click();
    await page.getByLabel("My Slack member ID").fill("uperson");
    await rows().nth(1).waitFor();
    await page.getByRole("searchbox", { name: "Filter" }).fill("cstandin waiting");
    expect(await rows().count()).toBe(1);
    await page.getByRole("searchbox", { name: "Filter" }).fill("#general waiting");
    await rows().first().waitFor();
    expect(await rows().count()).toBe(1);
    await page.getByRole("searchbox", { name: "Filter" }).fill("0123abcd");
    await page.getByRole("link", { name: "Search all tasks for 0123abcd" }).click();
    await page.getByText("No request id").waitFor();
    // The answer that there is none is a 404, of which the browser complains.
    complaints.length = 0;
  });

  /** The row of one task. Its text also has ages, which change while a test runs. */
  const focusedRow = () =>
    page.evaluate("document.activeElement.getAttribute('href')") as Promise<string>;

  it("supports the keyboard for the list, a task, its steps and frames, and the way back", async () => {
    await rows().nth(1).waitFor();
    await press("j");
    const first = await focusedRow();
    expect(first).toMatch(/^#\/tasks\//);
    await press("j");
    expect(await focusedRow()).not.toBe(first);
    await press("k");
    expect(await focusedRow()).toBe(first);
    await press("/");
    await page.keyboard.type("failed");
    await press("ArrowDown", "Enter");
    await page.getByRole("heading", { name: /^Task / }).waitFor();
    const frame = page
      .getByRole("list", { name: "Steps" })
      .locator("summary", { hasText: "execute_task" })
      .first();
    await frame.focus();
    await press("Enter");
    await page.getByText('"method": "execute_task"').waitFor();
    await press("Escape");
    await rows().first().waitFor();
    expect(await focused()).toContain("failed: execution_failed");
    await press("/", "Escape", "Escape", "?");
    await page.getByRole("dialog").getByText("next and previous task").waitFor();
    await press("Escape", "2");
    await page.getByRole("heading", { name: "Destinations" }).waitFor();
    await press("3");
    await page.getByText("No dead letters.").waitFor();
  });

  it("shows the focus in both color schemes", async () => {
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await rows().first().waitFor();
      await press("j");
      const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
      expect(outline).toBe("solid");
    }
  });

  it("cancels a task only after a dialog that explains the effect is confirmed", async () => {
    await page.getByRole("button", { name: /Open/ }).click();
    await rows().first().click();
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    await press("c");
    await page.getByRole("dialog").getByText("The agent is asked to stop").waitFor();
    await press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await page.locator(".result", { hasText: "canceled" }).waitFor();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await press("r");
    await page.getByRole("dialog").getByText("The agent runs again").waitFor();
  });

  it("shows which destinations answer, and what to do about the others", async () => {
    await page.getByRole("link", { name: "Destinations" }).click();
    const card = (name: string) =>
      page.getByRole("listitem").filter({ has: page.getByRole("heading", { name, exact: true }) });
    await card("local").getByText("healthy").waitFor();
    await card("far").getByText("unreachable").waitFor();
    await card("far").getByText("Nothing is listening at 127.0.0.1:9").waitFor();
    await page
      .getByText("All destinations")
      .or(page.getByText("far is unreachable."))
      .first()
      .waitFor();
  });

  it("draws a task that is not found, with a way back and without actions", async () => {
    await page.goto(`${startedSite.url}/operate/#/tasks/00000000-0000-5000-8000-000000000000`);
    await page.getByText("There is no task 00000000-0000-5000-8000-000000000000").waitFor();
    expect(await page.getByRole("button", { name: /Cancel|Retry/ }).count()).toBe(0);
    await page.getByRole("link", { name: "← Tasks" }).click();
    await rows().first().waitFor();
    complaints.length = 0;
  });

  it("links to the local page, which links back", async () => {
    await page.getByRole("link", { name: "Local page" }).click();
    await page.getByRole("link", { name: "Operators' page" }).click();
    await rows().first().waitFor();
  });

  it("signs out on one's own machine, and lets the printed address in again", async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Open the address that the command printed").waitFor();
    expect(await page.title()).toBe("Sign in · Sekisho operators");
    await page.getByLabel("Token").fill(startedSite.address("/operate/"));
    await press("Enter");
    await rows().first().waitFor();
    complaints.length = 0;
  });

  const views = ["tasks", "task", "missing", "destinations", "dead-letters", "keys", "cancel"];
  const screens = (["light", "dark"] as const).flatMap((scheme) =>
    [1280, 390].map((width) => ({ scheme, width })),
  );

  /** Waits until there is something to look at. */
  async function openView(view: string): Promise<void> {
    const open = page.getByRole("button", { name: /^Open/ });
    await page.goto(`${startedSite.url}/operate/#/${view === "missing" ? "tasks/0000" : view}`);
    await page.getByText("live", { exact: true }).waitFor();
    if (["tasks", "keys", "task", "cancel"].includes(view)) await rows().nth(1).waitFor();
    if (view === "keys") await press("?");
    if (view === "task") await rows().last().click();
    if (view === "cancel") {
      await open.click();
      await rows().first().click();
      await page.getByRole("button", { name: "Cancel" }).click();
    }
    if (view === "task" || view === "cancel")
      await page.getByRole("list", { name: "Steps" }).getByRole("listitem").first().waitFor();
    if (view === "missing") await page.getByText("No request id").waitFor();
    if (view === "destinations") await page.getByText("unreachable", { exact: true }).waitFor();
    if (view === "dead-letters") await page.getByText("No dead letters.").waitFor();
  }

  it.each(screens)(
    "draws every view on the screen %j without findings of axe, and nothing out of view",
    async ({ scheme, width }) => {
      await person.say("slow 600s");
      await context.close();
      page = await openTab(scheme, width);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.goto(startedSite.address("/operate/"));
      for (const view of views) {
        await openView(view);
        expect({ view, findings: await findAxeViolations(page) }).toEqual({ view, findings: [] });
        expect({ view, overflow: await overflow(page) }).toEqual({ view, overflow: 0 });
        await page.goto("about:blank");
      }
      await page.goto(`${startedSite.url}/operate/sign-in`);
      await rows().first().waitFor();
      complaints.length = 0;
    },
  );
});

withBrowser("the operators' page in a browser, outside loopback", () => {
  const tasks = openTasksInFile();
  let site: Awaited<ReturnType<typeof servePage>>;
  beforeAll(async () => {
    const authenticator = createBearerAuthenticator({
      readTokens: async () => ["a-token-of-operators"],
    });
    const admission = createTokenAdmission({ authenticator, log: silentLog });
    site = await servePage({ folder: tasks.folder, admission, hostname: "127.0.0.2" });
    await tasks.add(1, undelivered);
    browser ??= await openBrowser();
    page = await openTab();
  });
  afterAll(async () => {
    await context?.close();
    await browser?.close();
    await site.close();
    await tasks.close();
  });

  async function signIn(): Promise<void> {
    await page.goto(`${site.url}/operate/sign-in`);
    await page.getByLabel("Token").fill("a-token-of-operators");
    await press("Enter");
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    // The sign-in form asks whether one is known already, of which the browser complains.
    complaints.length = 0;
  }

  it.each(["light", "dark"] as const)(
    "draws the sign-in in the %s scheme without findings of axe",
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${site.url}/operate/`);
      await page.getByText("This page needs the token of an operator.").waitFor();
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 700 });
        expect([await findAxeViolations(page), await overflow(page)]).toEqual([[], 0]);
      }
      complaints.length = 0;
    },
  );

  it("shows hostile values as text, and has no link to a local page", async () => {
    const hostile = `<img src=x onerror="document.title='owned'">`;
    await page.route("**/operate/api/names?*", (route) =>
      route.fulfill({ json: { users: { U1: hostile }, channels: { C1: hostile } } }),
    );
    await page.route("**/operate/api/dead-letters", (route) =>
      route.fulfill({ status: 502, body: hostile }),
    );
    await signIn();
    await page.goto(`${site.url}/operate/#/tasks/${requestIdOf(1)}`);
    await page.getByText(`${hostile} (U1)`).waitFor();
    await page.goto(`${site.url}/operate/#/dead-letters`);
    await page.getByRole("alert").getByText(hostile).waitFor();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.title()).toBe("Dead letters · Sekisho operators");
    expect(await page.getByRole("link", { name: "Local page" }).count()).toBe(0);
    await page.unrouteAll();
    await context.clearCookies();
    complaints.length = 0;
  });

  it("shows further tasks of a state in their current state, not the one at the time of the request", async () => {
    const numbers = Array.from({ length: 260 }, (_, at) => 100 + at);
    await Promise.all(numbers.map((number) => tasks.add(number, { state: "waiting" })));
    await signIn();
    await page.goto(`${site.url}/operate/`);
    const open = page.getByRole("button", { name: /^Open/ });
    for (const shownText of ["50", "150", "250"]) {
      await open.getByText(shownText, { exact: true }).waitFor();
      if (shownText !== "250")
        await page.getByRole("button", { name: "Show more tasks that are waiting" }).click();
    }
    // In one commit: what ends bit by bit the live list sees.
    await Promise.all(numbers.map((number) => tasks.change(number, { state: "done" })));
    await open.getByText("0", { exact: true }).waitFor();
    await context.clearCookies();
  });

  it("opens the list of tasks for a link that was cut off", async () => {
    await signIn();
    await page.goto(`${site.url}/operate/#/tasks/%`);
    await page.reload();
    await page.getByRole("button", { name: /^Open/ }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await context.clearCookies();
    expect(complaints.splice(0)).toEqual([]);
  });

  it("explains that the browser did not keep the sign-in", async () => {
    await page.goto(`${site.url}/operate/sign-in`);
    await page.route("**/operate/sign-in", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ status: 200, body: "{}" })
        : route.continue(),
    );
    await page.getByLabel("Token").fill("a-token-of-operators");
    await press("Enter");
    await page.getByRole("alert").getByText("needs https").waitFor();
    await page.unroute("**/operate/sign-in");
  });

  it("asks for a token, opens the requested page, and forgets the token at the sign-out", async () => {
    await page.goto(`${site.url}/operate/#/tasks/${requestIdOf(1)}`);
    await page.getByLabel("Token").fill("wrong");
    await press("Enter");
    await page.getByRole("alert").getByText("This token is not valid.").waitFor();
    await page.getByLabel("Token").fill("a-token-of-operators");
    await press("Enter");
    await page.getByRole("heading", { name: `Task ${requestIdOf(1)}` }).waitFor();
    expect(page.url()).toBe(`${site.url}/operate/#/tasks/${requestIdOf(1)}`);
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(await context.cookies()).toMatchObject([
      { httpOnly: true, sameSite: "Strict", expires: -1 },
    ]);
    await page.getByRole("link", { name: "Dead letters" }).click();
    await page.getByRole("button", { name: /^Redrive 00000000/ }).waitFor();
    expect(await findAxeViolations(page)).toEqual([]);
    await page.getByRole("button", { name: /^Redrive 00000000/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
    await page.getByRole("status").getByText("1 task redriven.").waitFor();
    expect(await tasks.queued()).toMatchObject([{ type: "redrive", requestId: requestIdOf(1) }]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await context.cookies()).toEqual([]);
  });
});
