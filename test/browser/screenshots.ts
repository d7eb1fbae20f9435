/**
 * Pictures of the local page and of the operators' page. `npm run screenshots` makes those of the documentation, into `docs/images/`.
 * `npm run screenshots -- --all FOLDER` makes one of every state in each language and colour scheme, on a wide screen and on a phone, to
 * look at. Names of states after that choose some. Emoji and Japanese are only as good as the fonts of the machine: on Debian
 * `fonts-noto-color-emoji` and `fonts-vlgothic` (or Noto CJK).
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { openPage, type Person } from "./person.ts";
import { startWithPage } from "./started.ts";

type Shot = {
  name: string;
  /** Only with `--all`. */
  isExtra?: true;
  scheme?: "light" | "dark";
  stage: (person: Person, page: Page) => Promise<void>;
};

const answered = (person: Person) => person.thread().getByText("I'm the echo agent.").waitFor();

async function postAlert(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Post as an alert" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Post", exact: true }).click();
  await page.getByText("Monitoring").waitFor();
}

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
    name: "alert",
    async stage(person, page) {
      await postAlert(page);
      await person.reply("@Sekisho what should I do?");
      await answered(person);
      await person.thread().getByTitle(":white_check_mark:").waitFor();
      await person.thread().locator(".message").first().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "forward",
    async stage(person, page) {
      await postAlert(page);
      await person.press("Forward");
      const form = page.getByRole("dialog", { name: "Forward this message" });
      await form.getByLabel("Comment").fill("What does this mean?");
      await form.getByLabel("To").selectOption("Direct");
      await form.getByRole("button", { name: "Forward", exact: true }).click();
      await answered(person);
      await person.thread().getByTitle(":white_check_mark:").waitFor();
      await person.thread().locator(".message").first().scrollIntoViewIfNeeded();
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

const more = (
  [
    { name: "empty", stage: async () => {} },
    {
      name: "timeline",
      async stage(person, page) {
        await person.say("progress");
        await person.thread().getByTitle(":white_check_mark:").waitFor();
        const steps = page.getByRole("list", { name: "Steps" });
        await steps.getByText("execute_task").first().click();
        await page.setViewportSize({ width: 390, height: 844 });
        await page.getByRole("button", { name: "Timeline", exact: true }).click();
      },
    },
    {
      name: "working",
      async stage(person) {
        await person.say("stream, slow 60s");
        await person.thread().getByRole("button").first().waitFor();
      },
    },
    {
      name: "canceled",
      async stage(person) {
        await person.say("slow 60s");
        await person
          .thread()
          .getByRole("button", { name: /^(Cancel|キャンセル)/ })
          .click();
        await person
          .thread()
          .getByRole("button", { name: /^(Cancel|キャンセル)/ })
          .waitFor({ state: "detached" });
      },
    },
    {
      name: "answered-question",
      async stage(person) {
        await person.say("ask me");
        await person.press("Yes");
        await person.thread().getByTitle(":white_check_mark:").waitFor();
      },
    },
    {
      name: "files",
      async stage(person) {
        await person.say("file");
        await person.thread().getByTitle(":white_check_mark:").waitFor();
      },
    },
    {
      name: "form",
      async stage(person, page) {
        await person.say("ask form");
        await person
          .thread()
          .getByRole("button", { name: /^(Answer|回答)/ })
          .click();
        await page.getByRole("dialog").waitFor();
      },
    },
    {
      name: "shortcut",
      async stage(person, page) {
        await person.say("What is a sekisho?");
        await answered(person);
        await person.thread().getByRole("button", { name: "Ask about this" }).first().click();
        await page.getByRole("dialog").waitFor();
      },
    },
    {
      name: "vote",
      async stage(person) {
        await person.say("progress");
        await person.thread().getByRole("button", { name: /👍/ }).click();
        await person.thread().locator('button[aria-pressed="true"]').waitFor();
      },
    },
    {
      name: "help",
      async stage(person) {
        await person.say("help");
        await person
          .thread()
          .getByText(/My Home tab|ホームタブ/)
          .first()
          .waitFor();
      },
    },
  ] satisfies Shot[]
).map((shot) => ({ ...shot, isExtra: true as const }));

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

const moreOperators: readonly Shot[] = [
  {
    name: "operators-dead-letters",
    isExtra: true,
    stage: (_person, page) => openOperators(page, "dead-letters"),
  },
  {
    name: "operators-missing-task",
    isExtra: true,
    async stage(_person, page) {
      await openOperators(page, "tasks/00000000-0000-5000-8000-000000000000");
      await page.getByText("There is no task").waitFor();
    },
  },
  {
    name: "operators-cancel",
    isExtra: true,
    async stage(person, page) {
      await person.say("slow 60s");
      await openOperators(page, "tasks");
      await page.locator(".row.open").first().click();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "operators-signed-out",
    isExtra: true,
    async stage(_person, page) {
      await openOperators(page, "tasks");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByText("Open the address that the command printed").waitFor();
    },
  },
];

const pictures = { type: "png", animations: "disabled", caret: "hide" } as const;
const languages = { en: undefined, ja: "UHANAKO" } as const;
const widths = { 1366: 768, 390: 844 } as const;
const schemes = ["light", "dark"] as const;

/** Each state has a fake Slack of its own, so that each picture tells one story. */
async function show(
  shot: Shot,
  viewport: { width: number; height: number },
  writer: string | undefined,
) {
  const site = await startWithPage();
  const page = await browser.newPage({ viewport, colorScheme: shot.scheme ?? "light" });
  const person = await openPage({ page, url: site.address("/") });
  if (writer !== undefined) await page.getByLabel("Write as").selectOption(writer);
  await shot.stage(person, page);
  await page.waitForTimeout(700);
  return {
    page,
    async close() {
      await page.close();
      await site.close();
    },
  };
}

async function picture(shot: Shot, folder: string): Promise<void> {
  const shownText = await show(shot, { width: 1100, height: 680 }, undefined);
  await shownText.page.screenshot({ path: join(folder, `${shot.name}.png`), ...pictures });
  await shownText.close();
}

async function allPictures(shot: Shot, folder: string): Promise<void> {
  for (const [language, writer] of Object.entries(languages)) {
    const shownText = await show(shot, { width: 1366, height: 768 }, writer);
    for (const [width, height] of Object.entries(widths)) {
      for (const colorScheme of schemes) {
        await shownText.page.setViewportSize({ width: Number(width), height });
        await shownText.page.emulateMedia({ colorScheme });
        await shownText.page.waitForTimeout(200);
        const path = join(folder, `${shot.name}.${language}.${colorScheme}.${width}.png`);
        await shownText.page.screenshot({ path, ...pictures });
      }
    }
    await shownText.close();
  }
}

const { values, positionals: only } = parseArgs({
  options: { all: { type: "string" } },
  allowPositionals: true,
});
const folder = values.all ?? fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const shot of [...shots, ...more, ...operators, ...moreOperators]) {
  if (only.length > 0 ? !only.includes(shot.name) : shot.isExtra && values.all === undefined)
    continue;
  await (values.all === undefined ? picture(shot, folder) : allPictures(shot, folder));
}
await browser.close();
