/** The message shortcut: a message of anybody becomes a task in its thread, asked by whoever chose it, with its files and an instruction. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { type E2eWorld, startWorld, textsOf, until } from "./world.ts";

const callbackId = "sekisho_ask_about";
const instructionLabel = "What should I do with it?";
let world: E2eWorld;

beforeAll(async () => {
  world = await startWorld({
    transport: "https",
    slack: { shortcut: {} },
    allowed: false,
    allowlist: [{ team: workspace.team, user: "UPERSON" }],
  });
});
afterAll(() => world.close());

/** Somebody writes what is not for the bot. */
function written(
  text: string,
  more: { files?: { name: string; bytes: Uint8Array }[]; channel?: string } = {},
) {
  // The event goes nowhere.
  const { message } = world.fakeSlack.ask({
    eventsUrl: world.fakeSlack.apiUrl,
    text,
    user: "UHANAKO",
    ...more,
  });
  return message;
}

async function choose(message: { channel: string; ts: string }, user = "UPERSON") {
  const { fakeSlack, eventsUrl } = world;
  const known = fakeSlack.modals().map(({ id }) => id);
  const { delivered } = fakeSlack.useShortcut({
    eventsUrl,
    channel: message.channel,
    ts: message.ts,
    callbackId,
    user,
  });
  expect((await delivered).status).toBe(200);
  return until(() =>
    fakeSlack.modals().find(({ id, user: whose }) => whose === user && !known.includes(id)),
  );
}

describe("the message shortcut", () => {
  it("hands the message with its files to the agent, and answers in its thread", async () => {
    const bytes = new TextEncoder().encode("a,b");
    const message = written("Please look at the list", { files: [{ name: "list.csv", bytes }] });
    const { id } = await choose(message);
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn: {} });
    const answer = await until(() =>
      world.answersTo(message).find(({ text }) => text.includes("echo agent")),
    );
    expect(answer.text).toMatch(/You wrote and attached a file:\n.*Please look at the list/);
    expect(answer.threadTs).toBe(message.ts);
  });

  it("puts the instruction before the message, and takes a repeated submission once", async () => {
    const message = written("The gate is closed\nfrom sunset on");
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

  it("goes through the gate as a mention does", async () => {
    const message = written("Who may ask about this?");
    const { id } = await choose(message, "UHANAKO");
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn: {} });
    const refusal = await until(() =>
      world.fakeSlack.ephemeralMessages().find(({ user }) => user === "UHANAKO"),
    );
    expect(refusal.text).toContain("こちらでの利用が許可されていません");
    expect(textsOf(world.answersTo(message))).toBe("");
  });

  it("says so where the bot is not in the channel", async () => {
    const message = written("Nobody but us is here", { channel: "CWITHOUT" });
    const { view } = await choose(message);
    expect(view.submit).toBeUndefined();
    expect(JSON.stringify(view.blocks)).toContain("I'm not in this conversation");
  });

  it("obeys the rule for channels that are shared with others", async () => {
    const message = written("Both of us read this", { channel: "CSHARED" });
    const { id, view } = await choose(message);
    expect(view.private_metadata).toContain("channels");
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn: {} });
    const refusal = await until(() =>
      world.fakeSlack.ephemeralMessages().find(({ channel }) => channel === "CSHARED"),
    );
    expect(refusal.text).toContain("other organizations");
  });

  it("tells the person alone where the message is gone", async () => {
    const message = written("Never mind");
    const { id } = await choose(message);
    world.fakeSlack.remove({
      eventsUrl: world.fakeSlack.apiUrl,
      channel: message.channel,
      ts: message.ts,
    });
    await world.fakeSlack.submitModal({ eventsUrl: world.eventsUrl, id, filledIn: {} });
    const notice = await until(() =>
      world.fakeSlack.ephemeralMessages().find(({ text }) => text.includes("deleted")),
    );
    expect(notice.user).toBe("UPERSON");
  });
});
