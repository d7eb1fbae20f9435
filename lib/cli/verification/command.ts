/** `sekisho verification`: runs the Verification zone alone, for the real Slack or the one at `slack.apiUrl`. */

import { join } from "node:path";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { loadConfig } from "@sekisho/config/load.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { openLocalAskerTokens } from "@sekisho/local/asker-keys.ts";
import { openZoneTelemetry } from "@sekisho/local/own-aws.ts";
import { openSlackInstallation } from "@sekisho/local/slack-installation.ts";
import { openRealSlack } from "@sekisho/local/socket-mode-choice.ts";
import { createLocalLog } from "@sekisho/local/terminal-log.ts";
import { startVerificationZone } from "@sekisho/local/verification-zone.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import { installationOf } from "@sekisho/verification/task/task.ts";
import {
  closeWhenStopped,
  configOption,
  defineCommand,
  exitCodes,
  option,
  parsePort,
  UsageError,
} from "../command.ts";
import { requireSlackSecrets } from "../slack-secrets.ts";

export const verification = defineCommand({
  name: "verification",
  about: `
Runs the Verification zone on 127.0.0.1 until Ctrl-C. Tasks go to the destinations of the configuration.

It needs the bot token, and either the signing secret and a tunnel to /slack/events, or the app token for Socket Mode
(SLACK_BOT_TOKEN, SLACK_SIGNING_SECRET and SLACK_APP_TOKEN by default).`,
  options: {
    port: option("N", "instead of SEKISHO_PORT (3000); 0 chooses a free port"),
    store: option("FILE", "stores the tasks there, instead of in .sekisho/verification.db"),
    config: configOption,
  },
  exits: `
Log lines go to stderr (SEKISHO_LOG_LEVEL, or telemetry.logs.level: debug, info, warn, error), readable on a terminal, as
JSON elsewhere. Variables that are not set are taken from .env in the working directory.`,
  async run(run) {
    const { directory, print, values } = run;
    const environment = readEnvironment();
    const { port, executionPort, metricsPort, awsRegion: region } = environment;
    const config = loadConfig({ directory, file: values.config });
    requireSlackSecrets(config);
    refuseInProcess(config);
    const slack = await openRealSlack({ config, signal: run.signal });
    const dataFolder = join(directory, ".sekisho");
    const logs = toLogSettings({ environment, config: config.telemetry.logs });
    const log = createLocalLog({ service: "verification", ...logs });
    const { apiUrl } = config.slack;
    const { botToken, ...access } = slack.access;
    const installation = openSlackInstallation({ config, dataFolder, botToken, apiUrl, log });
    const telemetry = openZoneTelemetry({
      config: config.telemetry,
      service: "verification",
      region,
      log,
    });
    const executionUrl = `http://127.0.0.1:${executionPort}/`;
    const destinations = createDestinations({
      config,
      localUrl: executionUrl,
      handle: async () => new Response(null, { status: 404 }),
      readSecret,
      botTokenOf: (task) => installation.tokens.tokenOf(installationOf(task)),
      askerTokens: openLocalAskerTokens({ asker: config.asker, dataFolder }),
      credentials: defaultAwsCredentials(),
      region,
      log,
      telemetry,
    });
    const zone = await startVerificationZone({
      config,
      openEngine: () =>
        openSqliteEngine({ file: values.store ?? join(dataFolder, "verification.db") }),
      dataFolder,
      port: values.port === undefined ? port : parsePort(values.port),
      metricsPort,
      ...access,
      installation,
      slackApiUrl: apiUrl,
      destinations,
      executionUrl,
      log,
      telemetry,
    });
    const close = async () => {
      await zone.close();
      await Promise.all([...destinations.values()].map(({ client }) => client.close()));
      await telemetry.close();
    };
    await closeWhenStopped(run, close, () => {
      print(`Verification zone: ${zone.url}`);
      if (zone.metricsUrl !== undefined) print(`Metrics:           ${zone.metricsUrl}`);
      print(slack.text({ port: zone.port }));
    });
    return exitCodes.success;
  },
});

/** Refuses a route to an in-process Execution zone, because this process has none. Unused destinations are allowed. */
function refuseInProcess({ routes, destinations }: Config): void {
  const usedDestinations = routes.flatMap(({ destination }) => destination);
  const name = usedDestinations.find((each) => destinations[each]?.transport === "in-process");
  if (name === undefined) return;
  throw new UsageError(
    `The route to "${name}" needs the Execution zone in the same process. Use sekisho start.`,
  );
}
