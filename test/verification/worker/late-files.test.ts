/** A post that Slack tells twice: as `app_mention` without its files, and as `message` with them. */
import { describe, expect, it } from "@jest/globals";
import type { AskMessage } from "@sekisho/verification/task/messages.ts";
import { deaths, type Operation } from "../../world/faults.ts";
import { createWorld } from "../../world/world.ts";
import { askedAtMs, numberedAsk } from "../task/sample.ts";

const file = {
  id: "F1",
  name: "plan.csv",
  mimetype: "text/csv",
  size: 4,
  url: "https://files.slack.com/F1",
};
const mention = numberedAsk(1);
const post = withFiles(mention);

function withFiles(ask: AskMessage, more: Partial<AskMessage["message"]> = {}): AskMessage {
  return {
    ...ask,
    receivedAtMs: askedAtMs + 300,
    message: { ...ask.message, files: [file], ...more },
  };
}

type World = ReturnType<typeof createWorld>;
const filesSent = ({ sent }: World) =>
  sent.map(({ attachments = [] }) => attachments.map(({ name }) => name));
const stateOf = (world: World, { requestId } = mention) => world.records.get(requestId)?.state;
const late = ({ posts }: World) =>
  posts.filter(({ key }) => key?.kind === "late_change").map(({ text }) => text);
const isNotedAsLate = (world: World) =>
  world.taskOf(mention)?.history.some(({ event }) => event === "files_too_late");

/** Another worker handles the post while the first one does `name` for the first time. */
function worldWithPostDuring(
  name: string,
  options: Parameters<typeof createWorld>[0] = {},
  ask = post,
) {
  let isTold = false;
  const fault = async (operation: Operation): Promise<undefined> => {
    if (operation.name !== name || isTold) return;
    isTold = true;
    world.queueRaw(JSON.stringify(ask));
    await world.handleDue();
  };
  const world: World = createWorld({ ...options, fault });
  return world;
}

describe("the files of a mention that come with a later event", () => {
  it.each(["permit", "charge", "post", "react"])(
    "sends late files with the task if they come while its worker does %s",
    async (name) => {
      const world = worldWithPostDuring(name);
      await world.deliver(mention).run();
      expect(filesSent(world)).toEqual([["plan.csv"]]);
      expect([world.answers(), late(world), world.doubled()]).toEqual([["A checkpoint."], [], 0]);
      expect(world.starts).toEqual([mention.requestId]);
    },
  );

  it("sends late files if they come while the history of the thread is read", async () => {
    const reply = numberedAsk(1, { threadTs: `${askedAtMs / 1000 - 60}.000100` });
    const world = worldWithPostDuring("replies", {}, withFiles(reply));
    await world.deliver(reply).run();
    expect([filesSent(world), world.answers()]).toEqual([[["plan.csv"]], ["A checkpoint."]]);
  });

  it("sends late files once in any order and after repetitions", async () => {
    const world = createWorld();
    await world.deliver(post).run({ maxSteps: 1 });
    for (const ask of [mention, post, mention]) world.deliver(ask);
    await world.run();
    expect([filesSent(world), world.answers(), late(world)]).toEqual([
      [["plan.csv"]],
      ["A checkpoint."],
      [],
    ]);
  });

  it("completes a mention without text by its late files instead of a refusal", async () => {
    const empty = numberedAsk(1, { text: "" });
    const world = createWorld();
    await world.deliver(empty).run({ maxSteps: 1 });
    await world.deliver(withFiles(empty)).run();
    expect([filesSent(world), world.answers()]).toEqual([[["plan.csv"]], ["A checkpoint."]]);
    expect(world.ephemeralMessages).toEqual([]);
    const bare = createWorld();
    await bare.deliver(empty).run();
    expect([bare.sent, bare.ephemeralMessages.length]).toEqual([[], 1]);
  });

  it("reports files as too late once after the task was sent", async () => {
    for (const during of ["send", undefined]) {
      const options = { pollsUntilDone: 5 };
      const world =
        during === undefined ? createWorld(options) : worldWithPostDuring("execute_task", options);
      await world.deliver(mention).run({ until: () => stateOf(world) === "waiting" });
      for (const ask of [post, mention, post]) world.deliver(ask);
      await world.run();
      expect([filesSent(world), late(world)]).toEqual([[[]], ["It was files too late."]]);
      expect(world.answers()).toEqual(["A checkpoint."]);
      // Slack tells of the file once more when the texts are erased.
      await world.deliver(post).run();
      expect([late(world).length, isNotedAsLate(world)]).toEqual([1, true]);
    }
  });

  it("neither loses late files silently nor sends them twice if a worker dies at any operation", async () => {
    const outcomes = new Set<string>();
    for (const fault of deaths) {
      for (let deathAt = 1; deathAt < 30; deathAt++) {
        let operations = 0;
        let isTold = false;
        const world: World = createWorld({
          pollsUntilDone: 2,
          async fault({ name }) {
            if (name === "post" && !isTold) {
              isTold = true;
              world.queueRaw(JSON.stringify(post));
              // The message comes again if its worker dies.
              await world.handleDue().catch(() => world.queueRaw(JSON.stringify(post)));
            }
            return ++operations === deathAt && fault;
          },
        });
        await world.deliver(mention).run();
        expect(world.starts).toEqual([mention.requestId]);
        expect(world.answers()).toEqual(["A checkpoint."]);
        const [files = []] = filesSent(world);
        expect([files.length, isNotedAsLate(world)]).toEqual(
          files.length === 1 ? [1, false] : [0, true],
        );
        outcomes.add(files.join());
      }
    }
    expect([...outcomes]).toContain("plan.csv");
  });
});

describe("the files of a mention of the bot's user in another workspace", () => {
  const unaddressed = { unaddressed: true, perhapsAddressed: true } as const;

  it("completes a task by files whose event does not mention the bot", async () => {
    const sharedMessage = numberedAsk(1, { external: "channels" });
    const world = worldWithPostDuring("post", {}, withFiles(sharedMessage, unaddressed));
    await world.deliver(sharedMessage).run();
    expect([filesSent(world), world.answers()]).toEqual([[["plan.csv"]], ["A checkpoint."]]);
  });

  it("waits half a minute for the mention of late files and then leaves nothing", async () => {
    const world = createWorld();
    await world.deliver(withFiles(mention, unaddressed)).run();
    expect([world.records.size, world.posts, world.sends()]).toEqual([0, [], 2]);
  });
});
