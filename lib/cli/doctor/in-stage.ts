/** The checks of a stage on AWS: with the operator's own credentials, and by the deployed worker with its role. */
import type { ConfigLocation } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { createStageConfig } from "../../../lambdas/shared/config/stage-config.ts";
import { countRules } from "../allow/place.ts";
import { callerIdentity, requireVerificationAccount } from "../aws/account.ts";
import { createReadStageSecret } from "../aws/own-aws.ts";
import { readStackOutputs, type StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { listStageSecrets } from "../aws/stage-secrets.ts";
import { stageDestinations } from "../destinations/check-in-stage.ts";
import { readEffectiveConfig } from "../destinations/effective-config.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { askUnsigned } from "./ask-entry.ts";
import { type Check, type CheckGroup, once, skippedFinding, skipUnless } from "./check.ts";
import { allowlistCheck } from "./checks/configuration.ts";
import { stageDestinationCheck } from "./checks/destinations.ts";
import { entry } from "./checks/entry.ts";
import { clock } from "./checks/machine.ts";
import { signingSecret, stageSecret } from "./checks/secrets.ts";
import { botToken, tokenScopes } from "./checks/slack-tokens.ts";
import {
  awsAccount,
  deadLetters,
  liveSettings,
  stack,
  stageQueue,
  taskTableCheck,
  workerCheck,
} from "./checks/stage.ts";
import { destinationClocks } from "./clock-sources.ts";
import { openStageEntry } from "./entry-under-test.ts";
import { openSlackSide } from "./slack-side.ts";
import { openStageWorker, type StageWorkerSide } from "./stage-worker.ts";

export async function createStageGroups({
  config,
  named,
  place,
  signal,
}: {
  config: Config;
  named: NamedStage;
  place: ConfigLocation;
  signal: AbortSignal;
}): Promise<CheckGroup[]> {
  const { stageName, stage } = named;
  const { region } = stage.verification;
  const staged = createStageConfig({ config, stageName });
  const readSecret = createReadStageSecret({ region });
  const outputs = once(() => readStackOutputs({ ...named, signal }));
  const inForce = once(() => readEffectiveConfig({ place, stage: stageName, signal }));
  const caller = once(() => callerIdentity({ region, signal }));
  const own = once(() => requireVerificationAccount({ ...named, signal }));
  const worker = openStageWorker({ config, named, outputs, signal });
  const { timeoutMs } = worker;
  const slack = openSlackSide({ config: staged, readSecret, identity: worker.identity, signal });
  const openEntry = once(async () => {
    const known = await outputs().catch(() => undefined);
    if (known === undefined) return { missing: "Its address is known when the stack is." };
    const { eventsUrl } = known;
    return openStageEntry({ eventsUrl, stageName, signingSecret: config.slack.signingSecret });
  });
  const kept = async () => countRules(await openStageZone({ config, stage: stageName, signal }));
  const queue = { stageName, region, outputs };
  const withStack = (check: Check) => skipUnless(outputs, "It is found by the stack, which is not there.", check);
  const destinations = await destinationGroup({ config, stageName, outputs, worker });
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
        skipUnless(own, "Credentials of the stage's account are needed.", stack({ stageName, outputs, inForce })),
        ...[
          liveSettings({ inForce }),
          stageQueue(queue),
          deadLetters(queue),
          taskTableCheck({ region, outputs }),
          workerCheck({ ask: worker.state, stageName, timeoutMs }),
        ].map(withStack),
        ...listStageSecrets({ config, ...named }).map((secret) =>
          skipUnless(caller, "Credentials are needed.", stageSecret({ secret, caller, stageName })),
        ),
        clock({
          trusted: [entryClock],
          others: destinationClocks({ config: staged, signal }),
        }),
      ],
    },
    {
      group: "Slack",
      checks: [
        botToken({ slack, timeoutMs }),
        tokenScopes({ slack, manifestText: `npx sekisho manifest --stage ${stageName}`, timeoutMs }),
        entry({ open: openEntry }),
        signingSecret({ slack, open: openEntry }),
        withStack(allowlistCheck({ configured: config.allowlist.length, kept, stageName })),
      ],
    },
    destinations,
  ];
}

/** Those of the file and those that are deployed. */
async function destinationGroup({
  config,
  stageName,
  outputs,
  worker,
}: {
  config: Config;
  stageName: string;
  outputs: () => Promise<StackOutputs>;
  worker: StageWorkerSide;
}): Promise<CheckGroup> {
  const group = "Destinations";
  const known = await outputs().then(
    (found) => stageDestinations({ config, stageName, outputs: found }),
    () => undefined,
  );
  if (known === undefined) {
    return {
      group,
      checks: [{ name: "destinations", run: async () => skippedFinding("They are known when the stack is.") }],
    };
  }
  const { deployed, missing } = known;
  const { destinations: ask } = worker;
  const isAnswering = () =>
    worker.state().then(
      () => true,
      () => false,
    );
  // One invocation after the other.
  const timeoutMs = 2 * worker.timeoutMs;
  const checks = [...deployed, ...missing].map((name) =>
    stageDestinationCheck({ name, isDeployed: deployed.includes(name), isAnswering, ask, stageName, timeoutMs }),
  );
  return { group, checks };
}
