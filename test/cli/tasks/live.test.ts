/** The commands about tasks beside both zones at work, on both engines. */
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { type E2eWorld, startWorld } from "../../e2e/world.ts";
import { places, type TestPlace } from "./places.ts";

describe.each(places)("sekisho tasks beside a zone at $name", ({ open }) => {
  let place: TestPlace;
  let world: E2eWorld;
  beforeAll(async () => {
    place = await open();
    const execution = openSqliteEngine({ file: join(place.folder, "execution.db") });
    world = await startWorld({
      transport: "in-process",
      openEngine: (zone) => (zone === "execution" ? execution : { ...place.engine, close: async () => {} }),
    });
  });
  afterAll(async () => {
    await world.close();
    await place.close();
  });

  const shown = async (id: string) => JSON.parse((await place.tasks("show", id, "--json")).stdout);

  /** Resolves when the record is in that state, of which the observations of a worker tell a little earlier. */
  async function stored(id: string, state: string): Promise<void> {
    while (!(await place.tasks("list", "--state", state, "--json")).stdout.includes(id)) await setTimeout(50);
  }

  it("cancel --wait ends a task whose agent is at work, and says that it was canceled, as its thread does", async () => {
    const { message, requestId } = world.ask("slow 60s");
    await stored(requestId, "waiting");
    const canceled = await place.tasks("cancel", requestId.slice(0, 8), "--wait", "--json");
    expect(canceled.code).toBe(0);
    expect(JSON.parse(canceled.stdout)).toEqual({ requestId, state: "done", outcome: "canceled" });
    expect(world.answersTo(message)).toHaveLength(1);
    const { history } = await shown(requestId);
    expect(history.map(({ state }: { state: string }) => state)).toEqual(
      expect.arrayContaining(["received", "announced", "sent", "waiting", "delivering", "done"]),
    );
  });

  it("retry answers the same message once more, as a task of its own in the same thread", async () => {
    const { message, requestId } = world.ask("a word to be repeated");
    await stored(requestId, "done");
    const retried = await place.tasks("retry", requestId, "--json");
    const again = JSON.parse(retried.stdout).requestId;
    await stored(again, "done");
    expect(await shown(again)).toMatchObject({ state: "done", retryOf: requestId, outcomeText: "answered" });
    const answers = world.answersTo(message).filter(({ text }) => text.includes("a word to be repeated"));
    expect(answers).toHaveLength(2);
  });
});
