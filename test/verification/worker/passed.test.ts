/** What goes wrong with one task for long leaves the next one of its thread alone, and an answer that is there. */
import { expect, it } from "@jest/globals";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const threadTs = `${askedAtMs / 1000}.000001`;
const full = "A checkpoint on an old highway, where travellers were verified.";

function askOf(n: number) {
  const id = `00000000-0000-5000-8000-00000000000${n}`;
  return { ...sampleAsk({ ts: `${askedAtMs / 1000}.00010${n}`, threadTs }), requestId: id };
}

it("a task that was passed neither edits nor removes the stream of the next one", async () => {
  const [first, second] = [askOf(1), askOf(2)];
  let streams = 0;
  const world: ReturnType<typeof createWorld> = createWorld({
    streaming: true,
    tsByClock: true,
    story: (id) => ({ status: "success", response_text: `${full} ${id.at(-1)}` }),
    progress: (polls) => ({ partial_text: full.slice(0, polls + 1) }),
    pollsUntilDone: 50,
    fate({ party, name }): Fate {
      if (party !== "slack") return "ok";
      if (name === "startStream") {
        streams += 1;
        return streams === 1 ? "done_unknown" : "ok";
      }
      // From the first stream on, until the second task has one, Slack takes nothing else.
      if (streams === 1) throw new SlackError("unavailable");
      return "ok";
    },
  });
  const stateOf = ({ requestId }: { requestId: string }) => world.records.get(requestId)?.state;
  world.deliver(first);
  world.deliver(second);
  await world.run({ until: () => stateOf(first) === "done" });
  expect(stateOf(second)).toBe("waiting");
  expect(world.posts.filter(({ streamingSinceMs }) => streamingSinceMs !== undefined)).toHaveLength(1);
  await world.run();
  expect(world.posts.map(({ text }) => text).sort()).toEqual([`${full} 1`, `${full} 2`]);
});

it.each(["And then?", "cancel"])("a record that cannot be read ends no other task of its thread (%s)", async (text) => {
  const [first, second] = [askOf(1), askOf(2)];
  let isUnreadable = false;
  const world = createWorld({
    pollsUntilDone: 3,
    unreadable: ({ id }) => isUnreadable && id === first.requestId,
  });
  world.deliver(first);
  await world.run({ until: () => world.records.get(first.requestId)?.state === "waiting" });
  isUnreadable = true;
  world.deliver({ ...second, message: { ...second.message, text } });
  await world.run({ maxSteps: 6 });
  isUnreadable = false;
  await world.run();
  const answers = [...world.answers(), ...world.ephemeralMessages.map((notice) => notice.text)];
  expect(answers).toHaveLength(2);
  expect(answers.filter((answer) => answer.includes("failed"))).toEqual([]);
});

it("an answer that is in the thread stays there, however long what is beside it cannot be removed", async () => {
  const ask = askOf(1);
  const dayMs = 24 * 3600_000;
  const world: ReturnType<typeof createWorld> = createWorld({
    pollsUntilDone: 20,
    fate: ({ name }): Fate => (name === "remove" && world.now() < askedAtMs + dayMs + 2 * 3600_000 ? "lost" : "ok"),
  });
  world.deliver(ask);
  await world.run({ maxSteps: 6000 });
  expect(world.posts.map(({ key }) => key?.part)).toEqual([1]);
});

it("an answer is posted once where the thread cannot be looked at and nothing beside it can be removed", async () => {
  const world = createWorld({
    pollsUntilDone: 20,
    fate({ name }): Fate {
      if (name === "replies") throw new SlackError("refused");
      return name === "remove" ? "lost" : "ok";
    },
  });
  world.deliver(askOf(1));
  await world.run({ maxSteps: 300 });
  expect(world.answers()).toHaveLength(1);
});
