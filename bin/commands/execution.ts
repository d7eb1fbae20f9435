/** `sekisho execution`: the Execution zone alone. */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { agentCardPath } from "../../contracts/a2a/card-path.ts";
import { secretsOfAuthenticator, secretsOfCards } from "../../lambdas/execution/config/execution-secrets.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { configDirectory, loadExecutionConfig, parseConfig } from "../../lambdas/shared/config/load.ts";
import { logSettingsOf } from "../../lambdas/shared/config/log-settings.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { openProcessTelemetry } from "../../lambdas/shared/telemetry/process-telemetry.ts";
import { ownXray } from "../aws/own-xray.ts";
import { openSqliteEngine } from "../local/engine.ts";
import { startExecutionZone } from "../local/execution-zone.ts";
import { type Command, exitCodes, UsageError, untilStopped } from "./command.ts";
import { requireSecrets } from "./required-secrets.ts";

export const execution: Command = {
  help: `
sekisho execution [--port N] [--agent AGENT] [--store FILE] [--config FILE]

Runs the Execution zone on 127.0.0.1 until Ctrl-C: for the Verification zone, and as an A2A agent.

  --port N        instead of SEKISHO_EXECUTION_PORT (8080); 0 takes a free one
  --agent AGENT   "echo" or the path of your agent file, instead of the configuration's
  --store FILE    where tasks are kept, instead of .sekisho/execution.db
  --config FILE   instead of ./sekisho.config.json

Log lines go to stderr (SEKISHO_LOG_LEVEL, or telemetry.logs.level: debug, info, warn, error). They never hold texts;
SEKISHO_SHOW_AGENT_ERRORS=1 prints what your agent threw, with its stack, while you write it.
`,
  async run(run) {
    const { words, directory, print } = run;
    const { values } = parseArgs({
      args: words,
      options: {
        port: { type: "string" },
        agent: { type: "string" },
        store: { type: "string" },
        config: { type: "string" },
      },
    });
    const environment = readEnvironment();
    const { executionPort, awsRegion: region } = environment;
    const place = { directory, file: values.config };
    const { execution: configured, telemetry: telemetryConfig } = loadExecutionConfig(place);
    requireSecrets([...secretsOfAuthenticator(configured.authenticator), ...secretsOfCards(configured.a2a)]);
    const agent = values.agent === undefined ? configured.agent : agentOf(values.agent);
    const logs = logSettingsOf({ environment, config: telemetryConfig.logs });
    const log = createLog({ service: "execution", ...logs });
    const telemetry = openProcessTelemetry({
      config: telemetryConfig,
      service: "execution",
      readSecret,
      xray: ownXray({ region }),
      log,
    });
    const zone = await startExecutionZone({
      config: { ...configured, agent },
      openEngine: () => openSqliteEngine({ file: values.store ?? join(directory, ".sekisho", "execution.db") }),
      // A path that is typed counts from where it is typed.
      directory: values.agent === undefined ? configDirectory(place) : directory,
      port: values.port === undefined ? executionPort : portOf(values.port),
      log,
      telemetry,
    });
    print(`Execution zone: ${zone.url}   (agent: ${typeof agent === "string" ? agent : agent.type}; Ctrl-C ends it)`);
    print(`A2A agent card: ${zone.url}${agentCardPath}`);
    await untilStopped(run, async () => {
      await zone.close();
      await telemetry.close();
    });
    return exitCodes.success;
  },
};

/** Checked as the configuration's own field is, so that the same words say what is wrong. */
function agentOf(agent: string) {
  const path = agent === "echo" || /^\.{0,2}\//.test(agent) ? agent : `./${agent}`;
  return parseConfig({ json: { execution: { agent: path } }, name: "--agent" }).execution.agent;
}

export function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new UsageError(`--port: "${text}" is no port number (0 to 65535).`);
  return port;
}
