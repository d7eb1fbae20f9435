/** What is looked at on this machine. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listNonSlackSecrets } from "../../../bin/commands/config.ts";
import type { Environment } from "../../../lambdas/shared/config/environment.ts";
import type { ConfigLocation } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { formatSecretName, hasSecret, readSecret } from "../../../lambdas/shared/config/secrets.ts";
import { isAnySet, neededSecrets } from "../../local/slack-installation.ts";
import { countRules } from "../allow/place.ts";
import { checkDependencies } from "../destinations/check-dependencies.ts";
import { openLocalZone } from "../zone/local-zone.ts";
import { type CheckGroup, once, skippedFinding } from "./check.ts";
import { allowlistCheck } from "./checks/configuration.ts";
import { destinationGroup } from "./checks/destinations.ts";
import { queueFile, storeFile } from "./checks/engine-file.ts";
import { entry } from "./checks/entry.ts";
import { clock, disk, portFree } from "./checks/machine.ts";
import { secretsHere, signingSecret } from "./checks/secrets.ts";
import { appToken, botToken, tokenScopes } from "./checks/slack-tokens.ts";
import { destinationClocks, slackClock } from "./clock-sources.ts";
import { openLocalEntry } from "./entry-under-test.ts";
import { portUse } from "./port-use.ts";
import { openSlackSide } from "./slack-side.ts";

export type CloseSteps = (() => Promise<void>)[];

export function createLocalGroups({
  config,
  environment,
  place,
  closes,
  signal,
}: {
  config: Config;
  environment: Environment;
  place: ConfigLocation;
  /** Gets what is to be done when all checks are over. */
  closes: CloseSteps;
  signal: AbortSignal;
}): CheckGroup[] {
  const { port, executionPort } = environment;
  const { directory } = place;
  const verificationUse = once(() => portUse({ zone: "Verification", port, signal }));
  const executionUse = once(() => portUse({ zone: "Execution", port: executionPort, signal }));
  const slack = openSlackSide({ config, readSecret, signal });
  const dataFolder = join(directory, ".sekisho");
  const folder = existsSync(dataFolder) ? dataFolder : directory;
  const files = ["verification.db", "execution.db"].map((name) => join(dataFolder, name));
  const [verificationFile = "", executionFile = ""] = files;
  const openEntry = once(async () => {
    const reference = config.slack.signingSecret;
    const use = await verificationUse();
    const isSecretKnown = hasSecret(reference);
    if (!isSecretKnown && use !== "zone") return { missing: whyNoEntry(config) };
    return openLocalEntry({ port, use, isSecretKnown, readSecret: () => readSecret(reference), closes });
  });
  // A machine without any of Slack's secrets runs the fake Slack, which has secrets of its own.
  const ofSlack = isAnySet(config.slack) ? neededSecrets(config.slack) : [];
  const manifestText = `npx sekisho manifest${hasSecret(config.slack.appToken) ? " --socket" : ""}`;
  const isStarted = async () => (await verificationUse()) === "zone" || (await executionUse()) === "zone";
  const ports = { SEKISHO_PORT: port, SEKISHO_EXECUTION_PORT: executionPort };
  return [
    {
      group: "This machine",
      checks: [
        secretsHere({ references: [...ofSlack, ...listNonSlackSecrets(config)], readSecret }),
        clock({ trusted: [slackClock({ slack })], others: destinationClocks({ config, signal }) }),
        ...(ports.SEKISHO_PORT === 0
          ? []
          : [portFree({ zone: "Verification", port, variable: "SEKISHO_PORT", use: verificationUse })]),
        ...(ports.SEKISHO_EXECUTION_PORT === 0
          ? []
          : [
              portFree({
                zone: "Execution",
                port: executionPort,
                variable: "SEKISHO_EXECUTION_PORT",
                use: executionUse,
              }),
            ]),
      ],
    },
    {
      group: "Store and queue",
      checks: [
        disk({ folder }),
        storeFile({ file: verificationFile, folder }),
        queueFile({ file: verificationFile, folder }),
        ...(existsSync(executionFile) ? [storeFile({ file: executionFile, folder })] : []),
      ],
    },
    {
      group: "Slack",
      checks: isAnySet(config.slack)
        ? [
            botToken({ slack }),
            tokenScopes({ slack, manifestText }),
            appToken({ slack }),
            entry({ open: openEntry }),
            signingSecret({ slack, open: openEntry }),
            allowlistCheck({
              configured: config.allowlist.length,
              kept: () => rulesIn({ file: verificationFile, config }),
            }),
          ]
        : [{ name: "tokens", run: async () => skippedFinding(fakeSlackText(config)) }, entry({ open: openEntry })],
    },
    destinationGroup({ ...checkDependencies({ config, place, signal }), executionPort, isStarted }),
  ];
}

/** Of a machine on which no zone runs and no signing secret is set. */
function whyNoEntry({ slack }: Config): string {
  const name = formatSecretName(slack.signingSecret);
  return hasSecret(slack.appToken) ? `${name} is not set: over Socket Mode none is used.` : `${name} is not set here.`;
}

/** The file is there from the first start on. */
async function rulesIn({ file, config }: { file: string; config: Config }): Promise<number> {
  return existsSync(file) ? countRules(openLocalZone({ file, config: () => config })) : 0;
}

function fakeSlackText({ slack }: Config): string {
  const names = [slack.signingSecret, slack.botToken, slack.appToken].map(formatSecretName);
  return `None of ${names.join(", ")} is set: npm start stands in for Slack.`;
}
