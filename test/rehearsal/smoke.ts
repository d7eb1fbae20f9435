/** `sekisho smoke` against a stage of its own: every task runs, and CloudWatch has what an operator may read. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SmokeReport } from "../../lib/cli/smoke/report.ts";
import type { SmokeSettings } from "../../lib/cli/smoke/run-smoke.ts";
import { workspace } from "../../lib/local/fake-slack/workspace.ts";
import type { Run } from "../e2e/processes.ts";
import type { Fault } from "./aws/gateway.ts";
import { executionProfile, operatorEnvironment } from "./operator.ts";
import { stageName } from "./synthesized.ts";
import type { World } from "./world.ts";

/** In about the proportions of the defaults: `long` takes as long as a story waits, and `wakes` takes longer. */
const settings: SmokeSettings = {
  wakes: 30,
  wakeTaskMs: 100_000,
  longTaskMs: 30_000,
  patienceMs: 30_000,
  pollMs: 200,
  settleMs: 15_000,
  recordPatienceMs: 10_000,
};
const timeoutMs = 150_000;

export type Smoked = Run & { report: SmokeReport };

/** With short delays between polls, and with a profile of the Execution account. */
export async function isSmoked(world: World, { config }: { config: object }): Promise<Smoked> {
  const hurry: Fault = ({ call: { action, input } }) => {
    if (action === "sqs:SendMessage") input.DelaySeconds = Math.min(1, Number(input.DelaySeconds ?? 0));
    return undefined;
  };
  world.gateway.faults.add(hurry);
  const folder = mkdtempSync(join(tmpdir(), "sekisho-smoke-"));
  try {
    const slack = { apiUrl: world.fakeSlack.apiUrl };
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify({ ...config, slack }));
    const words = [
      "--stage",
      stageName,
      "--channel",
      workspace.channel.id,
      "--user",
      workspace.person,
      "--yes",
      "--json",
      "--execution-profile",
      "second",
    ];
    const profile = executionProfile(world, { folder, name: "second" });
    const script = join(__dirname, "children/smoke.ts");
    const env = { PATH: process.env.PATH ?? "", ...operatorEnvironment(world), ...profile };
    const run = await new Promise<Run>((resolve) => {
      const child = execFile(
        process.execPath,
        [script, JSON.stringify(settings), ...words],
        { cwd: folder, env, timeout: timeoutMs },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
      );
    });
    if (run.stdout === "") throw new Error(`It printed nothing (${run.code}): ${run.stderr}`);
    return { ...run, report: JSON.parse(run.stdout) as SmokeReport };
  } finally {
    world.gateway.faults.delete(hurry);
    rmSync(folder, { recursive: true, force: true });
  }
}
