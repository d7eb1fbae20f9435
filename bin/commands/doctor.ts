/** `sekisho doctor`: is everything well, here or in a stage, and what to do where it is not? */
import { parseArgs } from "node:util";
import { type Environment, readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { chooseStage, type NamedStage, stageOptions } from "../../lib/cli/aws/stage.ts";
import { type CheckGroup, skippedFinding } from "../../lib/cli/doctor/check.ts";
import { configuration } from "../../lib/cli/doctor/checks/configuration.ts";
import { nodeVersion } from "../../lib/cli/doctor/checks/machine.ts";
import { type CloseSteps, createLocalGroups } from "../../lib/cli/doctor/here.ts";
import { formatDoctorJson, formatDoctorText, isHealthy } from "../../lib/cli/doctor/report.ts";
import { runChecks } from "../../lib/cli/doctor/run-checks.ts";
import { type Command, exitCodes } from "./command.ts";

export const doctor: Command = {
  help: `
sekisho doctor [--stage NAME] [--json] [--config FILE]

Looks whether everything is well, and says for each failure what to do: the configuration, Node, the secrets it refers to,
the clock, the store and the queue, Slack's tokens and their scopes, the entry for Slack's events (by an event that is
signed as Slack signs them), and every destination with its authentication.

Nothing is changed and no task is run. Over HTTP the entry gets a signed, an old and an unsigned request that make no task;
the latter two leave a line request_refused each in its log. No secret is printed.

  --stage NAME   a stage on AWS instead of this machine. Your own credentials look at the account; the stage's worker
                 says what it can read, so they need lambda:InvokeFunction on its alias operator
  --json         { ok, checks: [{ group, name, status, what, remedy }] }, for CI
  --config FILE  instead of ./sekisho.config.json

Verdicts: ok, warning, failed, skipped (does not apply, or needs what is missing).
Exit code: 0 nothing failed; 1 something did; 2 bad usage.
`,
  async run({ words, directory, signal, print, note }) {
    const { values } = parseArgs({
      args: words,
      options: { ...stageOptions, json: { type: "boolean", default: false } },
    });
    const place = { directory, file: values.config };
    const given = readGiven(place);
    const named = stageIn({ given, stage: values.stage });
    const closes: CloseSteps = [];
    try {
      const groups = [
        {
          group: "Configuration",
          checks: [
            nodeVersion({ version: process.versions.node }),
            configuration({ place, read: () => given().config }),
          ],
        },
        ...(await furtherGroups({ given, named, place, closes, signal })),
      ];
      const found = await runChecks({ groups, signal });
      if (signal.aborted) {
        note("Interrupted: not everything was looked at.");
        return exitCodes.interrupted;
      }
      const subject = named === undefined ? `this machine, ${directory}` : `stage ${named.stageName}`;
      print(values.json ? formatDoctorJson(found) : formatDoctorText({ found, subject }));
      return isHealthy(found) ? exitCodes.success : exitCodes.failed;
    } finally {
      await Promise.all(closes.map((close) => close()));
    }
  },
};

type Given = { config: Config; environment: Environment };

/** What keeps the file from being used is a finding, and is told where the configuration is looked at. */
function readGiven(place: ConfigLocation): () => Given {
  try {
    const given = { config: loadConfig(place), environment: readEnvironment() };
    return () => given;
  } catch (thrown) {
    return () => {
      throw thrown;
    };
  }
}

/** A name that the file does not have is bad usage; a file that cannot be used is not. */
function stageIn({ given, stage }: { given: () => Given; stage: string | undefined }): NamedStage | undefined {
  const known = stage === undefined ? undefined : orUndefined(given);
  return known === undefined ? undefined : chooseStage(known.config, stage);
}

async function furtherGroups({
  given,
  named,
  ...rest
}: {
  given: () => Given;
  named: NamedStage | undefined;
  place: ConfigLocation;
  closes: CloseSteps;
  signal: AbortSignal;
}): Promise<CheckGroup[]> {
  const known = orUndefined(given);
  if (known === undefined) {
    const run = async () => skippedFinding("The configuration says what is to be looked at, and cannot be used.");
    return [{ group: "Everything else", checks: [{ name: "other checks", run }] }];
  }
  if (named === undefined) return createLocalGroups({ ...known, ...rest });
  // The clients of AWS are loaded only where there is a stage to look at.
  const { createStageGroups: groupsInStage } = await import("../../lib/cli/doctor/in-stage.ts");
  return groupsInStage({ config: known.config, named, ...rest });
}

function orUndefined(given: () => Given): Given | undefined {
  try {
    return given();
  } catch {
    return undefined;
  }
}
