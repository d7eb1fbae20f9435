/** Instances of functions are killed at random moments. The same checks apply as for killed processes (test/lab/kills). */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { retryDelaysMs } from "../kills/people.ts";
import { createRandom, planRun, type Zone } from "../kills/plan.ts";
import { reportText } from "../kills/report.ts";
import { runPlan, type Zones } from "../kills/run-plan.ts";
import { type AgentEntry, readStores, type StoredRecords } from "../kills/stored-records.ts";
import { depthOf, openZoneTables, quiet, stackOf } from "./stage.ts";
import { synthesizeKind } from "./synthesized.ts";
import { eventSourcesOf } from "./template/wiring.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

const seed = 1;
const tasks = 40;
const kills = 15;
const killEveryMs = 800;

suite("the synthesized stage of lambda whose instances are killed at random moments", () => {
  const closing: (() => unknown)[] = [];
  let world: World;

  beforeAll(async () => {
    const { assembly, remove } = await synthesizeKind({
      kind: "lambda",
      execution: { leaseMs: 3000, lostAfterMs: 500 },
      limits: { callTimeoutMs: 2000, leaseMs: 3000, visibilityTimeoutMs: 4000, maxReceiveCount: 5 },
    });
    closing.push(remove);
    world = await startWorld({ assembly, visibilitySeconds: 4, retryDelaysMs });
    closing.push(world.close);
  });

  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it("answers every message once and starts no agent twice", async () => {
    const storedRecords = recordsOf({ world });
    closing.push(storedRecords.close);
    const report = await runPlan({
      plan: planRun({ seed, tasks, kills, killEveryMs }),
      signal: hangSignal(),
      fakeSlack: world.fakeSlack,
      zones: zonesOf({ world, seed }),
      storedRecords,
      secrets: world.secrets,
    });
    process.stdout.write(`${reportText({ seed, report })}\n`);
    expect(report.violations).toEqual([]);
    expect(Math.min(report.kills.verification, report.kills.execution)).toBeGreaterThan(0);
    expect(report.outcomes.answer).toBeGreaterThan(tasks / 4);
  });
});

/** When nothing of a zone is at work, a kill is put off by up to so much, so many times. */
const putOffMs = 100;
const mostTries = 100;

function zonesOf({ world, seed }: { world: World; seed: number }): Zones {
  const random = createRandom({ seed });

  async function killOne(zone: Zone): Promise<boolean> {
    const functions = [...world.functions.values()].filter(({ fn }) =>
      fn.label.startsWith(`${stackOf[zone]}/`),
    );
    const from = random.upTo(functions.length);
    for (const fn of [...functions.slice(from), ...functions.slice(0, from)])
      if (await fn.kill()) return true;
    return false;
  }

  return {
    eventsUrl: world.eventsUrl,
    async kill(zone) {
      for (let tries = 0; tries < mostTries; tries++) {
        if (await killOne(zone)) return true;
        await wait(random.upTo(putOffMs));
      }
      return false;
    },
    output: () => world.lines.map(({ line }) => line).join("\n"),
    problems: world.problems,
  };
}

function recordsOf({ world }: { world: World }): StoredRecords {
  const tables = openZoneTables(world);
  return {
    ...readStores({
      verification: ({ parse }) => tables.storeOf({ zone: "verification", parse }),
      execution: ({ parse }) => tables.storeOf({ zone: "execution", parse }),
    }),
    async queued() {
      // Wake-ups of finished tasks still come when they are due. What stays after that is reported below.
      await quiet(world).catch(() => {});
      return eventSourcesOf(world).flatMap(({ queueArn }) => {
        const depth = depthOf(world, queueArn);
        return depth === 0 ? [] : [`${depth} messages are in ${queueArn}.`];
      });
    },
    agentLog: () => agentLogOf(world.lines),
    async close() {},
  };
}

/** The host logs the start of an agent right before it. The log does not name the process. */
function agentLogOf(lines: World["lines"]): AgentEntry[] {
  return lines.flatMap(({ line }, index): AgentEntry[] => {
    if (!line.includes('"message":"task_started"')) return [];
    return [{ what: "start", requestId: String(JSON.parse(line).request_id), pid: String(index) }];
  });
}
