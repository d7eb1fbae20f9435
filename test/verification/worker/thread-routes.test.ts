/** A thread stays with the agent of its first task, and no agent gets the answers of another one unasked. */
import { describe, expect, it } from "@jest/globals";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { UserMessage } from "@sekisho/verification/task/messages.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { createWorld, type Routing } from "../../world/world.ts";
import { askedAtMs, numberedAsk, sampleAsk } from "../task/sample.ts";

const rootTs = `${askedAtMs / 1000}.000100`;

/** The nth message of the thread; the first one begins it. */
function say(n: number, text: string, message: Partial<UserMessage> = {}) {
  const reply = n === 0 ? {} : { threadTs: rootTs, unaddressed: true as const };
  const ts = n === 0 ? rootTs : `${askedAtMs / 1000 + n * 100}.000100`;
  const ask = sampleAsk({ ts, text, ...reply, ...message });
  return { ...ask, requestId: requestIdOf(ask.message) };
}

function createRouting(): Routing {
  return {
    destinations: ["local", "far", "spare"],
    routes: [
      { word: "far", destination: ["far", "spare"] },
      { word: "own", channel: "C2", destination: ["spare"] },
      { destination: ["local"] },
    ],
  };
}

/** A world in which agents answer with a count, and the messages were said one after the other. */
async function thread(texts: readonly string[], { routing = createRouting() } = {}) {
  let answers = 0;
  const story = () => ({ status: "success" as const, response_text: `Answer ${++answers}.` });
  const world = createWorld({ routing, story, text: createTaskText({ locale: "en" }) });
  for (const [n, text] of texts.entries()) await world.deliver(say(n, text)).run();
  const reads = (n: number) =>
    (world.sent[n]?.history ?? []).filter(({ role }) => role === "assistant");
  return { world, routing, reads };
}

/** Version 1.0.0 stored no routes, and did not mark whose an answer is. */
function writeAsVersion100({
  threads,
  posts,
}: Pick<ReturnType<typeof createWorld>, "threads" | "posts">) {
  for (const { routes: _routes, ...thread } of threads.values()) threads.set(thread.id, thread);
  for (const post of posts) if (post.key) post.key = { ...post.key, destination: undefined };
}

