/** The first hour of a stage: `sekisho smoke` finds a healthy stage well. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { SmokeReport } from "../../lib/cli/smoke/report.ts";
import type { SmokeSettings } from "../../lib/cli/smoke/run-smoke.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import type { Run } from "../e2e/processes.ts";
import { hangMs } from "../tooling/hang.ts";
import type { Fault } from "./aws/gateway.ts";
import { executionProfile, operatorEnvironment } from "./operator.ts";
import { withFault } from "./stories/messages.ts";
import { stageName, synthesizeKind } from "./synthesized.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite.each(["lambda", "agentcore"] as const)("a new stage of kind %s", (kind) => {
  const closing: (() => unknown)[] = [];
  let world: World;
  let config: object;

  beforeAll(async () => {
    const made = await synthesizeKind({ kind, onlyHome: true });
    config = Object(made.config);
    closing.push(made.remove);
    world = await startWorld({ assembly: made.assembly });
    closing.push(world.close);
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it("is tried by five tasks, and found as it is assumed", async () => {
    const { code, report, stdout, stderr } = await runSmoke(world, { config });
    expect(world.problems).toEqual([]);
    expect({ checks: report.checks.filter(({ ok }) => !ok), code }).toEqual({
      checks: [],
      code: 0,
    });
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
    for (const secret of Object.values(world.secrets))
      expect(stdout + stderr).not.toContain(secret);
  });
});

/** `wakes` is just above the 16 invocations after which Lambda stops a loop. Tasks of `wakeTaskMs` are canceled long before. */
const settings: SmokeSettings = {
  wakes: 18,
  wakeTaskMs: 600_000,
  longTaskMs: 15_000,
  patienceMs: hangMs / 3,
  pollMs: 200,
  settleMs: hangMs / 3,
  recordPatienceMs: hangMs / 3,
};

type Smoked = Run & { report: SmokeReport };

/** Runs the command with short delays between polls, and with a profile of the Execution account. */
async function runSmoke(world: World, { config }: { config: object }): Promise<Smoked> {
  const hurry: Fault = ({ call: { action, input } }) => {
    if (action === "sqs:SendMessage")
      input.DelaySeconds = Math.min(1, Number(input.DelaySeconds ?? 0));
    return undefined;
  };
  const folder = mkdtempSync(join(tmpdir(), "sekisho-smoke-"));
  try {
    const slack = { apiUrl: world.fakeSlack.apiUrl };
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify({ ...config, slack }));
    const { channel, person } = workspace;
    const target = ["--stage", stageName, "--channel", channel.id, "--user", person];
    const words = [...target, "--yes", "--json", "--execution-profile", "second"];
    const profile = executionProfile(world, { folder, name: "second" });
    const script = join(__dirname, "children/smoke.ts");
    const env = { PATH: process.env.PATH ?? "", ...operatorEnvironment(world), ...profile };
    const args = [script, JSON.stringify(settings), ...words];
    const run = await withFault(
      world,
      hurry,
      () =>
        new Promise<Run>((resolve) => {
          const options = { cwd: folder, env, timeout: hangMs };
          const child = execFile(process.execPath, args, options, (_error, stdout, stderr) =>
            resolve({ code: child.exitCode, stdout, stderr }),
          );
        }),
    );
    if (run.stdout === "") throw new Error(`It printed nothing (${run.code}): ${run.stderr}`);
    return { ...run, report: JSON.parse(run.stdout) as SmokeReport };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
