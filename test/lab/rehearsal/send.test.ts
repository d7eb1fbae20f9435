/** The first hour of a stage: `sekisho doctor --send` finds a healthy stage well. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import type { Found } from "@sekisho/sekisho/doctor/check.ts";
import type { SendSettings } from "@sekisho/sekisho/doctor/send.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { Run } from "../../e2e/processes.ts";
import { hangMs } from "../../tooling/hang.ts";
import type { Fault } from "./aws/gateway.ts";
import { operatorEnvironment } from "./operator.ts";
import { withFault } from "./stories/messages.ts";
import { stageName, synthesizeKind } from "./synthesized.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite.each(["lambda", "agentcore"] as const)("a new stage of kind %s", (kind) => {
  const closing: (() => unknown)[] = [];
  let world: World;
  let config: object;

  beforeAll(async () => {
    const stages = await synthesizeKind({ kind, onlyHome: true });
    config = Object(stages.config);
    closing.push(stages.remove);
    world = await startWorld({ assembly: stages.assembly });
    closing.push(world.close);
  });
  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it("passes all checks of doctor --send with its five tasks", async () => {
    const { code, stdout, stderr } = await sendTasks(world, { config });
    expect(world.problems).toEqual([]);
    const { checks } = JSON.parse(stdout || `{"checks":"${stderr}"}`) as { checks: Found[] };
    const others = checks.filter(({ status }) => status === "failed");
    expect({ others, code }).toEqual({ others: [], code: 0 });
    const passed = checks.filter(({ status }) => status === "ok").map(({ name }) => name);
    const stories = ["question", "file", "cancel", "wakes", "long"];
    expect(passed).toEqual(expect.arrayContaining([...stories, "alarms"]));
    const { what } = checks.find(({ name }) => name === "wakes") ?? {};
    expect(Number(/(\d+) times/.exec(what ?? "")?.[1])).toBeGreaterThan(16);
    for (const secret of Object.values(world.secrets))
      expect(stdout + stderr).not.toContain(secret);
  });
});

/** `wakes` is just above the 16 invocations after which Lambda stops a loop. Tasks of `wakeTaskMs` are canceled long before. */
const settings: SendSettings = {
  wakes: 18,
  wakeTaskMs: 600_000,
  longTaskMs: 15_000,
  patienceMs: hangMs / 3,
  pollMs: 200,
  recordPatienceMs: hangMs / 3,
};

/** Runs the command with short delays between polls. */
async function sendTasks(world: World, { config }: { config: object }): Promise<Run> {
  const hurry: Fault = ({ call: { action, input } }) => {
    if (action === "sqs:SendMessage")
      input.DelaySeconds = Math.min(1, Number(input.DelaySeconds ?? 0));
    return undefined;
  };
  const folder = mkdtempSync(join(tmpdir(), "sekisho-send-"));
  try {
    const slack = { apiUrl: world.fakeSlack.apiUrl };
    writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify({ ...config, slack }));
    const { channel, person } = workspace;
    const args = ["--send", "--stage", stageName, "--channel", channel.id, "--user", person];
    const more = ["--yes", "--json"];
    const script = join(__dirname, "children/doctor.ts");
    const env = { PATH: process.env.PATH ?? "", ...operatorEnvironment(world) };
    const run = () =>
      new Promise<Run>((resolve) => {
        const options = { cwd: folder, env, timeout: hangMs };
        const all = [script, JSON.stringify(settings), ...args, ...more];
        const child = execFile(process.execPath, all, options, (_error, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
      });
    return await withFault(world, hurry, run);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
