/** Whatever an Execution zone answers, the person reads one visible answer within seconds, and nothing stands still. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { StandInMessage } from "../../bin/local/stand-in/messages.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { type AwsEngines, startAwsEngines } from "../e2e/aws-engines.ts";
import { corpus } from "./corpus.ts";
import { type HostileWorld, startHostileWorld } from "./world.ts";

const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;
/** All texts that a message shows, without the reference below an answer. */
function shownBy({ text, blocks = [] }: StandInMessage): string {
  const texts = (value: unknown): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) =>
          name === "text" && typeof member === "string" ? [member] : name === "value" ? [] : texts(member),
        )
      : [];
  const shown = blocks.length === 0 ? [text] : texts(blocks);
  return shown.join("\n").replace(/_?Reference: [0-9a-f]{8}_?/g, "");
}

type Engine = "sqlite" | "aws";
const engines: readonly Engine[] = whyNoDynamoDb === undefined ? ["sqlite", "aws"] : ["sqlite"];
const worlds = new Map<Engine, { world: HostileWorld; stories: ReturnType<HostileWorld["askFor"]>[] }>();
let aws: AwsEngines | undefined;

// All entries at once, on both engines: most of each story is waiting.
beforeAll(async () => {
  for (const engine of engines) {
    if (engine === "aws") aws = await startAwsEngines();
    const openEngine = engine === "aws" ? await aws?.open() : undefined;
    const world = await startHostileWorld({ entries: corpus, openEngine });
    worlds.set(engine, { world, stories: corpus.map((_, number) => world.askFor(number)) });
  }
}, 60_000);

afterAll(async () => {
  for (const { world } of worlds.values()) await world.close();
  await aws?.close();
}, 30_000);

describe.each(engines)("on %s, one visible answer follows", (engine) => {
  it.each(corpus.map(({ name, shows }, number) => ({ name, shows, number })))("$name", async ({ shows, number }) => {
    const story = await worlds.get(engine)?.stories[number];
    if (story === undefined) throw new Error("nobody asked");
    const { requestId, task, posts } = story;
    expect(task.state).toBe("done");
    const said = posts.filter(({ files }) => files === undefined);
    // One answer: its reference stands below the last of its parts, and nothing else of ours is left.
    const references = said.filter((post) => JSON.stringify(post).includes(`Reference: ${requestId.slice(0, 8)}`));
    expect(references).toHaveLength(1);
    const parts = said.map(({ metadata }) => (metadata as { event_payload: { part: number } }).event_payload.part);
    expect(parts).toEqual(parts.map((_, index) => (parts[0] ?? 0) + index));
    expect(parts).not.toContain(0);
    for (const post of said) expect(shownBy(post)).toMatch(visible);
    if (shows !== undefined) expect(said.map(shownBy).join("\n")).toMatch(shows);
  });

  it("a further message, and nothing has failed in silence", async () => {
    const { world } = worlds.get(engine) ?? {};
    const again = await world?.askFor(0);
    expect(again?.task.outcome).toMatchObject({ type: "answer" });
    const names = new Set(world?.lines.map((line) => (JSON.parse(line) as { message: string }).message));
    for (const name of ["queue_message_failed", "dead_letter", "answer_not_delivered", "step_failed"])
      expect(names).not.toContain(name);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
