/** `sekisho smoke`: sends real tasks through a new stage on AWS, and checks its alarms, metrics and logs afterwards. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { createStageConfig } from "../../lambdas/shared/config/stage-config.ts";
import { createReadStageSecret } from "../../lib/cli/aws/own-aws.ts";
import { readStackOutputs } from "../../lib/cli/aws/stack-outputs.ts";
import { type NamedStage, readStage } from "../../lib/cli/aws/stage.ts";
import {
  type Command,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../../lib/cli/command.ts";
import { confirm } from "../../lib/cli/confirm.ts";
import { readEffectiveConfig } from "../../lib/cli/destinations/effective-config.ts";
import { runChecks } from "../../lib/cli/doctor/check.ts";
import { openStage } from "../../lib/cli/doctor/open-stage.ts";
import { requireSecret } from "../../lib/cli/doctor/slack.ts";
import { checks } from "../../lib/cli/doctor/table.ts";
import { formatSmokeReport } from "../../lib/cli/smoke/report.ts";
import { routeElsewhere } from "../../lib/cli/smoke/route-elsewhere.ts";
import { defaultSettings, runSmoke, type SmokeSettings } from "../../lib/cli/smoke/run-smoke.ts";
import { storyTexts } from "../../lib/cli/smoke/run-story.ts";
import { openSlackThread } from "../../lib/cli/smoke/slack-thread.ts";
import { openTaskZone } from "../../lib/cli/tasks/task-zone.ts";
import { openStageZone } from "../../lib/cli/zone/stage-zone.ts";

export const smoke = createSmoke(defaultSettings);

/** `settings` are shorter in a rehearsal. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createSmoke(settings: SmokeSettings): Command {
  const { wakes, longTaskMs } = settings;
  return defineCommand({
    name: "smoke",
    about: `
Tests a new stage on AWS with five real tasks, in about half an hour (15 minutes on Lambda). The tasks go through the deployed
entry as messages of the given person in the given channel: a task that wakes itself more than ${wakes} times, a task of
${longTaskMs / 60_000} minutes (2 on Lambda), a question with a reply, a file, and a task that is canceled. Afterwards the command
checks the stage's alarms, metrics, log lines and dead letters, and runs doctor. It prints what the project assumes about AWS, and what it observed. Ctrl-C cancels the tasks.

The stage must run the agent "echo", which waits, asks and makes files on request, and calls no model. The command takes
the agent from your configuration file, so deploy the file first. The bot must be in the channel, and the person must be on
the allowlist. The bot posts five messages in the channel, and the answers appear in their threads.

Your credentials need the permissions of doctor, and cloudformation:ListStackResources, cloudwatch:DescribeAlarms and
GetMetricData, logs:FilterLogEvents, secretsmanager:GetSecretValue on the signing secret and the bot token, and
sqs:SendMessage with kms:GenerateDataKey on the queue.`,
    options: {
      stage: option("NAME", "the stage; required"),
      channel: option("C…", "a channel of your workspace that the bot is in; required"),
      user: option("U…", "the person in whose name the messages are sent; required"),
      yes: flag("sends without asking first"),
      json: flag("prints { ok, checks, assumptions }"),
      "execution-profile": option(
        "PROFILE",
        "the AWS CLI profile of the Execution zone's account, if that is another account; without it that zone's alarms, metrics and logs are not checked",
      ),
      config: configOption,
    },
    exits:
      "Exit code: 0 every check passed; 1 one failed, or AWS or Slack refused; 2 bad usage or configuration; 3 AWS not reachable.",
    async run(run) {
      const { directory, signal, print, note, values } = run;
      const channel = requireId("--channel", values.channel, /^[CGD][A-Z0-9]{2,}$/);
      const user = requireId("--user", values.user, /^[UW][A-Z0-9]{2,}$/);
      if (values.stage === undefined)
        throw new UsageError("Give --stage. There is no default, because the tasks are real.");
      const location = { directory, file: values.config };
      const { config, named } = readStage(run, values);
      requireEcho(config, named);

      const outputs = await readStackOutputs({ ...named, signal });
      const { config: effective } = await readEffectiveConfig({
        location,
        stage: named.stageName,
        signal,
      });
      const { slack } = createStageConfig({ config, stageName: named.stageName });
      const readSecret = createReadStageSecret(named.stage.verification);
      const [signingSecret, token] = await Promise.all([
        requireSecret(slack.signingSecret, readSecret),
        requireSecret(slack.botToken, readSecret),
      ]);
      const thread = openSlackThread({ slack, token, channel, signal });
      const texts = storyTexts(settings);
      const elsewhere = routeElsewhere({
        config,
        routes: effective.routes,
        team: await thread.team(),
        channel,
        texts,
      });
      if (elsewhere !== undefined) throw new UsageError(elsewhere);
      const word = named.stageName;
      const question = `This sends five tasks and posts five messages in ${channel}. Type the stage's name (${word}) to begin: `;
      if (!(values.yes || (await confirm({ question, word, signal })))) {
        note("Nothing was sent. --yes sends without asking.");
        return exitCodes.failed;
      }
      // The zone must outlive the command's signal, because the tasks are canceled after Ctrl-C.
      const never = new AbortController().signal;
      const zone = await openStageZone({ config, stage: named.stageName, signal: never });
      const tasks = await openTaskZone({ zone, signal: never });
      try {
        const report = await runSmoke({
          ...named,
          config,
          zone: tasks,
          slack: thread,
          eventsUrl: outputs.eventsUrl,
          signingSecret,
          channel,
          user,
          settings,
          executionProfile: values["execution-profile"],
          async runDoctor() {
            const target = await openStage({ ...named, config, location, signal });
            const targets = { both: target, stage: target };
            return runChecks({ table: checks, targets, timeoutMs: 300_000, signal });
          },
          note,
          signal,
        });
        print(
          values.json
            ? JSON.stringify(report, null, 2)
            : formatSmokeReport(report, named.stageName),
        );
        return report.ok ? exitCodes.success : exitCodes.failed;
      } finally {
        await tasks.close();
      }
    },
  });
}

function requireId(option: string, value: string | undefined, pattern: RegExp): string {
  if (value !== undefined && pattern.test(value)) return value;
  throw new UsageError(
    `Give ${option}, a Slack id such as ${option === "--user" ? "U" : "C"}012AB3CD.`,
  );
}

function requireEcho({ execution: { agent } }: Config, { stageName, stage }: NamedStage): void {
  const isExternal = stage.execution.kind === "external";
  if (!isExternal && agent === "echo") return;
  const why = isExternal ? "deploys no Execution zone of its own" : "runs another agent";
  throw new UsageError(
    `Stage ${stageName} ${why}, but this test needs the agent "echo". Set "execution": { "agent": "echo" }, run npx cdk deploy --all -c stage=${stageName}, run smoke, then deploy your own agent.`,
  );
}
