/** Where one can ask: in a thread without a mention, by a slash command, in direct messages with an agent; and who hears what. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { FileRefused } from "@sekisho/verification/files/files.ts";
import type { Gate } from "@sekisho/verification/gate/gate.ts";
import type { ButtonClick, UserMessage } from "@sekisho/verification/task/messages.ts";
import { failing, faultKinds, nthFault, refuseContent } from "../../world/faults.ts";
import { createWorld, runWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk, sampleFile } from "../task/sample.ts";
import { sampleClick } from "./sample-click.ts";

const ask = sampleAsk();

/** A message of somebody; `n` tells them apart, and says how many seconds after the first it comes. */
function say(n: number, message: Partial<UserMessage>) {
  return numberedAsk(n, { ts: `${askedAtMs / 1000 + n}`, ...message });
}

const reply = (n: number, message: Partial<UserMessage> = {}) =>
  say(n, { threadTs: ask.message.ts, unaddressed: true, text: "And in Kyoto?", ...message });

describe("a reply without a mention", () => {
  it("makes a task of a reply in a thread of the bot and includes the earlier messages", async () => {
    const world = await runWorld();
    await world.deliver(reply(200)).run();
    expect(world.answers()).toEqual(["A checkpoint.", "A checkpoint."]);
    expect(world.sent[1]).toMatchObject({
      text: "And in Kyoto?",
      thread_ts: ask.message.ts,
      history: [{ role: "assistant", text: "A checkpoint." }],
    });
  });

  it("leaves no trace of replies in a thread in which the bot was never asked", async () => {
    const world = createWorld();
    for (let n = 1; n < 4; n++) world.deliver(reply(n));
    await world.run();
    expect([
      world.records.size,
      world.threads.size,
      world.posts.length,
      world.marks.size,
      world.starts.length,
    ]).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("a message without access", () => {
  it("tells only the person about a limit, in different words for concurrent tasks and for a period", async () => {
    for (const retryAtMs of [undefined, askedAtMs + 900_000]) {
      const kinds: unknown[] = [];
      const limit = { type: "limited", by: "user", retryAtMs };
      const mayRefuse: Gate["mayRefuse"] = async ({ kind }) => kinds.push(kind) > 0;
      const world = await runWorld({
        gate: { charge: async () => ({ by: "user", retryAtMs }), mayRefuse },
      });
      expect(world.ephemeralMessages).toMatchObject([{ user: "U1", text: JSON.stringify(limit) }]);
      expect([kinds, world.starts, world.posts]).toEqual([
        [retryAtMs === undefined ? "limited_by_user_at_once" : "limited_by_user"],
        ...[[], []],
      ]);
    }
  });

  it("charges a message once, even if it comes repeatedly and its worker dies", async () => {
    let charges = 0;
    const chargedIds = new Set<string>();
    for (let nth = 0; nth < 12; nth++) {
      const world = createWorld({
        fault: nthFault(nth, "dies_after", ({ party }) => party === "gate"),
        gate: {
          async charge({ task }) {
            charges += 1;
            chargedIds.add(task.id);
            return undefined;
          },
        },
      });
      for (let times = 0; times < 3; times++) world.deliver(ask);
      await world.run();
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
    // At the gate a repeated charge is the same one: it is named by the task.
    expect(chargedIds.size).toBe(1);
    expect(charges).toBeLessThanOrEqual(24);
  });

  it("waits while the permission is unknown and sends nothing meanwhile", async () => {
    let away = 5;
    const world = await runWorld(
      { fault: ({ name }) => name === "permit" && away-- > 0 && "lost" },
      { until: () => away === 0 },
    );
    expect(world.starts).toEqual([]);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });
});

describe("a slash command", () => {
  const command = say(1, { command: true, text: "deploy" });

  it("opens a thread in the channel for a slash command and answers it there", async () => {
    const world = createWorld();
    await world.deliver(command).run();
    const [opening, answer] = world.posts;
    expect(opening).toMatchObject({ channel: "C1", threadTs: undefined, text: "U1 asks: deploy" });
    expect(answer).toMatchObject({ channel: "C1", threadTs: opening?.ts, text: "A checkpoint." });
    expect(world.posts).toHaveLength(2);
    expect(world.sent[0]).toMatchObject({ thread_ts: opening?.ts });
    expect(world.marks.size).toBe(0);
    await world.deliver(reply(200, { threadTs: opening?.ts ?? "" })).run();
    expect(world.starts).toHaveLength(2);
  });

  it("answers a command privately if configured so or if the bot cannot post in the channel", async () => {
    const privately = createWorld({ policy: { commandsPrivately: true } });
    let posts = 0;
    const outside = createWorld({ fault: refuseContent(() => posts++ === 0) });
    for (const world of [privately, outside]) {
      await world.deliver(command).run();
      expect(world.posts.map(({ channel }) => channel)).toEqual(["DU1", "DU1"]);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("answers each of two commands in its own thread after any fault", async () => {
    const other = say(2, { command: true, text: "roll back" });
    for (const fault of faultKinds) {
      for (let nth = 0; nth < 100; nth++) {
        const world = createWorld({ fault: nthFault(nth, fault) });
        world.deliver(command);
        await world.deliver(other).run();
        const openings = world.posts.filter(({ threadTs }) => threadTs === undefined);
        const answerCounts = openings.map(
          ({ ts }) => world.posts.filter(({ threadTs }) => threadTs === ts).length,
        );
        expect({
          fault,
          nth,
          asked: openings.map(({ text }) => text).sort(),
          answered: answerCounts,
        }).toEqual({
          fault,
          nth,
          asked: ["U1 asks: deploy", "U1 asks: roll back"],
          answered: [1, 1],
        });
        expect(world.starts).toHaveLength(2);
      }
    }
  });
});

describe("the context of a message", () => {
  it("sends the files of a message in a readable form, the same at every try", async () => {
    const world = createWorld({
      fault: ({ name }) => name === "execute_task" && world.sent.length < 2 && "answer_lost",
    });
    await world.deliver(say(1, { files: [sampleFile] })).run();
    expect(world.sent[0]?.attachments).toMatchObject([
      { id: "F1", url: "https://files.example/F1" },
    ]);
    for (const again of world.sent) expect(again).toEqual(world.sent[0]);
  });

  it("reports a file that cannot be attached and sends nothing", async () => {
    const world = createWorld({
      files: {
        importAttachments: () =>
          Promise.reject(new FileRefused({ why: "too_large", name: "plan.pdf", most: 5 })),
      },
    });
    await world.deliver(say(1, { files: [sampleFile] })).run();
    expect(world.starts).toEqual([]);
    expect(world.answers()).toEqual([
      '{"type":"file_refused","why":"too_large","name":"plan.pdf","most":5}',
    ]);
  });
});

describe("a conversation with the bot", () => {
  const prompts = [{ title: "What can you do?", message: "help" }];
  const conversationOpened = {
    type: "conversation_opened",
    requestId: "00000000-0000-5000-8000-0000000000aa",
    ...{ team: "T1", channel: "D1", user: "U1" },
  } as const;

  it("opens a conversation with prompts", async () => {
    const world = createWorld({ slack: { assistant: { prompts } } });
    await world.interact(conversationOpened).run();
    expect(world.prompts).toEqual(["What can you do?"]);
  });

  it("never shows a canceled task as running, even though its result is polled", async () => {
    const world = createWorld({
      ...{ slack: { status: true }, pollsUntilDone: 1 },
      fault: failing(new SekishoError("invalid_state"), "cancel_task"),
    });
    await world.deliver(ask).run({ maxSteps: 1 });
    expect(world.statuses).toEqual([]);
    await world.cancel(ask.requestId).run();
    expect([world.statuses.filter((status) => status !== ""), world.answers()]).toEqual([
      [],
      ["A checkpoint."],
    ]);
  });

  it("shows the status from the first poll on and clears it at the end", async () => {
    const world = createWorld({ slack: { status: true }, pollsUntilDone: 3 });
    await world.deliver(ask).run();
    expect(world.statuses).toEqual(["is working", ""]);
  });

  it("sets no status for a task that is answered at once", async () => {
    const world = createWorld({ slack: { status: true } });
    await world.deliver(ask).run();
    expect(world.statuses).toEqual([]);
  });

  it("renews the status of a task that takes longer than Slack shows it", async () => {
    const world = createWorld({ slack: { status: true }, pollsUntilDone: 200 });
    await world.deliver(ask).run();
    expect(world.statuses.filter((status) => status === "is working").length).toBeGreaterThan(2);
    expect(world.statuses.at(-1)).toBe("");
  });

  it("shows in the session whether the bot is processing, waiting for a reply or done", async () => {
    const world = createWorld({ slack: { assistant: {} }, questions: [{ prompt: "Shall I?" }] });
    await world
      .deliver(ask)
      .run({ until: () => world.posts.some(({ text }) => text === "Shall I?") });
    expect(world.sessions).toEqual(["processing", "suspended"]);
    await world.deliver(reply(60, { text: "Yes" })).run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    // The cleanup says it once more, in case Slack took an earlier call late.
    expect(world.sessions.slice(2)).toEqual(["processing", "active", "active"]);
  });

  it("keeps the session in processing while another task of the thread is running", async () => {
    const world = createWorld({ slack: { assistant: {} }, pollsUntilDone: 3 });
    world.deliver(ask);
    await world.deliver(reply(1)).run();
    expect(world.starts).toHaveLength(2);
    const firstEnd = world.sessions.indexOf("active");
    expect(world.sessions.slice(0, firstEnd)).toEqual(["processing", "processing"]);
  });

  it("answers without indicators if Slack refuses all of them", async () => {
    const indicators = ["setStatus", "suggestPrompts", "setSession", "renameSession", "react"];
    const world = createWorld({
      slack: { assistant: { prompts }, status: true },
      fault: ({ name }) => indicators.includes(name) && "refused",
    });
    world.interact(conversationOpened);
    await world.deliver(ask).run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });
});

describe("Slack's own stop button", () => {
  const sessionStopped = {
    type: "session_stopped",
    requestId: "00000000-0000-5000-8000-0000000000ab",
    ...{ team: "T1", channel: "C1", threadTs: ask.message.ts, streams: [] },
  } as const;

  it("cancels the task for its person and refuses the stop of anyone else", async () => {
    const world = await runWorld(
      { pollsUntilDone: 1000, cancelable: true, slack: { assistant: {} } },
      { maxSteps: 4 },
    );
    await world
      .interact({ ...sessionStopped, user: "U2" })
      .run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.ephemeralMessages).toMatchObject([
      { user: "U2", channel: "C1", text: '{"type":"not_yours"}' },
    ]);
    expect(world.cancels).toEqual([]);
    await world.interact({ ...sessionStopped, user: "U1" }).run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
    expect(world.sessions.at(-1)).toBe("active");
  });

  it.each([{ team: "T2" }, { team: "T1", enterprise: "E1" }])(
    "ignores the stop button of another workspace (%j)",
    async (of) => {
      const world = await runWorld(
        { pollsUntilDone: 1000, cancelable: true, slack: { assistant: {} } },
        { maxSteps: 4 },
      );
      await world
        .interact({ ...sessionStopped, ...of, user: "U1", streams: ["1"] })
        .run({ maxSteps: 4 });
      expect([world.cancels, world.ephemeralMessages]).toEqual([[], []]);
    },
  );

  it("ends the session of a thread without running tasks", async () => {
    const world = createWorld({ slack: { assistant: {} } });
    await world.interact({ ...sessionStopped, user: "U2" }).run();
    expect([world.sessions, world.ephemeralMessages]).toEqual([["active"], []]);
  });
});

describe("the button to cancel", () => {
  const cancelClick = (changes: Partial<ButtonClick> = {}) =>
    sampleClick({ type: "cancel" }, changes);

  it("accepts a cancel click only from the person who asked, and says so to others", async () => {
    const world = await runWorld({ pollsUntilDone: 1000, cancelable: true }, { maxSteps: 4 });
    await world
      .clickButton(cancelClick({ user: "U2" }))
      .run({ until: () => world.ephemeralMessages.length > 0 });
    expect(world.ephemeralMessages).toEqual([
      { user: "U2", channel: "C1", threadTs: ask.message.ts, text: '{"type":"not_yours"}' },
    ]);
    expect(world.cancels).toEqual([]);
    await world.clickButton(cancelClick()).run();
    expect(world.answers()).toEqual(['{"type":"failed","reason":"canceled","lost":false}']);
    await world.clickButton(cancelClick()).run();
    expect(world.ephemeralMessages.at(-1)?.text).toBe('{"type":"over"}');
  });

  it("ignores a cancel click for an unknown task or from another channel", async () => {
    const world = await runWorld({ pollsUntilDone: 3, cancelable: true }, { maxSteps: 2 });
    world.clickButton(cancelClick({ channel: "C2" }));
    await world
      .clickButton(cancelClick({ requestId: "00000000-0000-5000-8000-0000000000ff" }))
      .run();
    expect([world.cancels, world.ephemeralMessages, world.answers()]).toEqual([
      [],
      [],
      ["A checkpoint."],
    ]);
  });
});
