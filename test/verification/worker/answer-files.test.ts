/** The files of an answer: uploaded once, shared once in the thread, and told as missing where Slack cannot have them. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { FileRefused } from "../../../lambdas/verification/files/files.ts";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const ask = sampleAsk();
const artifacts = [
  { name: "a.csv", text: "1,2" },
  { name: "b.csv", text: "3,4" },
];
const story = () => ({ status: "success", response_text: "Here they are.", artifacts }) as const;

function shown(world: ReturnType<typeof createWorld>) {
  return world.posts.map(({ text, fileIds }) => [text, fileIds]);
}
const allIsWell = [
  ["Here they are.", []],
  ["a.csv,b.csv", ["F1", "F2"]],
];

describe("the files of an answer", () => {
  it("come in one message below it", async () => {
    const world = createWorld({ story });
    world.deliver(ask);
    await world.run();
    expect(shown(world)).toEqual(allIsWell);
    expect(world.uploads.map(({ index }) => index)).toEqual([0, 1]);
  });

  it("are shared once whatever becomes of the call that shares them: they are found again by their ids, and a doubled share is swept", async () => {
    for (const fate of ["refused", "lost", "done_unknown", "late", "dies_before", "dies_after"] as const) {
      let seen = 0;
      const world = createWorld({
        story,
        fate: ({ name }): Fate => (name === "shareUploads" && seen++ === 0 ? fate : "ok"),
      });
      world.deliver(ask);
      await world.run();
      expect({ fate, shown: shown(world) }).toEqual({ fate, shown: allIsWell });
      expect(world.uploads).toHaveLength(2);
    }
  });

  it("are uploaded once, except where a worker died before it could say so", async () => {
    for (const fate of ["refused", "lost", "dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 2; nth++) {
        let seen = 0;
        const world = createWorld({
          story,
          fate: ({ name }): Fate => (name === "upload" && seen++ === nth ? fate : "ok"),
        });
        world.deliver(ask);
        await world.run();
        expect(world.uploads.length).toBe(fate === "dies_after" ? 3 : 2);
        expect(world.posts.filter(({ fileIds }) => fileIds.length > 0)).toHaveLength(1);
        expect(world.posts.find(({ fileIds }) => fileIds.length > 0)?.fileIds).toHaveLength(2);
      }
    }
  });

  it("that Slack cannot have are told as missing, at once or after some tries; the others come", async () => {
    for (const error of [new FileRefused({ why: "too_large", name: "a.csv" }), new SlackError("unavailable")]) {
      const world = createWorld({
        story,
        files: { upload: ({ index }) => (index === 0 ? Promise.reject(error) : Promise.resolve({ fileId: "F9" })) },
      });
      world.deliver(ask);
      await world.run();
      expect(shown(world)).toEqual([
        ["Here they are. (1 files are missing)", []],
        ["b.csv", ["F9"]],
      ]);
    }
  });

  it("that Slack does not let into the thread leave the answer as it is, and are told as missing: no fault, soon or late", async () => {
    for (const kind of ["refused", "gone", "no_such_message"] as const) {
      for (const pollsUntilDone of [0, 40]) {
        const world = createWorld({
          ...{ deadlineMs: 8 * 3600_000, pollsUntilDone },
          story: () => ({ ...story(), response_text: "Here|they are." }),
          fate({ name }) {
            if (name === "shareUploads") throw new SlackError(kind);
            return "ok";
          },
        });
        world.deliver(ask);
        await world.run();
        expect({ kind, pollsUntilDone, shown: shown(world) }).toEqual({
          ...{ kind, pollsUntilDone },
          shown: [
            ["Here", []],
            ["they are. (2 files are missing)", []],
          ],
        });
        expect([...world.marks]).toEqual([`${ask.message.ts} check`]);
        expect(world.uploads).toHaveLength(2);
      }
    }
  });

  it("and their refusal leave one answer whatever a worker dies of", async () => {
    for (const fate of ["dies_before", "dies_after"] as const) {
      for (let nth = 0; nth < 60; nth++) {
        let seen = 0;
        const world = createWorld({
          story,
          fate({ name }) {
            if (seen++ === nth) return fate;
            if (name === "shareUploads") throw new SlackError("refused");
            return "ok";
          },
        });
        world.deliver(ask);
        await world.run();
        // A worker that died of sharing has shared: then the files are there.
        const isThere = world.posts.some(({ fileIds }) => fileIds.length > 0);
        const wanted = isThere ? allIsWell : [["Here they are. (2 files are missing)", []]];
        expect({ fate, nth, shown: shown(world) }).toEqual({ fate, nth, shown: wanted });
      }
    }
  });

  it("come also with an answer that Slack took without blocks alone, and not with words instead of it", async () => {
    const plain = createWorld({
      story,
      refuses: ({ text, blocks }) => text === "Here they are." && blocks !== undefined,
    });
    const never = createWorld({ story, refuses: ({ text }) => text === "Here they are." });
    for (const world of [plain, never]) {
      world.deliver(ask);
      await world.run();
    }
    expect(shown(plain)).toEqual(allIsWell);
    expect(shown(never)).toEqual([[expect.stringContaining('"internal"'), []]]);
    expect(plain.uploads).toHaveLength(2);
  });

  it("and the answer are there once through faults of every kind at random points", async () => {
    const fates = fc.constantFrom<Fate>("refused", "lost", "done_unknown", "late", "dies_before", "dies_after");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat({ max: 70 }), fates), { maxLength: 5 }), async (faults) => {
        const plan = new Map(faults);
        let seen = 0;
        const world = createWorld({ story, pollsUntilDone: 1, fate: () => plan.get(seen++) ?? "ok" });
        world.deliver(ask);
        await world.run();
        expect(world.posts.map(({ text }) => text)).toEqual(["Here they are.", "a.csv,b.csv"]);
      }),
      { numRuns: 200 },
    );
  });
});
