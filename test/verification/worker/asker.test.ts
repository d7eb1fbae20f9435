/** Whose word each call brings, from what Slack sends to what a told destination gets to know. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  interpretPayload,
  type VerifiedPayload,
} from "@sekisho/verification/ingress/interpret-payload.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type {
  AskMessage,
  MessageChange,
  UserMessage,
} from "@sekisho/verification/task/messages.ts";
import { retryIdOf } from "@sekisho/verification/task/routing.ts";
import { receivedTask } from "@sekisho/verification/task/task.ts";
import { findAsker } from "@sekisho/verification/worker/asker.ts";
import { createWorld, type WorldOptions } from "../../world/world.ts";
import { fixture } from "../ingress/slack-request.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();
const told = { destination: { asker: { getsEmail: false } } };
const question = { prompt: "Shall I?", options: [{ id: "yes", label: "Yes" }] };

type World = ReturnType<typeof createWorld>;

/** The user of each call of the method, `undefined` for a call without a person. */
function usersOf({ askers }: World, method: World["askers"][number]["method"]) {
  return askers.filter((call) => call.method === method).map(({ asker }) => asker?.person.user);
}

async function askingWorld(options: WorldOptions = {}, asked: AskMessage = ask): Promise<World> {
  const world = createWorld({ questions: [question], ...told, ...options });
  world.deliver(asked);
  const task = () => world.taskOf(asked);
  await world.run({
    until: () => task()?.question?.ts !== undefined && task()?.lease === undefined,
  });
  return world;
}

/** The message of the queue that the ingress makes of a payload. */
function readPayload(type: VerifiedPayload["type"], payload: unknown): AskMessage | MessageChange {
  const reading = interpretPayload({
    verified: { type, payload },
    nowMs: 1_762_750_300_000,
    newTrace: createTrace,
  });
  if (!("message" in reading) || !("message" in reading.message))
    throw new Error("The payload is no message.");
  return reading.message;
}

/** The modal of the message shortcut, which hanako submits about a message of somebody else. */
function shortcutPayload() {
  const payload = fixture("view-submission");
  const metadata = {
    channel: "C0CHAN0001",
    ts: "1762740000.000100",
    threadTs: "1762730000.000100",
    actionTs: "1762750299.123456",
    locale: "en",
  };
  const view = {
    ...Object(payload).view,
    callback_id: "sekisho_ask_about",
    private_metadata: JSON.stringify(metadata),
    blocks: [],
    state: { values: {} },
  };
  return { ...payload, view };
}

const deployedBy = (event: object) => {
  const payload = fixture("bot-message");
  return { ...payload, event: { ...payload.event, ...event } };
};

