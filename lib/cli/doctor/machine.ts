/** The table of checks of this machine. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { createCachedSecret } from "../../../lambdas/shared/async/cached-secret.ts";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { isOwnExecution } from "../../../lambdas/shared/config/destination-address.ts";
import type { Environment } from "../../../lambdas/shared/config/environment.ts";
import type { ConfigLocation } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { formatSecretName, hasSecret, readSecret } from "../../../lambdas/shared/config/secrets.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import type { DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { createIngress } from "../../../lambdas/verification/ingress/ingress.ts";
import { startVerificationServer } from "../../../lambdas/verification/ingress/server.ts";
import { isAnySet, neededSecrets } from "../../local/slack-installation.ts";
import { listStoredRules } from "../allow/rule-zone.ts";
import { listNonSlackSecrets } from "../config-needs.ts";
import { checkFromHere } from "../destinations/check.ts";
import { openLocalZone } from "../zone/local-zone.ts";
import { blocksCheck } from "./blocks-check.ts";
import {
  type Check,
  CheckEnded,
  type CheckGroup,
  type Finding,
  failed,
  failedAs,
  ok,
  once,
  skipped,
} from "./check.ts";
import { clockCheck, destinationClocks } from "./clock.ts";
import { queueCheck, storeCheck } from "./engine-file.ts";
import { measureSkew } from "./http.ts";
import { diskCheck, findPortUse, portCheck, type Zone } from "./machine-checks.ts";
import {
  allowlistCheck,
  appTokenCheck,
  askIdentity,
  type Entry,
  entryChecks,
  requireSecret,
  tokenChecks,
} from "./slack.ts";

export type CloseSteps = (() => Promise<void>)[];

type LocalRequest = {
  config: Config;
  environment: Environment;
  location: ConfigLocation;
  /** Gets the work to do after all checks. */
  closes: CloseSteps;
  signal: AbortSignal;
};

export function createLocalGroups({
  config,
  environment,
  location,
  closes,
  signal,
}: LocalRequest): CheckGroup[] {
  const { port, executionPort } = environment;
  const { slack } = config;
  const openPort = (zone: Zone, number: number, variable: string) => {
    return { zone, port: number, variable, use: once(() => findPortUse(zone, number, signal)) };
  };
  const verification = openPort("Verification", port, "SEKISHO_PORT");
  const execution = openPort("Execution", executionPort, "SEKISHO_EXECUTION_PORT");
  const isRunning = async () =>
    (await verification.use()) === "zone" || (await execution.use()) === "zone";
  const dataFolder = join(location.directory, ".sekisho");
  const folder = existsSync(dataFolder) ? dataFolder : location.directory;
  const verificationFile = join(dataFolder, "verification.db");
  const executionFile = join(dataFolder, "execution.db");
  const identity = once(() => askIdentity(config, readSecret, signal));
  const { entry, signingSecret } = entryChecks({
    reference: slack.signingSecret,
    readSecret,
    open: once(async () =>
      openEntry({ config, port, isRunning: (await verification.use()) === "zone", closes }),
    ),
  });
  // A machine without any of Slack's secrets runs the fake Slack, which has secrets of its own.
  const hasSlack = isAnySet(slack);
  return [
    {
      group: "This machine",
      checks: [
        secretsCheck([...(hasSlack ? neededSecrets(slack) : []), ...listNonSlackSecrets(config)]),
        clockCheck({
          // Slack is not called without a token.
          trusted: [
            {
              who: "Slack",
              skewMs: () => identity().then(() => measureSkew({ url: slack.apiUrl, signal })),
            },
          ],
          others: destinationClocks(config, signal),
        }),
        ...[verification, execution].filter(({ port }) => port !== 0).map(portCheck),
      ],
    },
    {
      group: "Store and queue",
      checks: [
        diskCheck({ folder }),
        storeCheck({ file: verificationFile, folder }),
        queueCheck({ file: verificationFile, folder }),
        ...(existsSync(executionFile) ? [storeCheck({ file: executionFile, folder })] : []),
      ],
    },
    {
      group: "Slack",
      checks: hasSlack
        ? [
            ...tokenChecks({
              config,
              identity,
              manifestCommand: `${sekisho} manifest${hasSecret(slack.appToken) ? " --socket" : ""}`,
            }),
            blocksCheck({ config, identity, readSecret }),
            appTokenCheck(config, readSecret),
            entry,
            signingSecret,
            allowlistCheck({
              config,
              // The file exists from the first start on.
              added: async () =>
                existsSync(verificationFile)
                  ? listStoredRules(openLocalZone({ file: verificationFile, config: () => config }))
                  : [],
              stageOption: "",
            }),
          ]
        : [{ name: "tokens", run: async () => skipped(fakeSlackText(slack)) }, entry],
    },
    {
      group: "Destinations",
      checks: Object.entries(config.destinations).map(([name, destination]) => ({
        name,
        // A check makes two calls, and opens and closes the transport.
        timeoutMs: 2 * config.limits.callTimeoutMs + 10_000,
        async run(signal) {
          if (isOwnExecution(destination) && !(await isRunning())) {
            return skipped(
              `The Execution zone is not running on this machine. Start both zones with ${sekisho} start.`,
            );
          }
          return toFinding(await checkFromHere({ config, location, name, destination, signal }));
        },
      })),
    },
  ];
}

