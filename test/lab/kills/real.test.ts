import { expect, it } from "@jest/globals";
import { hangSignal } from "../../tooling/hang.ts";
import { allKinds, planRun } from "./plan.ts";
import { reportText } from "./report.ts";
import { runStory } from "./zones.ts";

const seed = 1;
const tasks = 200;
const kills = 20;

it("answers every message once and starts no agent twice while both zones are killed with SIGKILL", async () => {
  const report = await runStory({
    plan: planRun({ seed, tasks, kills, kinds: allKinds }),
    signal: hangSignal(),
  });
  process.stdout.write(`${reportText({ seed, report })}\n`);
  expect(report.violations).toEqual([]);
  expect(report.kills.verification + report.kills.execution).toBe(kills);
  // Otherwise the run would prove little. On a slow machine Slack gives up on more events while a killed zone starts.
  expect(report.outcomes.answer).toBeGreaterThan(tasks / 10);
});
