/** The message shortcut: a message of anybody becomes a task in its thread, asked by whoever chose it, with its files and an instruction. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type E2eWorld, startWorld, until } from "./world.ts";

const callbackId = "sekisho_ask_about";
const instructionLabel = "What should I do with it?";
let world: E2eWorld;

beforeAll(async () => {
  world = await startWorld({ transport: "https", slack: { shortcut: {} } });
});
afterAll(() => world.close());

/** Somebody writes what is not for the bot. */
function createMessage(text: string, more: { files?: { name: string; bytes: Uint8Array }[] } = {}) {
  // The event goes nowhere.
  const { message } = world.fakeSlack.ask({
    eventsUrl: world.fakeSlack.apiUrl,
    text,
    user: "UHANAKO",
    ...more,
  });
  return message;
}

async function choose({ channel, ts }: { channel: string; ts: string }) {
  const { fakeSlack, eventsUrl } = world;
  const known = fakeSlack.modals().map(({ id }) => id);
  const user = workspace.person;
  const { delivered } = fakeSlack.useShortcut({ eventsUrl, channel, ts, callbackId, user });
  expect((await delivered).status).toBe(200);
  return until(() => fakeSlack.modals().find(({ id }) => !known.includes(id)));
}

describe("the message shortcut", () => {
  it("sends the message with its files to the agent, and answers in its thread", async () => {
    const bytes = new TextEncoder().encode("a,b");
    const message = createMessage("Please look at the list", {
      files: [{ name: "list.csv", bytes }],
    });
    const { id } = await choose(message);
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn: {} });
    const answer = await until(() =>
      world.answersTo(message).find(({ text }) => text.includes("echo agent")),
    );
    expect(answer.text).toMatch(/You wrote and attached a file:\n.*Please look at the list/);
    expect(answer.threadTs).toBe(message.ts);
  });

  it("puts the instruction before the message, and accepts a repeated submission once", async () => {
    const message = createMessage("The gate is closed\nfrom sunset on");
    const { id } = await choose(message);
    const filledIn = { [instructionLabel]: "Translate this" };
    const submit = () => world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn });
    expect(await Promise.all([submit(), submit()])).toMatchObject([
      { status: 200 },
      { status: 200 },
    ]);
    const answers = () =>
      world.answersTo(message).filter(({ text }) => text.includes("echo agent"));
    const [answer] = await until(() => answers().length > 0 && answers());
    expect(answer?.text).toMatch(
      /You wrote:\nTranslate this\s+> .*The gate is closed\n> from sunset on/,
    );
    // Another use of the same message is another task.
    const { id: second } = await choose(message);
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id: second, filledIn: {} });
    await until(() => answers().length > 1);
    expect(answers()).toHaveLength(2);
  });
});
