/**
 * Pictures of the local page and of the operators' page for the documentation, into `docs/images/`. Emoji and Japanese are only as good as the fonts of
 * the machine: on Debian `fonts-noto-color-emoji` and `fonts-vlgothic` (or Noto CJK).
 */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { openPage, type Person } from "./person.ts";
import { startWithPage } from "./started.ts";

type Shot = {
  name: string;
  scheme?: "light" | "dark";
  stage: (person: Person, page: Page) => Promise<void>;
};

const answered = (person: Person) => person.thread().getByText("I am the echo agent.").waitFor();

const shots: readonly Shot[] = [
  {
    name: "answer",
    async stage(person) {
      await person.say("What is a sekisho?");
      await answered(person);
      await person.thread().getByTitle(":white_check_mark:").waitFor();
    },
  },
  {
    name: "long-answer",
    async stage(person, page) {
      await person.say("long");
      await person.thread().getByTitle(":white_check_mark:").waitFor();
      await person.thread().locator("h3").nth(1).scrollIntoViewIfNeeded();
      await page.mouse.move(300, 300);
      await page.mouse.wheel(0, 120);
    },
  },
  {
    name: "question",
    async stage(person) {
      await person.say("ask me");
      await person.thread().getByRole("button", { name: "Yes", exact: true }).waitFor();
    },
  },
  {
    name: "refusal",
    async stage(person, page) {
      await person.goTo("# random");
      await person.say("What is a sekisho?");
      await page.getByText("the platform team").waitFor();
    },
  },
  {
    name: "failure",
    async stage(person) {
      await person.say("fail");
      await person.thread().getByTitle(":x:").waitFor();
    },
  },
];

/** A few tasks for the operators' page. */
const busy = async (person: Person) => {
  for (const text of ["What is a sekisho?", "fail", "ask me", "slow 60s"]) await person.say(text);
};
const openOperators = async (page: Page, path: string) => {
  await page.goto(new URL(`/operate/#/${path}`, page.url()).href);
  await page.getByText("live", { exact: true }).waitFor();
};

const operators: readonly Shot[] = [
  {
    name: "operators-tasks",
    async stage(person, page) {
      await busy(person);
      await openOperators(page, "tasks");
      await page.locator(".row.open", { hasText: "waiting" }).waitFor();
      await page.waitForTimeout(7000);
    },
  },
  {
    name: "operators-task",
    scheme: "dark",
    async stage(person, page) {
      await person.say("slow 3s");
      await person.thread().getByTitle(":white_check_mark:").waitFor();
      await openOperators(page, "tasks");
      await page.locator(".row.good").first().click();
      await page.getByRole("list", { name: "Steps" }).getByText("execute_task").first().waitFor();
    },
  },
  {
    name: "operators-destinations",
    async stage(_person, page) {
      await openOperators(page, "destinations");
      await page.getByText("unreachable", { exact: true }).waitFor();
      await page.getByText("healthy", { exact: true }).waitFor();
    },
  },
];

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** Names of pictures; without any, all. */
const only = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const { name, stage, scheme = "light" } of [...shots, ...operators]) {
  if (only.length > 0 && !only.includes(name)) continue;
  // A fake Slack of its own, so that each picture tells one story.
  const started = await startWithPage();
  const page = await browser.newPage({ viewport: { width: 1100, height: 560 }, colorScheme: scheme });
  await stage(await openPage({ page, url: started.address("/") }), page);
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${folder}${name}.png`, animations: "disabled", caret: "hide" });
  await page.close();
  await started.close();
}
await browser.close();
