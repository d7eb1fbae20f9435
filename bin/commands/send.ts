/** `sekisho send`: one task over a configured transport, without Slack. */

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { SekishoError } from "../../contracts/errors.ts";
import { isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { configDirectory, loadConfig } from "../../lambdas/shared/config/load.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import type { WorkerDestination } from "../../lambdas/verification/worker/calls.ts";
import { addressOf, authorizerOf } from "../destinations/describe.ts";
import { type FailedTask, sendFailure } from "../destinations/send-failure.ts";
import { openDestination } from "../local/open-destination.ts";
import { type Command, type CommandRun, exitCodes, UsageError } from "./command.ts";
import { complete } from "./complete.ts";
import { requireSecrets, secretsOfDestination } from "./required-secrets.ts";

export const send: Command = {
  help: `
sekisho send "TEXT" [--destination NAME] [--json] [--config FILE]

Sends one task over the configured transport, polls it when it is accepted, shows
its progress on stderr and prints the answer. Ctrl-C cancels the task, and so does
the end of the destination's deadlineMs.

  --destination NAME  instead of the one that the routes give to every message
  --json              prints the whole result, or the error, as one JSON object
  --config FILE       instead of ./sekisho.config.json

Exit code 0: success; 1: the task failed, or did not begin, or nobody knows; 2: bad usage or configuration;
3: not reachable, so that nothing was sent.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { destination: { type: "string" }, json: { type: "boolean" }, config: { type: "string" } },
    });
    const [text] = positionals;
    if (text === undefined || text === "" || positionals.length > 1) {
      throw new UsageError('One text is needed, in quotes: sekisho send "What is a sekisho?"');
    }
    const place = { directory: run.directory, file: values.config };
    const config = loadConfig(place);
    const name = values.destination ?? config.routes.at(-1)?.destination[0];
    const configured = name === undefined ? undefined : config.destinations[name];
    if (name === undefined || configured === undefined) {
      const known = Object.keys(config.destinations).join(", ");
      throw new UsageError(`There is no destination "${name ?? ""}". Known: ${known}.`);
    }
    requireSecrets(secretsOfDestination(configured));
    const { executionPort, logLevel } = readEnvironment();
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const opened = await openDestination({ config, name, directory: configDirectory(place), executionPort, log });
    try {
      const { deadlineMs } = configured;
      const json = values.json ?? false;
      const address = addressOf(configured) ?? `http://127.0.0.1:${executionPort}/`;
      const peer = { name, address, authorizer: authorizerOf(configured), isOwn: isOwnExecution(configured) };
      return await sendAndShow(run, { destination: opened.destination, deadlineMs, peer, text, json });
    } finally {
      await opened.close();
    }
  },
};

type Peer = Omit<FailedTask, "error" | "requestId" | "taskId">;
type Sending = { destination: WorkerDestination; deadlineMs: number; peer: Peer; text: string; json: boolean };

async function sendAndShow(run: CommandRun, sending: Sending): Promise<number> {
  const { destination, deadlineMs, peer, text, json } = sending;
  const { client, callTimeoutMs } = destination;
  const { signal, note } = run;
  const requestId = randomUUID();
  let taskId: string | undefined;
  const onAccepted = (id: string) => {
    taskId = id;
  };
  try {
    const result = await complete({ client, callTimeoutMs, deadlineMs, text, requestId, signal, note, onAccepted });
    run.print(json ? JSON.stringify(result) : result.status === "success" ? result.response_text : result.prompt);
    return exitCodes.success;
  } catch (thrown) {
    const error = SekishoError.from(thrown);
    if (signal.aborted) {
      note("Canceled.");
      return exitCodes.interrupted;
    }
    if (json) run.print(JSON.stringify({ error: { reason: error.reason, ...error.details } }));
    const { words, isUnreachable } = sendFailure({ ...peer, error, requestId, taskId });
    note(words);
    return isUnreachable ? exitCodes.notReachable : exitCodes.failed;
  }
}