describe("a thread", () => {
  it("keeps a thread at the agent that its first message names", async () => {
    const { world, reads } = await thread(["far: first", "And then?", "And why?"]);
    expect(world.sentTo).toEqual(["far", "far", "far"]);
    expect(world.sent.map(({ text }) => text)).toEqual(["first", "And then?", "And why?"]);
    expect(reads(2).map(({ text }) => text)).toEqual(["Answer 1.", "Answer 2."]);
  });

  it("keeps a thread at its agent if no route fits the reply by itself", async () => {
    const { world } = await thread(["far: first", "And then?"], {
      routing: { ...createRouting(), routes: [{ word: "far", destination: ["far"] }] },
    });
    expect(world.sentTo).toEqual(["far", "far"]);
  });

  it("changes to the agent that a message names and hides the earlier answers from it", async () => {
    const { world, reads } = await thread(["first", "far: look", "And then?"]);
    expect(world.sentTo).toEqual(["local", "far", "far"]);
    expect(reads(1)).toEqual([]);
    expect(reads(2).map(({ text }) => text)).toEqual([expect.stringContaining("Answer 2.")]);
    expect(world.answers()[1]).toContain(
      "From here on, *far* answers. It doesn't see the earlier answers.",
    );
    expect(world.answers()[2]).toBe("Answer 3.");
  });

  it("gives the new agent the answers of a route that shares its history", async () => {
    const routing = createRouting();
    routing.routes[2] = { destination: ["local"], sharesHistory: true };
    const { world, reads } = await thread(["first", "far: look"], { routing });
    expect(reads(1).map(({ text }) => text)).toEqual(["Answer 1."]);
    expect(world.answers()[1]).toMatch(/^_From here on, \*far\* answers\._/);
  });

  it("starts afresh and says so when the destination of a moved route is removed", async () => {
    const { world, routing, reads } = await thread(["first"]);
    Object.assign(routing, { destinations: ["spare"], routes: [{ destination: ["spare"] }] });
    await world.deliver(say(1, "And then?")).run();
    expect(world.sentTo).toEqual(["local", "spare"]);
    expect(reads(1)).toEqual([]);
    expect(world.answers()[1]).toContain(
      "The agent of this thread is no longer available. From here on, *spare* answers.",
    );
    await world.deliver(say(2, "And why?")).run();
    expect(world.answers()[2]).toBe("Answer 3.");
  });

  it("starts afresh when the person can no longer use the route", async () => {
    const { world, routing, reads } = await thread(["far: first"]);
    routing.routes = [
      { word: "far", team: "T2", destination: ["far"] },
      { destination: ["local"] },
    ];
    await world.deliver(say(1, "And then?")).run();
    expect(world.sentTo).toEqual(["far", "local"]);
    expect(reads(1)).toEqual([]);
  });

  it("follows the first task of a thread whose record is of version 1.0.0", async () => {
    const { world, reads } = await thread(["far: first"]);
    writeAsVersion100(world);
    await world.deliver(say(1, "And then?")).run();
    expect(world.sentTo).toEqual(["far", "far"]);
    expect(reads(1).map(({ text }) => text)).toEqual(["Answer 1."]);
    await world.deliver(say(2, "own: what?", { channel: "C1" })).run();
    expect(world.sentTo.at(-1)).toBe("far");
  });

  it("hides answers of version 1.0.0 from other agents if the first task is gone", async () => {
    const { world, reads } = await thread(["far: first"]);
    writeAsVersion100(world);
    world.records.clear();
    for (const n of [1, 2]) await world.deliver(say(n, "And then?")).run();
    expect(world.sentTo).toEqual(["far", "local", "local"]);
    expect(reads(1)).toEqual([]);
    expect(reads(2).map(({ text }) => text)).toEqual(["Answer 2."]);
    expect(world.answers()[1]).toBe("Answer 2.");
  });

  it("hides answers of version 1.0.0 from other agents if the record of the thread has expired", async () => {
    const { world, reads } = await thread(["far: first"]);
    writeAsVersion100(world);
    world.records.clear();
    world.threads.clear();
    world.pass(31 * 24 * 3600_000);
    const ts = `${Math.floor(world.now() / 1000)}.000100`;
    const ask = numberedAsk(1, { ts, threadTs: rootTs, text: "And then?" });
    await world.deliver({ ...ask, receivedAtMs: world.now() }).run();
    expect(world.sentTo).toEqual(["far", "local"]);
    expect(reads(1)).toEqual([]);
  });

  it("gives answers of version 1.0.0 to an agent whose route has all destinations, without the first task", async () => {
    const routing = { ...createRouting(), routes: [{ destination: ["local", "far", "spare"] }] };
    const { world, reads } = await thread(["first"], { routing });
    writeAsVersion100(world);
    world.records.clear();
    await world.deliver(say(1, "And then?")).run();
    expect(reads(1).map(({ text }) => text)).toEqual(["Answer 1."]);
  });

  it("keeps the destination of a first task of version 1.0.0 until that is removed", async () => {
    const { world, routing, reads } = await thread(["first"]);
    writeAsVersion100(world);
    routing.routes = [{ destination: ["spare"] }];
    await world.deliver(say(1, "And then?")).run();
    expect(world.sentTo).toEqual(["local", "local"]);
    writeAsVersion100(world);
    routing.destinations = ["spare"];
    await world.deliver(say(2, "And why?")).run();
    expect(world.sentTo).toEqual(["local", "local", "spare"]);
    expect(reads(2)).toEqual([]);
    expect(world.answers()[2]).toContain("The agent of this thread is no longer available.");
  });

  it("retries a message at the agent that received it", async () => {
    const { world } = await thread(["first", "far: look"]);
    const { message } = say(0, "");
    await world
      .deliver({
        ...say(7, ""),
        message: { ...message, text: "first" },
        retryOf: say(0, "").requestId,
      })
      .run();
    expect(world.sentTo).toEqual(["local", "far", "local"]);
  });
});

describe("the word of a route", () => {
  it("removes the word of the route from the text, also at a retry", async () => {
    const { world } = await thread(["\u3000Ｆａｒ：first"]);
    const original = say(0, "\u3000Ｆａｒ：first");
    await world
      .deliver({ ...original, requestId: say(9, "").requestId, retryOf: original.requestId })
      .run();
    expect(world.sentTo).toEqual(["far", "far"]);
    expect(world.sent.map(({ text }) => text)).toEqual(["first", "first"]);
  });

  it("keeps the word in the text if the route says so", async () => {
    const routing = {
      ...createRouting(),
      routes: [{ word: "far", keepsWord: true, destination: ["far"] }],
    };
    const { world } = await thread(["far: first", "far:"], { routing });
    expect(world.sent.map(({ text }) => text)).toEqual(["far: first", "far:"]);
  });

  it("refuses a message with only the word of a route, unless it has a file", async () => {
    const file = { id: "F1", name: "plan.pdf", mimetype: "application/pdf", size: 10 };
    const { world } = await thread(["first", "far: "]);
    expect(world.sentTo).toEqual(["local"]);
    expect(world.ephemeralMessages[0]?.text).toContain(
      "I couldn't find a request in your message.",
    );
    await world.deliver(say(2, "far:", { files: [file] })).run();
    expect(world.sentTo).toEqual(["local", "far"]);
    expect(world.sent[1]).toMatchObject({ text: "", attachments: [{ name: "plan.pdf" }] });
  });
});
