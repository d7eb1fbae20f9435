/** The first hour of a stage, rehearsed: `sekisho smoke` finds a healthy stage well, and says of a sick one what is wrong. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { isSmoked, type Smoked } from "./smoke.ts";
import { synthesizeKind } from "./synthesized.ts";
import { readAssembly } from "./template/assembly.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite.each(["lambda", "agentcore"] as const)("a new stage of kind %s", (kind) => {
  const closing: (() => unknown)[] = [];
  let world: World;
  let config: object;

  beforeAll(async () => {
    const nowhere = "http://127.0.0.1:9/";
    const made = await synthesizeKind({ kind, homeUrl: nowhere, elsewhereUrl: nowhere, onlyHome: true });
    config = Object(made.config);
    closing.push(made.remove);
    world = await startWorld({ assembly: readAssembly(made) });
    closing.push(world.close);
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it("is tried by five tasks, and found as it is assumed", async () => {
    const smoked: Smoked = await isSmoked(world, { config });
    const { code, report, stdout, stderr } = smoked;
    expect(world.problems).toEqual([]);
    expect({ checks: report.checks.filter(({ ok }) => !ok), code }).toEqual({ checks: [], code: 0 });
    expect(report.checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["task: wakes", "task: cancel", "alarms: Verification", "doctor"]),
    );
    if (kind === "lambda") {
      const ofExecution = report.checks.filter(({ name }) => name.endsWith(": Execution"));
      expect(ofExecution.map(({ name }) => name)).toContain("alarms: Execution");
    }
    expect(report.assumptions.filter(({ differs }) => differs === true)).toEqual([]);
    const polls = Number(/(\d+) wake-ups/.exec(JSON.stringify(report.assumptions))?.[1]);
    expect(polls).toBeGreaterThan(16);
    for (const secret of Object.values(world.secrets)) expect(stdout + stderr).not.toContain(secret);
  }, 180_000);
});
