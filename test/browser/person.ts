/** The actions of a person on the local page, by the labels that the page shows. */
import type { Locator, Page } from "playwright-core";

export type Person = {
  /** Writes in the conversation itself, also after a reply in a thread. */
  say(text: string): Promise<void>;
  reply(text: string): Promise<void>;
  /** Writes wherever the field leads. */
  type(text: string): Promise<void>;
  /** The thread of the latest message in the conversation. */
  thread(): Locator;
  press(label: string): Promise<void>;
  goTo(place: string): Promise<void>;
};

export async function openPage({ page, url }: { page: Page; url: string }): Promise<Person> {
  await page.goto(url);
  await page.getByText("live", { exact: true }).waitFor();
  const thread = () => page.getByRole("article").last();
  const press = (label: string) =>
    thread().getByRole("button", { name: label, exact: true }).click();
  const type = async (text: string) => {
    await page.getByLabel("Message", { exact: true }).fill(text);
    await page.getByLabel("Message", { exact: true }).press("Enter");
  };
  return {
    async say(text) {
      const leave = page.getByRole("button", { name: "Leave thread" });
      if (await leave.isVisible()) await leave.click();
      const count = await page.getByRole("article").count();
      await type(text);
      await page.getByRole("article").nth(count).waitFor();
    },
    async reply(text) {
      await press("Reply in thread");
      await type(text);
    },
    type,
    thread,
    press,
    goTo: (place) => page.getByRole("navigation").getByRole("button", { name: place }).click(),
  };
}
