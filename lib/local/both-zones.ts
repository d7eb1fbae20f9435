/** Both zones in one process, as two real HTTP servers, with the fake Slack or the real one. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import { openProcessTelemetry } from "../../lambdas/shared/telemetry/process-telemetry.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import type { Page } from "../../lambdas/verification/ingress/server.ts";
import { installationOf } from "../../lambdas/verification/task/task.ts";
import { type Tap, tapTransport } from "../../lambdas/verification/transport/tap.ts";
import type { Observation } from "../../lambdas/verification/worker/run-step.ts";
import { findXrayTarget } from "../cli/aws/own-aws.ts";
import { type Engine, openSqliteEngine } from "./engine.ts";
import { startExecutionZone } from "./execution-zone.ts";
import { type FakeSlack, startFakeSlack } from "./fake-slack/fake-slack.ts";
import { workspace } from "./fake-slack/workspace.ts";
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
  /** Where relative paths of the configuration are looked for. */
  directory: string;
  /** Where the tasks are kept, unless `openEngine` says otherwise. */
  storeFolder: string;
  openEngine?: (zone: "verification" | "execution") => Engine;
  port: number;
  executionPort: number;
  /** For the metrics of the Verification zone; without one nobody reads them. */
  metricsPort?: number | undefined;
  /** What the worker does, and what goes over the wire (secrets redacted), for whoever watches. */
  observe?: (observation: Observation) => void;
  tap?: Tap;
  page?: Page;
  log: (service: "verification" | "execution") => Log;
};

/** What the Verification zone needs to know of the Slack that it talks to. */
export type SlackConnection = {
  apiUrl: string;
  signingSecret?: (() => Promise<string>) | undefined;
  /** Undefined where there is none beside those of the installation flow. */
  botToken: () => Promise<string | undefined>;
  /** With one it is met over Socket Mode. */
  appToken?: (() => Promise<string>) | undefined;
  /** Who may ask beside the configuration's allowlist. */
  extraRules: { team: string }[];
};

/** A fake Slack with secrets of its own, new ones each time; its workspace is allowed. `file` keeps its messages. */
export async function openFakeSlack({ log, file }: { log: Log; file?: string }): Promise<{
  fakeSlack: FakeSlack;
  slack: SlackConnection & Record<"signingSecret" | "botToken", () => Promise<string>>;
}> {
  const signingSecret = randomBytes(16).toString("hex");
  const botToken = `xoxb-${randomBytes(24).toString("hex")}`;
  const fakeSlack = await startFakeSlack({ signingSecret, botToken, log, file });
  const slack = {
    apiUrl: fakeSlack.apiUrl,
    signingSecret: async () => signingSecret,
    botToken: async () => botToken,
    extraRules: [{ team: workspace.team }],
  };
  return { fakeSlack, slack };
}

export async function startBothZones({ slack, ...options }: Options & { slack: SlackConnection }): Promise<BothZones> {
  const { config, directory, storeFolder, observe, tap } = options;
  const { openEngine = (zone) => openSqliteEngine({ file: join(storeFolder, `${zone}.db`) }) } = options;
  const log = options.log("verification");
  const { awsRegion: region } = readEnvironment();
  const telemetryOf = (service: "verification" | "execution") =>
    openProcessTelemetry({
      config: config.telemetry,
      service,
      readSecret,
      xray: findXrayTarget({ region }),
      log: options.log(service),
    });
  const telemetry = telemetryOf("verification");
  const executionTelemetry = telemetryOf("execution");
  const engine = openEngine("verification");
  const completions = engine.completions?.();
  // A free port is known once it listens, and no task has a file there before.
  let verificationPort = options.port === 0 ? undefined : options.port;
  const execution = await startExecutionZone({
    config: config.execution,
    openEngine: () => openEngine("execution"),
    directory,
    completions,
    port: options.executionPort,
    verificationPort: () => verificationPort,
    log: options.log("execution"),
    telemetry: executionTelemetry,
  }).catch(async (thrown: unknown) => {
    await engine.close();
    throw thrown;
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
      // Closed when both zones are: a task that ends with the Execution zone is pushed as well.
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
      executionUrl: execution.url,
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
        // Tasks that run are told to end first, so that a poll under way brings their end home.
        await Promise.all([verification.close(), execution.close()]);
        await closeShared();
      },
    };
  } catch (thrown) {
    await execution.close();
    await closeShared();
    throw thrown;
  }
}
