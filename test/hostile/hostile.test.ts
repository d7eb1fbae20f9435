/** Whatever an Execution zone answers, the person reads one visible answer within seconds, and nothing stands still. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { type AwsEngines, startAwsEngines } from "../e2e/aws-engines.ts";
import { corpus, type Entry } from "./corpus.ts";
import { type HostileWorld, startHostileWorld } from "./world.ts";

const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;
/** All texts that a message shows, without the reference below an answer. */
function shownBy({ text, blocks = [] }: FakeSlackMessage): string {
  const texts = (value: unknown): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) =>
          name === "text" && typeof member === "string"
            ? [member]
            : name === "value"
              ? []
              : texts(member),
        )
      : [];
  const shownText = blocks.length === 0 ? [text] : texts(blocks);
  return shownText.join("\n").replace(/_?Reference: [0-9a-f]{8}_?/g, "");
}

type Engine = "sqlite" | "aws";
const engines: readonly Engine[] = whyNoDynamoDb === undefined ? ["sqlite", "aws"] : ["sqlite"];

type Story = ReturnType<HostileWorld["askFor"]>;
const worlds = new Map<Engine, HostileWorld[]>();
const stories = new Map<Engine, Map<Entry, Story>>();
let aws: AwsEngines | undefined;

/** So many at once, in all worlds: most of each story is waiting. */
const atOnce = 12;
const slow = corpus.filter(({ isOutage }) => isOutage);
/** A call that never ends is given up soon; every other call has time, however busy the machine is. The slow ones begin first. */
const groups = [
  { entries: slow, callTimeoutMs: 1500, deadlineMs: 60_000 },
  {
    entries: corpus.filter((entry) => !slow.includes(entry)),
    callTimeoutMs: 100_000,
    deadlineMs: 900_000,
  },
];

/** By their number, each begun and over. */
const begun: Promise<unknown>[] = [];

/** Begins the next story when one of those under way has ended. */
function tellAll(world: HostileWorld, entries: readonly Entry[], updates: Map<Entry, Story>): void {
  for (const [number, entry] of entries.entries()) {
    const before = begun[begun.length - atOnce] ?? Promise.resolve();
    const story = before.then(() => world.askFor(number));
    begun.push(story.catch(() => {}));
    updates.set(entry, story);
  }
}

beforeAll(async () => {
  for (const engine of engines) {
    if (engine === "aws") aws = await startAwsEngines();
    stories.set(engine, new Map());
  }
  for (const group of groups) {
    for (const engine of engines) {
      const openEngine = engine === "aws" ? await aws?.open() : undefined;
      const world = await startHostileWorld({ ...group, openEngine });
      worlds.set(engine, [...(worlds.get(engine) ?? []), world]);
      tellAll(world, group.entries, stories.get(engine) ?? new Map());
    }
  }
});

afterAll(async () => {
  for (const world of [...worlds.values()].flat()) await world.close();
  await aws?.close();
});

describe.each(engines)("on %s, one visible answer follows", (engine) => {
  it.each(corpus)("posts one visible answer for the hostile input $name", async (entry) => {
    const { shows } = entry;
    const story = await stories.get(engine)?.get(entry);
    if (story === undefined) throw new Error("nobody asked");
    const { requestId, task, posts } = story;
    expect(task.state).toBe("done");
    const said = posts.filter(({ files }) => files === undefined);
    // One answer: its reference stands below the last of its parts, and nothing else of ours is left.
    const references = said.filter((post) =>
      JSON.stringify(post).includes(`Reference: ${requestId.slice(0, 8)}`),
    );
    expect(references).toHaveLength(1);
    const parts = said.map(
      ({ metadata }) => (metadata as { event_payload: { part: number } }).event_payload.part,
    );
    expect(parts).toEqual(parts.map((_, index) => (parts[0] ?? 0) + index));
    expect(parts).not.toContain(0);
    for (const post of said) expect(shownBy(post)).toMatch(visible);
    if (shows !== undefined) expect(said.map(shownBy).join("\n")).toMatch(shows);
  });

  it("answers a further message and logs no silent failure", async () => {
    const closers = worlds.get(engine) ?? [];
    const again = await closers.at(-1)?.askFor(0);
    expect(again?.task.outcome).toMatchObject({ type: "answer" });
    const lines = closers.flatMap((world) => world.lines);
    const names = new Set(lines.map((line) => (JSON.parse(line) as { message: string }).message));
    for (const name of [
      "queue_message_failed",
      "dead_letter",
      "answer_not_delivered",
      "step_failed",
    ])
      expect(names).not.toContain(name);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