describe("the asker of a task", () => {
  it.each<[string, VerifiedPayload["type"], unknown, object | undefined]>([
    ["a mention", "events_api", fixture("app-mention"), { team: "T0TEAM0001", user: "U0USER0001" }],
    [
      "a direct message",
      "events_api",
      fixture("message-im"),
      { team: "T0TEAM0001", user: "U0USER0001" },
    ],
    [
      "a reply in the thread of somebody else",
      "events_api",
      fixture("thread-reply"),
      { team: "T0TEAM0001", user: "U0USER0001" },
    ],
    [
      "a slash command",
      "slash_commands",
      fixture("slash-command"),
      { team: "T0TEAM0001", user: "U0USER0001" },
    ],
    [
      "the message shortcut",
      "interactive",
      shortcutPayload(),
      { team: "T0TEAM0001", user: "U0USER0001" },
    ],
    [
      "an edited message",
      "events_api",
      fixture("message-changed"),
      { team: "T0TEAM0001", user: "U0USER0001" },
    ],
    [
      "a message in an organization",
      "events_api",
      fixture("enterprise-grid"),
      { team: "T0GRID0001", enterprise: "E0ORG00001", user: "U0USER0001" },
    ],
    [
      "a message from another organization",
      "events_api",
      fixture("slack-connect"),
      { team: "T0TEAM0001", user: "U0GUEST001" },
    ],
    ["a bot without a user", "events_api", fixture("bot-message"), undefined],
    [
      "a bot with a user",
      "events_api",
      deployedBy({ subtype: undefined, user: "U0USER0009", app_id: "A0OTHER001" }),
      undefined,
    ],
    [
      "a workflow",
      "events_api",
      deployedBy({ workflow_id: "Wf0FLOW0001", app_id: "A0FLOW0001" }),
      undefined,
    ],
  ])("names who wrote it: %s", async (_name, type, payload, person) => {
    const about = { ts: "1762740000.000100", text: "The gate is closed.", user: "U0USER0002" };
    const inSlack = [{ ...about, channel: "C0CHAN0001" }];
    const world = createWorld({ pollsUntilDone: 1, inSlack, ...told });
    const message = readPayload(type, payload);
    await world.deliver(message).run();
    expect(world.askers.map(({ method }) => method)).toEqual(["execute_task", "get_task"]);
    for (const { method, asker } of world.askers) {
      const isOwnWord = method === "execute_task";
      expect(asker).toEqual(
        person && {
          person: expect.objectContaining(person),
          requestId: message.requestId,
          isOwnWord,
        },
      );
    }
  });

  it("stays the same in a retry by its button, which nobody else may click", async () => {
    const { withoutRetry } = createTaskText({ locale: "en" });
    const story = () => {
      throw new SekishoError("execution_failed");
    };
    const inSlack = [{ ts: ask.message.ts, text: ask.message.text }];
    const world = createWorld({ story, inSlack, text: { withoutRetry }, ...told });
    await world.deliver(ask).run();
    const click = { atMs: askedAtMs + 600_000 };
    await world.clickButton(sampleClick({ type: "retry" }, { ...click, user: "U2" })).run();
    expect(usersOf(world, "execute_task")).toEqual(["U1"]);
    await world.clickButton(sampleClick({ type: "retry" }, click)).run();
    expect(usersOf(world, "execute_task")).toEqual(["U1", "U1"]);
  });

  it("stays the same in an operator's retry and after a redrive", async () => {
    const inSlack = [{ ts: ask.message.ts, text: ask.message.text }];
    const world = createWorld({ inSlack, pollsUntilDone: 1, ...told });
    await world.deliver(ask).run({ until: () => usersOf(world, "execute_task").length === 1 });
    world.loseMessages();
    world.pass(600_000);
    await world.redrive(ask.requestId).run();
    const requestId = retryIdOf({ originalId: ask.requestId, count: 1 });
    const retry = { ...ask, requestId, retryOf: ask.requestId, receivedAtMs: world.now() };
    await world.deliver({ ...retry, message: { ...ask.message, text: "" } }).run();
    expect(world.answers()).toHaveLength(2);
    expect(new Set(world.askers.map(({ asker }) => asker?.person.user))).toEqual(new Set(["U1"]));
    expect(usersOf(world, "execute_task").length).toBeGreaterThan(1);
  });

  it("names the writer of each message of a thread", async () => {
    const world = createWorld({ pollsUntilDone: 1, ...told });
    await world.deliver(numberedAsk(1)).run();
    const threadTs = sampleAsk().message.ts;
    const ts = `${askedAtMs / 1000 + 600}.000100`;
    await world.deliver(numberedAsk(2, { user: "U2", ts, threadTs })).run();
    expect(usersOf(world, "execute_task")).toEqual(["U1", "U2"]);
    expect(usersOf(world, "get_task")).toEqual(["U1", "U2"]);
    expect(world.askers.map(({ asker }) => asker?.person.thread)).toEqual(Array(4).fill(threadTs));
  });

  it("still names who asked when somebody else cancels", async () => {
    const world = createWorld({
      pollsUntilDone: 50,
      gate: { mayCancel: async () => true },
      ...told,
    });
    await world.deliver(ask).run({ until: () => usersOf(world, "get_task").length === 1 });
    await world.clickButton(sampleClick({ type: "cancel" }, { user: "U2" })).run();
    expect(usersOf(world, "cancel_task")).toEqual(["U1"]);
  });

  it("still names who asked when somebody else votes", async () => {
    const world = createWorld(told);
    await world.deliver(ask).run();
    const click = { user: "U2", atMs: askedAtMs + 600_000 };
    await world.clickButton(sampleClick({ type: "feedback", vote: "up" }, click)).run();
    expect(world.askers.at(-1)).toMatchObject({
      method: "feedback",
      asker: { person: { user: "U1" }, isOwnWord: false },
    });
  });

  it("reaches no destination that is not to know", async () => {
    const world = await askingWorld({ destination: {}, pollsUntilDone: 1 });
    await world.clickButton(sampleClick({ type: "answer", question: 0, option: 0 })).run();
    await world.clickButton(sampleClick({ type: "feedback", vote: "up" })).run();
    expect(new Set(world.askers.map(({ method }) => method)).size).toBeGreaterThan(2);
    expect(world.askers.filter((call) => "asker" in call && call.asker !== undefined)).toEqual([]);
  });
});