export function toFinding(
  { name, health, summary, firstMs }: DestinationCheck,
  stageOption = "",
): Finding {
  if (health === "healthy")
    return ok(firstMs === undefined ? summary : `${summary} (${firstMs} ms)`);
  return failedAs(
    summary,
    `Check it and its address, then run ${sekisho} destinations check ${name}${stageOption}.`,
  );
}

/** Names the secrets, and never shows their values. */
function secretsCheck(references: Parameters<typeof requireSecret>[0][]): Check {
  return {
    name: "secrets",
    async run() {
      const named = new Map(
        references.map((reference) => [formatSecretName(reference), reference]),
      );
      if (named.size === 0) return ok("The configuration needs none here.");
      const looked = await Promise.allSettled(
        [...named.values()].map((each) => requireSecret(each, readSecret)),
      );
      const missing = looked.flatMap((each) =>
        each.status === "rejected" ? [each.reason.message] : [],
      );
      if (missing.length === 0) return ok(`All are there: ${[...named.keys()].join(", ")}.`);
      const remedy =
        "Set each variable where sekisho is started; for Secrets Manager, AWS_PROFILE and AWS_REGION.";
      return failed(missing.join(" "), remedy);
    },
  };
}

type EntryRequest = Pick<LocalRequest, "config" | "closes"> & { port: number; isRunning: boolean };

/** The entry of the zone that runs here, or one that is started for the checks. */
async function openEntry({
  config: { slack },
  port,
  isRunning,
  closes,
}: EntryRequest): Promise<Entry> {
  const isSecretKnown = hasSecret(slack.signingSecret);
  if (isRunning) {
    return {
      url: `http://127.0.0.1:${port}/slack/events`,
      name: "The zone that runs here",
      start: `Start it again: ${sekisho} start.`,
      setSecret:
        "Start it again with the app's own signing secret. Without one it runs with the fake Slack's.",
      readLog: "Look at its log.",
      mayLackSecret: !isSecretKnown,
    };
  }
  if (!isSecretKnown) {
    const where = hasSecret(slack.appToken) ? ": over Socket Mode none is used." : " here.";
    throw new CheckEnded(skipped(`${formatSecretName(slack.signingSecret)} is not set${where}`));
  }
  const server = await startVerificationServer({
    ingress: createIngress({
      signingSecret: createCachedSecret({ readSecret: () => readSecret(slack.signingSecret) }),
      queue: { send: () => Promise.reject(new Error("The requests of a check make no task.")) },
      log: silentLog,
    }),
    port: 0,
  });
  closes.push(server.close);
  return {
    url: `${server.url}/slack/events`,
    name: "The entry, started for this check,",
    start: "Check that programs on this machine may listen on 127.0.0.1.",
    setSecret: "Set it to the app's own.",
    readLog: "This is a defect. Please report it.",
    mayLackSecret: false,
  };
}

function fakeSlackText({ signingSecret, botToken, appToken }: Config["slack"]): string {
  const names = [signingSecret, botToken, appToken].map(formatSecretName);
  return `None of ${names.join(", ")} is set: ${sekisho} start uses the fake Slack.`;
}
