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
import { findChromium, openBrowser } from "./browser.ts";
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

/** As the style sheet says it, such as `#f4f2ee`. */
async function colour(name: string): Promise<string> {
  const value = await page.evaluate(`getComputedStyle(document.body).getPropertyValue("${name}")`);
  return String(value).trim();
}

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
  const focusedRow = () => page.evaluate("document.activeElement.dataset.key") as Promise<string>;

  it("supports the keyboard for the list, a task, its steps and frames, and the way back", async () => {
    await rows().nth(1).waitFor();
    await press("j");
    const first = await focusedRow();
    expect(first).toMatch(/^row\//);
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

  it.each([
    ["light", 1100],
    ["dark", 1100],
    ["light", 400],
    ["dark", 400],
  ] as const)(
    "fits every view in the %s scheme into a width of %i, with readable contrast",
    async (scheme, width) => {
      await context.close();
      page = await openTab(scheme, width);
      await page.goto(startedSite.address("/operate/"));
      for (const path of ["tasks", "destinations", "dead-letters"]) {
        await page.goto(`${startedSite.url}/operate/#/${path}`);
        await page.getByText("live", { exact: true }).waitFor();
        expect(
          await page.evaluate("document.documentElement.scrollWidth - innerWidth"),
        ).toBeLessThanOrEqual(0);
      }
      const [ground = "", ...inks] = await Promise.all(
        ["--ground", "--ink", "--soft", "--bad", "--good"].map(colour),
      );
      for (const ink of inks) expect(ratio(ground, ink)).toBeGreaterThan(4);
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
    await page.getByRole("button", { name: /^Redrive 00000000/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Redrive" }).click();
    await page.getByRole("status").getByText("1 task redriven.").waitFor();
    expect(await tasks.queued()).toMatchObject([{ type: "redrive", requestId: requestIdOf(1) }]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    expect(await context.cookies()).toEqual([]);
  });
});

/** WCAG 2.2, contrast of two colours as #rrggbb. */
function ratio(one: string, other: string): number {
  const [light = 0, dark = 0] = [one, other].map(luminance).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
