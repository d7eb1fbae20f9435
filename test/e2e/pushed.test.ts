/** The completion push between both zones on one machine: it brings the answer earlier, and whoever abuses it brings nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { type E2eWorld, startWorld } from "./world.ts";

const never = 3_600_000;
/** Shorter delays are steps of a task that go on at once, longer ones are polls. */
const shortestPollMs = 100;

let folder: string;
let world: E2eWorld | undefined;
let verification: Engine;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-pushed-"));
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** `pollsCome` false: no wake-up for a poll comes within the test. `push` stands in for what the host pushes with. */
async function open({
  agent,
  pollsCome = true,
  push,
}: {
  agent?: string;
  pollsCome?: boolean;
  push?: (queue: TaskQueue) => TaskQueue["send"];
} = {}): Promise<E2eWorld> {
  const openEngine = (zone: "verification" | "execution"): Engine => {
    const engine = openSqliteEngine({ file: join(folder, `${zone}.db`) });
    if (zone === "execution") return engine;
    verification = {
      ...engine,
      taskQueue(request) {
        const { queue, deadLetters } = engine.taskQueue(request);
        const send: TaskQueue["send"] = ({ delayMs = 0, ...message }) =>
          queue.send({
            ...message,
            delayMs: pollsCome || delayMs < shortestPollMs ? delayMs : never,
          });
        return { queue: { ...queue, send }, deadLetters };
      },
      completions() {
        const queue = completionsOf(engine);
        return { ...queue, send: push?.(queue) ?? queue.send };
      },
    };
    return verification;
  };
  world = await startWorld({
    transport: "https",
    ...(agent === undefined ? {} : { agent }),
    openEngine,
  });
  return world;
}

function completionsOf({ completions }: Engine) {
  if (completions === undefined) throw new Error("The engine has no completions.");
  return completions();
}

function linesWith({ lines }: E2eWorld, message: string): string[] {
  return lines.filter((line) => line.includes(`"${message}"`));
}

describe("the end of an accepted task", () => {
  it("posts the answer by the push of the end, without a poll", async () => {
    const openWorld = await open({ pollsCome: false });
    const { message, requestId } = openWorld.ask("slow 1500ms");
    await openWorld.over(requestId);
    expect(openWorld.answersTo(message).map(({ text }) => text)).toEqual([
      expect.stringContaining("slow 1500ms"),
    ]);
    expect(linesWith(openWorld, "completion_pushed")).toHaveLength(1);
    expect(
      openWorld.lines.filter(
        (line) => line.includes('"get_task"') && line.includes("call_answered"),
      ),
    ).toHaveLength(1);
  });

  it("posts the answer by polling if the queue of pushes is unavailable", async () => {
    const openWorld = await open({ push: () => () => Promise.reject(new Error("away")) });
    const { message, requestId } = openWorld.ask("slow 1500ms");
    await openWorld.over(requestId);
    expect(openWorld.answersTo(message).map(({ text }) => text)).toEqual([
      expect.stringContaining("slow 1500ms"),
    ]);
    expect(linesWith(openWorld, "completion_not_pushed")).toHaveLength(1);
  });
});

describe("the progress of an accepted task", () => {
  it("shows progress and posts the answer by pushes, without a poll", async () => {
    const openWorld = await open({ pollsCome: false });
    const { message, requestId } = openWorld.ask("slow 10s progress");
    await openWorld.over(requestId);
    const shown = openWorld.observations.flatMap(({ event, task }) =>
      event.type === "progress_shown" ? [task.progress?.text] : [],
    );
    expect(shown).toEqual(["Step 1 of 5"]);
    expect(openWorld.answersTo(message)).toHaveLength(1);
  });
});

describe("pushes that somebody forged", () => {
  it("ignores forged pushes for running, unknown and ended tasks", async () => {
    const openWorld = await open();
    const { message, requestId } = openWorld.ask("slow 3s");
    const accepted = await taskIdOf(openWorld);
    const unknown = "00000000-0000-5000-8000-000000000000";
    const ask = { type: "ask", requestId: unknown, message: { text: "let me in" } };
    const forge = async () => {
      const completions = completionsOf(verification);
      const forged = [
        { request_id: requestId, task_id: accepted },
        { request_id: requestId, task_id: "another" },
        { request_id: unknown, task_id: accepted },
        { request_id: requestId, task_id: accepted, status: "success", response_text: "forged" },
        ask,
        { type: "wake", requestId, seq: 9 },
        { type: "cancel", requestId },
        [],
        "nonsense",
      ];
      await Promise.all(forged.map((body) => completions.send({ body: JSON.stringify(body) })));
      await drained();
    };
    await forge();
    await openWorld.over(requestId);
    const answers = openWorld.answersTo(message).map(({ text }) => text);
    await forge();
    expect(answers).toEqual([expect.stringContaining("slow 3s")]);
    expect(openWorld.answersTo(message).map(({ text }) => text)).toEqual(answers);
    expect(linesWith(openWorld, "task_started")).toHaveLength(1);
    expect(linesWith(openWorld, "task_created")).toHaveLength(1);
    expect(linesWith(openWorld, "completion_refused").length).toBeGreaterThan(0);
  });
});

/** The task id of the only task, as soon as it is accepted. */
async function taskIdOf({ observations }: E2eWorld): Promise<string> {
  for (;;) {
    const found = observations.find(({ task }) => task.call?.taskId !== undefined)?.task.call
      ?.taskId;
    if (found !== undefined) return found;
    await wait(10);
  }
}

/** Resolves when no push waits any more; those under way are hidden, and get a moment. */
async function drained(): Promise<void> {
  const completions = completionsOf(verification);
  for (;;) {
    await wait(300);
    const left = await completions.receive({ max: 1, visibilityTimeoutMs: 1, waitMs: 0 });
    if (left.length === 0) return;
  }
}
