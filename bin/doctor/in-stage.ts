/** What is looked at of a stage on AWS, with the operator's own credentials. */
import type { ConfigPlace } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { stageConfig } from "../../lambdas/shared/config/stage-config.ts";
import { openAwsRules } from "../allow/aws-rules.ts";
import { callerIdentity, requireVerificationAccount } from "../aws/account.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { secretsOfStage } from "../aws/stage-secrets.ts";
import { configInForce } from "../destinations/in-force.ts";
import { secretsOf } from "../destinations/surroundings.ts";
import { askUnsigned } from "./ask-entry.ts";
import { type Check, type CheckGroup, onlyAfter, skipped } from "./check.ts";
import { awsAccount } from "./checks/aws-account.ts";
import { botToken } from "./checks/bot-token.ts";
import { clock } from "./checks/clock.ts";
import { entry } from "./checks/entry.ts";
import { liveSettings } from "./checks/live-settings.ts";
import { signingSecret } from "./checks/signing-secret.ts";
import { stack } from "./checks/stack.ts";
import { deadLetters, stageQueue } from "./checks/stage-queue.ts";
import { stageSecret } from "./checks/stage-secret.ts";
import { taskTableCheck } from "./checks/task-table.ts";
import { tokenScopes } from "./checks/token-scopes.ts";
import { whoMayAsk } from "./checks/who-may-ask.ts";
import { destinationClocks, slackClock } from "./clock-sources.ts";
import { countRules } from "./count-rules.ts";
import { destinationGroup } from "./destination-group.ts";
import { entryOfStage } from "./entry-under-test.ts";
import { once } from "./once.ts";
import { openSlackSide } from "./slack-side.ts";

export async function groupsInStage({
  config,
  named,
  place,
  signal,
}: {
  config: Config;
  named: NamedStage;
  place: ConfigPlace;
  signal: AbortSignal;
}): Promise<CheckGroup[]> {
  const { stageName, stage } = named;
  const { region } = stage.verification;
  const staged = stageConfig({ config, stageName });
  const readSecret = secretsOf(region);
  const outputs = once(() => readStackOutputs({ ...named, signal }));
  const inForce = once(() => configInForce({ place, stage: stageName, signal }));
  const caller = once(() => callerIdentity({ region, signal }));
  const own = once(() => requireVerificationAccount({ ...named, signal }));
  const slack = openSlackSide({ config: staged, readSecret, signal });
  const openEntry = once(async () => {
    const known = await outputs().catch(() => undefined);
    if (known === undefined) return { missing: "Its address is known when the stack is." };
    const { eventsUrl } = known;
    return entryOfStage({ eventsUrl, stageName, signingSecret: config.slack.signingSecret });
  });
  const kept = async () => countRules(await openAwsRules({ config, stage: stageName, signal }));
  const queue = { stageName, region, outputs };
  const withStack = (check: Check) => onlyAfter(outputs, "It is found by the stack, which is not there.", check);
  const destinations = await inForce().then(
    (known) =>
      destinationGroup({
        config: known.config,
        place,
        stageName,
        executionPort: undefined,
        region,
        readSecret,
        isStarted: async () => true,
        signal,
      }),
    () => ({
      group: "Destinations",
      checks: [{ name: "destinations", run: async () => skipped("They are known when the stack is.") }],
    }),
  );
  const entryClock = {
    who: "the deployed entry",
    async skewMs() {
      const opened = await openEntry();
      return "url" in opened ? (await askUnsigned({ url: opened.url, signal }))?.skewMs : undefined;
    },
  };
  return [
    {
      group: `Stage ${stageName}`,
      checks: [
        awsAccount({ own, caller }),
        onlyAfter(own, "Credentials of the stage's account are needed.", stack({ stageName, outputs, inForce })),
        ...[liveSettings({ inForce }), stageQueue(queue), deadLetters(queue), taskTableCheck({ region, outputs })].map(
          withStack,
        ),
        ...secretsOfStage({ config, ...named }).map((secret) =>
          onlyAfter(caller, "Credentials are needed.", stageSecret({ secret, caller, stageName })),
        ),
        clock({
          trusted: [slackClock({ slack }), entryClock],
          others: destinationClocks({ config: staged, signal }),
        }),
      ],
    },
    {
      group: "Slack",
      checks: [
        botToken({ slack }),
        tokenScopes({ slack, manifestWords: `npx sekisho manifest --stage ${stageName}` }),
        entry({ open: openEntry }),
        signingSecret({ slack, open: openEntry }),
        withStack(whoMayAsk({ configured: config.allowlist.length, kept, stageName })),
      ],
    },
    destinations,
  ];
}