describe("the asker of an answer", () => {
  const mayAnswer = { gate: { mayAnswer: async () => true } };
  const lateTs = `${askedAtMs / 1000 + 600}.000100`;
  const reply = (message: Partial<UserMessage>) =>
    numberedAsk(2, {
      ...{ ts: lateTs, threadTs: ask.message.ts, unaddressed: true, text: "Rather not" },
      ...message,
    });

  it.each([
    [
      "a button",
      (world: World) =>
        world.clickButton(sampleClick({ type: "answer", question: 0, option: 0 }, { user: "U2" })),
    ],
    ["a text in the thread", (world: World) => world.deliver(reply({ user: "U2" }))],
    [
      "a form",
      (world: World) =>
        world.interact({
          ...{ type: "form_submitted", requestId: ask.requestId, team: "T1", user: "U2" },
          ...{ atMs: askedAtMs + 600_000, question: 0, values: { "0": "me" } },
          submissionId: numberedAsk(9).requestId,
        }),
    ],
  ])("names who gave it, in the thread of another person: %s", async (name, act) => {
    const fields = [{ id: "who", label: "Who?", type: "text" as const, required: true }];
    const questions = name === "a form" ? [{ prompt: "Who?", fields }] : [question];
    const world = await askingWorld({ ...mayAnswer, questions, pollsUntilDone: 1 });
    await act(world).run();
    expect(world.askers.find(({ method }) => method === "answer_task")?.asker).toMatchObject({
      person: { user: "U2", thread: ask.message.ts },
      requestId: ask.requestId,
      isOwnWord: true,
    });
    // The task stays the one of who asked.
    expect(usersOf(world, "get_task")).toEqual(Array(usersOf(world, "get_task").length).fill("U1"));
    expect(world.posts.filter(({ key }) => isOutcome(key))).toHaveLength(1);
  });

  it("never names a bot, whose message is a task of its own", async () => {
    const world = await askingWorld(mayAnswer);
    const { unaddressed: _unaddressed, ...message } = reply({ user: "U9", botIds: ["B9"] }).message;
    await world.deliver({ ...reply({}), message }).run();
    expect(world.replies).toEqual([]);
    expect(usersOf(world, "execute_task")).toStrictEqual(["U1", undefined]);
  });

  it("names the person who answers the question of a bot's task", async () => {
    const botAsk = sampleAsk({ user: "U9", botIds: ["B9"] });
    const world = await askingWorld(mayAnswer, botAsk);
    const click = { user: "U2" };
    await world.clickButton(sampleClick({ type: "answer", question: 0, option: 0 }, click)).run();
    expect(usersOf(world, "execute_task")).toStrictEqual([undefined]);
    expect(usersOf(world, "answer_task")).toEqual(["U2"]);
  });
});

describe("the asker's e-mail address", () => {
  const { signal } = new AbortController();

  it.each([
    [{ getsEmail: true }, ["U1"], "kim@example.com"],
    [{ getsEmail: false }, [], undefined],
    [undefined, [], undefined],
  ])("costs a lookup only for a destination that gets it: %j", async (asker, users, email) => {
    const lookups: string[] = [];
    const findEmail = async ({ user }: { user: string }) => {
      lookups.push(user);
      return "kim@example.com";
    };
    const task = receivedTask(ask);
    const request = { destination: { asker }, task, isOwnWord: true, findEmail, signal };
    const callAsker = await findAsker(request);
    expect(callAsker?.person.email).toBe(email);
    expect(lookups).toEqual(users);
  });

  it("does not keep the call waiting if Slack does not say it", async () => {
    const findEmail = async () => undefined;
    const destination = { asker: { getsEmail: true } };
    const request = { destination, task: receivedTask(ask), isOwnWord: true, findEmail, signal };
    expect((await findAsker(request))?.person).not.toHaveProperty("email");
  });
});
