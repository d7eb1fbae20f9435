import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import type { Browser, Page } from "playwright-core";
import { hangMs } from "../tooling/hang.ts";
import { findChromium, howToInstall, openBrowser } from "./browser.ts";
import { openPage, type Person } from "./person.ts";
import { type Started, startWithPage } from "./started.ts";

const isMissing = findChromium() === undefined;
// CI needs a browser. On a developer's machine the tests are skipped without one.
const withBrowser = isMissing && process.env.CI === undefined ? describe.skip : describe;
if (isMissing) process.stderr.write(`${howToInstall}\n`);

let site: Started;
let browser: Browser;
let page: Page;
let person: Person;
/** Errors of the page, scripts that the policy stopped, and requests to other addresses. */
const complaints: string[] = [];

function isElsewhere(url: string): boolean {
  return !url.startsWith(site.url) && !url.startsWith("data:");
}

withBrowser("the page in a browser", () => {
  beforeAll(async () => {
    [site, browser] = await Promise.all([startWithPage(), openBrowser()]);
    page = await browser.newPage();
    page.setDefaultTimeout(hangMs);
    const complain = (words: string) => void complaints.push(words);
    page.on("pageerror", ({ message }) => complain(message));
    page.on("console", (message) => message.type() === "error" && complain(message.text()));
    page.on("request", (request) => isElsewhere(request.url()) && complain(request.url()));
    person = await openPage({ page, url: site.address("/") });
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });
  afterEach(() => {
    expect(complaints.splice(0)).toEqual([]);
  });

  it("shows the answer in the thread, and the timeline of the task", async () => {
    await person.say("What is a sekisho?");
    await person.thread().getByText("I'm the echo agent.").waitFor();
    expect(await person.thread().locator(".message").count()).toBe(2);
    await person.thread().getByTitle(":white_check_mark:").waitFor();
    await person.thread().getByText("agent: local").waitFor();
    const steps = page.getByRole("list", { name: "Steps" });
    await steps.getByText("Slack sent a signed event").waitFor();
    await page.getByText(/^Answered in \d+\.\d\d s: your agent /).waitFor();
    // A call is one row, and holds its request and its response.
    const call = steps.locator("details", { hasText: "execute_task" });
    await call.locator("summary").click();
    expect(await call.locator("pre").allInnerTexts()).toEqual([
      expect.stringContaining('"method": "execute_task"'),
      expect.stringContaining('"status": "success"'),
    ]);
  });

  it("shows the timeline of the conversation that is open", async () => {
    const request = () => page.getByText(/^Request /).innerText();
    const shownRequest = await request();
    await person.goTo("# random");
    await page.getByText("Send a message to see every step of its task.").waitFor();
    await person.goTo("# general");
    expect(await request()).toBe(shownRequest);
  });

  it("shows the timeline of a task from before a restart by its record", async () => {
    site.restartPage();
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    const steps = page.getByRole("list", { name: "Steps" });
    await steps.getByText("message queued").waitFor();
    await steps.getByText("outcome posted").waitFor();
    await page.getByText(/^Answered in \d/).waitFor();
    expect(await steps.getByText("Slack sent a signed event").count()).toBe(0);
  });

  it("renders Markdown and shows HTML as text", async () => {
    await person.say("long");
    await person.thread().locator("h3").first().waitFor();
    expect(await person.thread().locator("pre").count()).toBeGreaterThan(0);
    await person.say("say <img src=x onerror=alert(1)> and <script>alert(2)</script>");
    await person.thread().getByText("I'm the echo agent.").waitFor();
    expect(await person.thread().locator(".body img, .body script").count()).toBe(0);
    expect(await person.thread().getByText("<script>alert(2)</script>").count()).toBeGreaterThan(1);
  });

  it("shows the agent's question and keeps the focus on a button when the page is redrawn", async () => {
    await person.say("ask me");
    const question = page.getByRole("article").filter({ hasText: "ask me" }).last();
    const yes = question.getByRole("button", { name: "Yes", exact: true });
    await yes.focus();
    site.fakeSlack.postAsOtherBot({ channel: workspace.channel.id, text: "news from elsewhere" });
    await page.getByText("news from elsewhere").waitFor();
    expect(await page.locator(":focus").innerText()).toBe("Yes");
    await page.keyboard.press("Enter");
    await question.getByText("I'm the echo agent.").waitFor();
    expect(await yes.count()).toBe(0);
  });

  it("shows the form of a question as a dialog, reports errors below an input, and sends the values", async () => {
    await person.say("ask form");
    await person.press("Answer");
    const dialog = page.getByRole("dialog", { name: "Your answer" });
    await dialog.getByLabel("Road").selectOption("中山道");
    await dialog.getByLabel("Luggage").selectOption(["Papers", "Umbrella"]);
    await dialog.getByLabel("Travellers").fill("2");
    await dialog.getByLabel("Day of departure").fill("2026-03-31");
    // The browser itself checks lengths, so the server gets what a client that does not would send.
    await dialog.getByLabel("Reason").evaluate((area) => area.removeAttribute("maxlength"));
    await dialog.getByLabel("Reason").fill("x".repeat(301));
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.getByText("This is too long. Use at most 300 characters.").waitFor();
    await dialog.getByLabel("Reason").fill("Business");
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.waitFor({ state: "hidden" });
    await person
      .thread()
      .getByText(
        /road: nakasendo; luggage: papers, umbrella; travellers: 2; day: 2026-03-31; reason: Business/,
      )
      .waitFor();
  });

  it("shows the link of a sign-in in the dialog of the person who asked only, and nowhere else", async () => {
    const link = /example\.com\/sign-in\/[\w-]+/;
    await person.say("ask sign-in");
    await person.thread().getByText("Waiting for @You to sign in.").waitFor();
    await person.press("Sign in");
    const dialog = page.getByRole("dialog", { name: "Sign in" });
    const anchor = dialog.getByRole("link", { name: "Open the sign-in page" });
    expect(await anchor.getAttribute("href")).toMatch(link);
    expect(await anchor.getAttribute("rel")).toContain("noopener");
    await dialog.getByText("The link leads to example.com.").waitFor();
    await dialog.getByRole("button", { name: "I have signed in" }).click();
    await dialog.waitFor({ state: "hidden" });
    await person
      .thread()
      .getByText(/travel papers\. Signed in\./)
      .waitFor();
    await person
      .thread()
      .getByText(/✔ Signed in — @You/)
      .waitFor();
    await page.getByText(/^Answered in/).waitFor();
    for (const frame of await page.getByRole("list", { name: "Steps" }).locator("summary").all())
      await frame.click();
    expect(await page.content()).not.toMatch(link);
  });

  it("sends a message to the bot by the shortcut, with an instruction", async () => {
    await person.say("What is a sekisho?");
    await person.thread().getByText("I'm the echo agent.").waitFor();
    await person.thread().getByRole("button", { name: "Ask about this" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Ask about this" });
    await dialog.getByLabel("What should I do with it?").fill("Translate this");
    await dialog.getByRole("button", { name: "Send" }).click();
    await person.thread().getByText("Translate this").waitFor();
  });

  it("posts a prefilled alert, forwards it with a comment, and shows what the agent reads", async () => {
    await page.getByRole("button", { name: "Post as an alert" }).press("Enter");
    const alert = page.getByRole("dialog", { name: "Post as an alert" });
    await alert.getByRole("button", { name: "Post", exact: true }).press("Enter");
    await alert.waitFor({ state: "hidden" });
    expect(await page.locator(":focus").innerText()).toBe("Post as an alert");
    await person.thread().getByText("Monitoring").waitFor();
    await person.thread().locator(".attachment").getByText("(danger)").waitFor();
    await person.thread().getByRole("button", { name: "Forward" }).press("Enter");
    const form = page.getByRole("dialog", { name: "Forward this message" });
    await form.getByLabel("Comment").fill("What does this mean?");
    await form.getByLabel("To").selectOption("Direct");
    await form.getByRole("button", { name: "Forward", exact: true }).press("Enter");
    await form.waitFor({ state: "hidden" });
    await person.thread().getByText("I'm the echo agent.").waitFor();
    await person.thread().locator(".attachment blockquote").getByText("DiskFull").waitFor();
    expect(await page.getByRole("button", { name: "Post as an alert" }).isDisabled()).toBe(true);
    await person.goTo("# general");
  });

  it("draws plans, tables and blocks that it does not know, and links only to websites", async () => {
    const card = (status: string) => ({
      type: "task_card",
      task_id: status,
      title: `card ${status}`,
      status,
    });
    const cell = (text: string) => ({ type: "raw_text", text });
    const link = { type: "link", url: "javascript:alert(1)", text: "rich link" };
    site.fakeSlack.postAsOtherBot({
      channel: workspace.channel.id,
      text: "the fallback",
      blocks: [
        { type: "plan", title: "The plan", tasks: [card("complete"), card("in_progress")] },
        {
          type: "table",
          rows: [
            [cell("Road"), cell("Gate")],
            [cell("Tokaido"), cell("<b>Hakone</b>")],
          ],
        },
        { type: "rich_text", elements: [{ type: "rich_text_section", elements: [link] }] },
        { type: "block_of_tomorrow", text: "words of tomorrow" },
      ],
    });
    const message = page.getByRole("article").last();
    await message.getByText("✓ card complete").waitFor();
    await message.getByText("▸ card in_progress").waitFor();
    expect(await message.getByRole("cell").allInnerTexts()).toEqual(["Tokaido", "<b>Hakone</b>"]);
    await message.getByText("words of tomorrow").waitFor();
    await message.getByText("rich link").waitFor();
    expect(await message.locator("a").count()).toBe(0);
  });

  it("suggests the agent's prompts in the direct messages", async () => {
    await person.goTo("Direct");
    await page.getByRole("button", { name: "Introduce yourself" }).press("Enter");
    await person.thread().getByText("I'm the echo agent.").waitFor();
    await person.thread().getByText("Who are you?", { exact: true }).waitFor();
    await person.goTo("# general");
  });

  it("forwards a message to the open thread", async () => {
    await person.say("What is a barrier?");
    await person.thread().getByText("I'm the echo agent.").waitFor();
    await person.press("Reply in thread");
    await person.thread().getByRole("button", { name: "Forward" }).first().click();
    const form = page.getByRole("dialog", { name: "Forward this message" });
    await form.getByLabel("To").selectOption("The open thread");
    await form.getByRole("button", { name: "Forward", exact: true }).click();
    await person
      .thread()
      .locator(".replies .attachment blockquote")
      .first()
      .getByText("What is a barrier?")
      .waitFor();
  });

  it("accepts a reply to a question as text in the thread", async () => {
    await person.say("ask me");
    await person.thread().getByRole("button", { name: "Yes", exact: true }).waitFor();
    await person.press("Reply in thread");
    await person.thread().getByText("You are replying here").waitFor();
    await page.getByText(/^Replying to “@Sekisho ask me”/).waitFor();
    await person.type("as you like");
    await person.thread().getByText("I'm the echo agent.").waitFor();
  });

  it("accepts a vote on the answer, shows it, and replaces it with the next vote", async () => {
    await person.say("What is a vote?");
    const [up, down] = ["👍 Helpful", "👎 Not helpful"].map((name) =>
      person.thread().getByRole("button", { name, exact: true }),
    );
    await up?.click();
    await person.thread().locator('button[aria-pressed="true"]', { hasText: "👍" }).waitFor();
    await down?.click();
    await person.thread().locator('button[aria-pressed="true"]', { hasText: "👎" }).waitFor();
    expect(await person.thread().locator('button[aria-pressed="true"]').count()).toBe(1);
  });

  it("cancels a task by the button on its placeholder", async () => {
    await person.say("slow 60s");
    await person.press("Cancel");
    await person
      .thread()
      .getByText(/cancel+ed|stopped/i)
      .waitFor();
    await page.getByText(/^Stopped after/).waitFor();
  });

  it("tells a person without access whom to ask", async () => {
    await person.goTo("# random");
    await person.say("What is a sekisho?");
    await page.getByText("the platform team").waitFor();
    expect(await person.thread().locator(".message").count()).toBe(1);
    await person.goTo("# general");
  });

  it("reports the failure of the agent in plain words", async () => {
    await person.say("fail");
    await person.thread().getByTitle(":x:").waitFor();
    expect(await person.thread().locator(".message").last().innerText()).not.toMatch(
      /Error|-32|execution_failed/,
    );
    await page.getByText(/^Failed after/).waitFor();
    // The steps before and after the failure succeeded.
    expect(await page.locator(".step.failed").count()).toBe(1);
  });

  it("sends a file to the agent and offers a file of the agent for download", async () => {
    const file = {
      name: "travellers.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("name,stamp\nBasho,yes\n"),
    };
    await page.getByLabel("Attach files").setInputFiles(file);
    await page.getByLabel("Files to send").getByText("travellers.csv").waitFor();
    await person.say("read files");
    await person
      .thread()
      .getByText(/travellers\.csv.*21 bytes/)
      .waitFor();
    await person.say("file");
    const link = person.thread().getByRole("link", { name: "checkpoints.csv" });
    await link.waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    expect(download.suggestedFilename()).toBe("checkpoints.csv");
  });
});
