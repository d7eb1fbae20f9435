/** `sekisho execution`: runs the Execution zone alone, or writes it as files for a container. */

import { join, resolve } from "node:path";
import { bundle, bundleBytes, writeFiles } from "@sekisho/cdk/bundle/bundle.ts";
import { configFileName, entries } from "@sekisho/cdk/bundle/entry.ts";
import { noticesFileName } from "@sekisho/cdk/bundle/notices.ts";
import { bundledAgentFile } from "@sekisho/config/deployed.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { configDirectory, loadExecutionConfig, parseConfig } from "@sekisho/config/load.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import {
  listAuthenticatorSecrets,
  listCardSecrets,
} from "@sekisho/execution/config/execution-secrets.ts";
import { handleAgentErrors, startExecutionZone } from "@sekisho/local/execution-zone.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { openZoneTelemetry } from "@sekisho/local/own-aws.ts";
import { createLocalLog } from "@sekisho/local/terminal-log.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import {
  closeWhenStopped,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  parsePort,
  requireSecrets,
  requireTokens,
  UsageError,
} from "../command.ts";
import { watchCommand } from "../watch-command.ts";

const { fileName } = entries.container;

export const execution = defineCommand({
  name: "execution",
  about: `
Runs the Execution zone on 127.0.0.1 until Ctrl-C. It serves the Verification zone, and other clients as an A2A agent.`,
  options: {
    port: option("N", "instead of SEKISHO_EXECUTION_PORT (8080); 0 chooses a free port"),
    agent: option(
      "AGENT",
      '"echo" or the path of your agent file, instead of the configuration\'s main agent',
    ),
    store: option("FILE", "stores the tasks there, instead of in .sekisho/execution.db"),
    config: configOption,
    watch: flag(
      "starts again when the agent file, a file that it imports, the configuration or .env changes; tasks are kept",
    ),
  },
  exits: `
Files of messages are read from the Verification zone on this machine. Set SEKISHO_PORT to its port unless that is 3000.

Log lines go to stderr (SEKISHO_LOG_LEVEL, or telemetry.logs.level: debug, info, warn, error), readable on a terminal, as
JSON elsewhere. They never hold texts. What goes wrong in your agent is printed with its line, which may hold texts;
SEKISHO_SHOW_AGENT_ERRORS=0 switches that off.

Variables that are not set are taken from .env in the working directory, except for the secrets of Slack.`,
  async run(run) {
    const { directory, print, values } = run;
    const environment = readEnvironment();
    const { port: verificationPort, executionPort, awsRegion: region } = environment;
    const location = { directory, file: values.config };
    const { execution: configuredZone, telemetry: telemetryConfig } = loadExecutionConfig(location);
    const agent =
      values.agent === undefined ? configuredZone.agent : agentOf(values.agent, directory);
    const zoneConfig = { ...configuredZone, agent };
    if (values.watch) {
      const port = values.port === "0" ? ["--port", String(await freePort())] : [];
      await watchCommand({
        run,
        name: "execution",
        more: port,
        execution: zoneConfig,
        base: configDirectory(location),
        config: values.config,
      });
      return exitCodes.success;
    }
    requireTokens(listAuthenticatorSecrets(configuredZone.authenticator));
    requireSecrets(listCardSecrets(configuredZone.a2a));
    const logs = toLogSettings({ environment, config: telemetryConfig.logs });
    const log = createLocalLog({ service: "execution", ...logs });
    handleAgentErrors({ log });
    const telemetry = openZoneTelemetry({
      config: telemetryConfig,
      service: "execution",
      region,
      log,
    });
    const zone = await startExecutionZone({
      config: zoneConfig,
      openEngine: () =>
        openSqliteEngine({ file: values.store ?? join(directory, ".sekisho", "execution.db") }),
      directory: configDirectory(location),
      port: values.port === undefined ? executionPort : parsePort(values.port),
      verificationPort: () => (verificationPort === 0 ? undefined : verificationPort),
      log,
      telemetry,
    });
    const close = async () => {
      await zone.close();
      await telemetry.close();
    };
    await closeWhenStopped(run, close, () => {
      print(
        `Execution zone: ${zone.url}   (agent: ${typeof agent === "string" ? agent : agent.type}; Ctrl-C stops it)`,
      );
      print(`A2A agent card: ${zone.url}${agentCardPath}`);
    });
    return exitCodes.success;
  },
});

/** Parses the option like the configuration's field, so that both report the same errors. Its path is relative to the working directory. */
function agentOf(agent: string, directory: string) {
  const path = agent === "echo" ? agent : resolve(directory, agent);
  return parseConfig({ json: { execution: { agent: path } }, name: "--agent" }).execution.agent;
}

export const executionBundle = defineCommand({
  name: "execution bundle",
  about: `
Writes the Execution zone as files that need only Node 24: ${fileName}, ${bundledAgentFile()} or ${bundledAgentFile("NAME")}
for each of execution.agents (each with a .map for log lines), ${configFileName} with the sections execution and telemetry,
${noticesFileName} with the licenses, and a Dockerfile. The files must stay in one folder.`,
  options: {
    out: option("DIR", "the folder, which is created if it does not exist; required"),
    config: configOption,
  },
  exits: `
${fileName} reads these environment variables at its start:

  PORT                  the port to listen on (8080)
  SEKISHO_STORE         the sqlite file of tasks, on a local disk (execution.db in the working directory)
  SEKISHO_CONFIG_FILE   a configuration to use instead of ${configFileName}, with the same agents
  SEKISHO_LOG_LEVEL     debug, info, warn, error
  SEKISHO_HOSTNAME      the address to bind (0.0.0.0)
  HTTPS_PROXY           the proxy by which it reaches the world; HTTP_PROXY and NO_PROXY as usual
  and the variables that the configuration names for its secrets

It listens beyond loopback only if the configuration has an authenticator. To check the health of a running one, use
node ${fileName} --healthcheck.`,
  async run({ directory, print, note, values }) {
    if (values.out === undefined) throw new UsageError("--out is missing: the folder to write to.");
    const location = { directory, file: values.config };
    const config = loadExecutionConfig(location);
    const { files } = bundle({
      name: "container",
      config,
      configDirectory: configDirectory(location),
    });
    const [file] = writeFiles({ files, folder: resolve(directory, values.out) });
    if (config.execution.authenticator.type === "none") note(loopbackOnly);
    print(`${file}   (${files.size} files, ${Math.ceil(bundleBytes({ files }) / 1000)} KB)`);
    return exitCodes.success;
  },
});

const loopbackOnly =
  'Note: the configuration has no authenticator, so this file does not start in a container, where it would listen beyond loopback. Give "execution" an authenticator (bearer, jwt, web-identity or platform), or mount a configuration that has one (SEKISHO_CONFIG_FILE).';
