/** Both zones in one process, as two HTTP servers, with the fake Slack or the real one. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readEnvironment } from "@sekisho/config/environment.ts";
import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import type { Page } from "@sekisho/verification/ingress/server.ts";
import { installationOf } from "@sekisho/verification/task/task.ts";
import { type Tap, tapTransport } from "@sekisho/verification/transport/tap.ts";
import type { Observation } from "@sekisho/verification/worker/step/step.ts";
import { openLocalAskerKeys, openLocalAskerTokens } from "./asker-keys.ts";
import { startExecutionZone } from "./execution-zone.ts";
import { type FakeSlack, startFakeSlack } from "./fake-slack/fake-slack.ts";
import { workspace } from "./fake-slack/workspace.ts";
import { openZoneTelemetry } from "./own-aws.ts";
import { openSlackInstallation } from "./slack-installation.ts";
import { startVerificationZone } from "./verification-zone.ts";

export type BothZones = {
  verificationUrl: string;
  verificationPort: number;
  executionUrl: string;
  metricsUrl: string | undefined;
  close(): Promise<void>;
};

type Options = {
  config: Config;
  /** Relative paths in the configuration start here. */
  directory: string;
  /** Holds the tasks, unless `openEngine` stores them elsewhere, and the files of messages. */
  storeFolder: string;
  openEngine?: (zone: "verification" | "execution") => Engine;
  port: number;
  executionPort: number;
  /** For the Verification zone's metrics. Without it there is no listener for them. */
  metricsPort?: number | undefined;
  /** Gets what the worker does. `tap` gets what goes over the wire, with secrets redacted. */
  observe?: (observation: Observation) => void;
  tap?: Tap;
  page?: Page;
  log: (service: "verification" | "execution") => Log;
};

/** The access of the Verification zone to Slack. */
export type SlackConnection = {
  apiUrl: string;
  signingSecret?: (() => Promise<string>) | undefined;
  /** Undefined if all tokens come from the installation flow. */
  botToken: () => Promise<string | undefined>;
  /** With it, events come over Socket Mode. */
  appToken?: (() => Promise<string>) | undefined;
  /** Added to the configuration's allowlist. */
  extraRules: AllowlistRule[];
};

/** Starts a fake Slack with new secrets. Its workspace is allowed. */
export async function openFakeSlack(
  options: Omit<Parameters<typeof startFakeSlack>[0], "signingSecret" | "botToken">,
): Promise<{
  fakeSlack: FakeSlack;
  slack: Omit<SlackConnection, "botToken"> &
    Record<"signingSecret" | "botToken", () => Promise<string>>;
}> {
  const signingSecret = randomBytes(16).toString("hex");
  const botToken = `xoxb-${randomBytes(24).toString("hex")}`;
  const fakeSlack = await startFakeSlack({
    signingSecret,
    botToken,
    // A busy machine may be slower than Slack allows.
    triggerLifeMs: 30_000,
    ...options,
  });
  const slack = {
    apiUrl: fakeSlack.apiUrl,
    signingSecret: async () => signingSecret,
    botToken: async () => botToken,
    extraRules: [{ team: workspace.team, external: "people" as const }],
  };
  return { fakeSlack, slack };
}

export async function startBothZones({
  slack,
  ...options
}: Options & { slack: SlackConnection }): Promise<BothZones> {
  const { config, directory, storeFolder, observe, tap } = options;
  const { openEngine = (zone) => openSqliteEngine({ file: join(storeFolder, `${zone}.db`) }) } =
    options;
  const log = options.log("verification");
  const { awsRegion: region } = readEnvironment();
  const telemetryOf = (service: "verification" | "execution") =>
    openZoneTelemetry({ config: config.telemetry, service, region, log: options.log(service) });
  const telemetry = telemetryOf("verification");
  const executionTelemetry = telemetryOf("execution");
  const engine = openEngine("verification");
  const completions = engine.completions?.();
  // A free port is known once the zone listens. No task has a file before that.
  let verificationPort = options.port === 0 ? undefined : options.port;
  const execution = await startExecutionZone({
    config: config.execution,
    openEngine: () => openEngine("execution"),
    directory,
    completions,
    askerKeys: openLocalAskerKeys({ asker: config.asker, dataFolder: storeFolder }),
    port: options.executionPort,
    ...{ verificationPort: () => verificationPort, isWithPage: true },
    log: options.log("execution"),
    telemetry: executionTelemetry,
  }).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const installation = openSlackInstallation({
    config,
    dataFolder: storeFolder,
    botToken: slack.botToken,
    apiUrl: slack.apiUrl,
    log,
  });
  const destinations = createDestinations({
    config,
    localUrl: `${execution.url}/`,
    handle: (request) => execution.host.handle(request),
    readSecret,
    botTokenOf: (task) => installation.tokens.tokenOf(installationOf(task)),
    askerTokens: openLocalAskerTokens({ asker: config.asker, dataFolder: storeFolder }),
    credentials: defaultAwsCredentials(),
    region,
    log,
    telemetry,
    ...(tap === undefined ? {} : { wrap: ({ transport }) => tapTransport({ transport, tap }) }),
  });
  const closeShared = async () => {
    await Promise.all([...destinations.values()].map(({ client }) => client.close()));
    await engine.close();
    await Promise.all([telemetry.close(), executionTelemetry.close()]);
  };
  try {
    const verification = await startVerificationZone({
      config,
      // Closed after both zones: a task that ends while the Execution zone closes is pushed too.
      openEngine: () => ({ ...engine, close: async () => {} }),
      completions,
      port: options.port,
      metricsPort: options.metricsPort,
      dataFolder: storeFolder,
      signingSecret: slack.signingSecret,
      installation,
      appToken: slack.appToken,
      slackApiUrl: slack.apiUrl,
      destinations,
      ...{ executionUrl: execution.url, isWithExecution: true },
      extraRules: slack.extraRules,
      ...(options.page === undefined ? {} : { page: options.page }),
      ...(observe === undefined ? {} : { observe }),
      log,
      telemetry,
    });
    verificationPort = verification.port;
    return {
      verificationUrl: verification.url,
      verificationPort: verification.port,
      executionUrl: execution.url,
      metricsUrl: verification.metricsUrl,
      async close() {
        // Together: a running task ends while the Verification zone can still poll its result.
        await Promise.all([verification.close(), execution.close()]);
        await closeShared();
      },
    };
  } catch (error) {
    await execution.close();
    await closeShared();
    throw error;
  }
}
