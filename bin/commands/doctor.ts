/** `sekisho doctor`: checks everything on this machine or in a stage, and says how to fix it. */
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, loadConfig } from "../../lambdas/shared/config/load.ts";
import { readProxies } from "../../lambdas/shared/config/proxy-environment.ts";
import { chooseStage } from "../../lib/cli/aws/stage.ts";
import { configOption, defineCommand, exitCodes, flag, option } from "../../lib/cli/command.ts";
import { type CheckGroup, runChecks, skipped } from "../../lib/cli/doctor/check.ts";
import { type CloseSteps, createLocalGroups } from "../../lib/cli/doctor/machine.ts";
import { configurationCheck, nodeCheck, proxyCheck } from "../../lib/cli/doctor/machine-checks.ts";
import { formatDoctorJson, formatDoctorText, isHealthy } from "../../lib/cli/doctor/report.ts";

export const doctor = defineCommand({
  name: "doctor",
  about: `
Checks everything, and says how to fix each problem: the configuration and its secrets, Node, the clock, the store and the
queue, Slack's tokens and their scopes, the entry for Slack's events, and every destination with its authentication.

It changes nothing, runs no task, and prints no secret. To test the entry it sends three requests that make no task: one
signed as Slack signs, one with an old signature and one unsigned. The last two each leave a line request_refused in the
entry's log.`,
  options: {
    stage: option(
      "NAME",
      "checks a stage on AWS instead of this machine, with your AWS credentials. The stage's worker reports what it can reach, so they need lambda:InvokeFunction on the worker's alias operator",
    ),
    config: configOption,
    json: flag("prints { ok, checks: [{ group, name, status, what, remedy }] }, for CI"),
  },
  exits: `
Status of a check: ok, warning, failed, or skipped (it does not apply, or something that it needs is missing).
Exit code: 0 no check failed; 1 a check failed; 2 bad usage.`,
  async run({ directory, signal, print, note, values }) {
    const location = { directory, file: values.config };
    const given = readGiven(location);
    const stage = given.problem === undefined ? values.stage : undefined;
    const closes: CloseSteps = [];
    try {
      const found = await runChecks({
        groups: await createGroups({ given, stage, location, closes, signal }),
        signal,
      });
      if (signal.aborted) {
        note("Interrupted. Some checks did not run.");
        return exitCodes.interrupted;
      }
      const subject = stage === undefined ? `this machine, ${directory}` : `stage ${stage}`;
      print(values.json ? formatDoctorJson(found) : formatDoctorText({ found, subject }));
      return isHealthy(found) ? exitCodes.success : exitCodes.failed;
    } finally {
      await Promise.all(closes.map((close) => close()));
    }
  },
});

/** Keeps the error of an unusable file, because the check of the configuration reports it as a finding. */
function readGiven(location: ConfigLocation) {
  try {
    return { config: loadConfig(location), environment: readEnvironment(), problem: undefined };
  } catch (thrown) {
    return { problem: { thrown } };
  }
}

type GroupsRequest = {
  given: ReturnType<typeof readGiven>;
  stage: string | undefined;
  location: ConfigLocation;
  closes: CloseSteps;
  signal: AbortSignal;
};

async function createGroups({
  given,
  stage,
  location,
  closes,
  signal,
}: GroupsRequest): Promise<CheckGroup[]> {
  function readConfig() {
    if (given.problem !== undefined) throw given.problem.thrown;
    return given.config;
  }
  const proxies = readProxies();
  const checks = [
    nodeCheck({ version: process.versions.node }),
    ...(proxies === undefined ? [] : [proxyCheck(proxies)]),
    configurationCheck({ location, read: readConfig }),
  ];
  const first = { group: "Configuration", checks };
  if (given.problem !== undefined) {
    const run = async () => skipped("They need a valid configuration.");
    return [first, { group: "Everything else", checks: [{ name: "other checks", run }] }];
  }
  const { config, environment } = given;
  if (stage === undefined)
    return [first, ...createLocalGroups({ config, environment, location, closes, signal })];
  const named = chooseStage(config, stage);
  // The AWS clients take long to load, so they are loaded only for a stage.
  const { createStageGroups } = await import("../../lib/cli/doctor/stage.ts");
  return [first, ...(await createStageGroups({ config, named, location, signal }))];
}
