/** `sekisho send`: one task over a configured transport, without Slack. */
import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { SekishoError } from "../../contracts/errors.ts";
import type { TaskResult } from "../../contracts/methods.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { loadConfig } from "../../lambdas/shared/config/load.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { newTrace, type Trace } from "../../lambdas/shared/trace.ts";
import type { WorkerDestination } from "../../lambdas/verification/worker/acts.ts";
import { openDestination } from "../local/open-destination.ts";
import { type Command, type CommandRun, exitCodes, UsageError } from "./command.ts";

/** How long the host may hold one `get_task`. */
const waitMs = 10_000;

export const send: Command = {
  help: `
sekisho send "TEXT" [--destination NAME] [--json] [--config FILE]

Sends one task over the configured transport, polls it when it is accepted, shows
its progress on stderr and prints the answer. Ctrl-C cancels the task.

  --destination NAME  instead of the one that the routes give to every message
  --json              prints the whole result, or the error, as one JSON object
  --config FILE       instead of ./sekisho.config.json

Exit code 0: success; 1: the task failed; 2: bad usage or configuration; 3: not reachable.
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
    const config = loadConfig({ directory: run.directory, file: values.config });
    const name = values.destination ?? config.routes.at(-1)?.destination;
    if (name === undefined || !(name in config.destinations)) {
      const known = Object.keys(config.destinations).join(", ");
      throw new UsageError(`There is no destination "${name ?? ""}". Known: ${known}.`);
    }
    const { executionPort, logLevel } = readEnvironment();
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const opened = await openDestination({ config, name, directory: run.directory, executionPort, log });
    try {
      return await sendAndShow(run, { destination: opened.destination, name, text, json: values.json ?? false });
    } finally {
      await opened.close();
    }
  },
};

type Sending = { destination: WorkerDestination; name: string; text: string; json: boolean };

async function sendAndShow(run: CommandRun, { destination, name, text, json }: Sending): Promise<number> {
  try {
    const result = await complete(run, { destination, text });
    run.print(json ? JSON.stringify(result) : result.status === "success" ? result.response_text : result.prompt);
    return exitCodes.success;
  } catch (thrown) {
    const error = SekishoError.from(thrown);
    if (run.signal.aborted) {
      run.note("Canceled.");
      return exitCodes.interrupted;
    }
    if (json) run.print(JSON.stringify({ error: { reason: error.reason, ...error.details } }));
    const unreachable = error.reason === "unavailable" || error.reason === "ambiguous";
    run.note(
      unreachable
        ? `Destination "${name}" cannot be reached. ${startIt}`
        : `The task failed (${error.reason}): ${error.message}`,
    );
    return unreachable ? exitCodes.notReachable : exitCodes.failed;
  }
}

const startIt = "For the local one, run `npx sekisho execution` or `npm start` in another terminal.";

/** `execute_task`, then `get_task` until the task is over; on abort the task is canceled. */
async function complete(
  { signal, note }: CommandRun,
  { destination: { client, callTimeoutMs }, text }: { destination: WorkerDestination; text: string },
): Promise<Exclude<TaskResult, { status: "accepted" }>> {
  const requestId = randomUUID();
  const sessionId = `cli-${requestId}`;
  const trace: Trace = newTrace();
  const call = { sessionId, timeoutMs: callTimeoutMs, trace };
  const params = { channel: "cli", text, correlation_id: requestId, session_id: sessionId };
  try {
    let result = await client.call({ method: "execute_task", params, id: requestId, signal, ...call });
    let shown = "";
    while (result.status === "accepted") {
      const { task_id, progress } = result;
      const line = [progress?.text, progress?.percent === undefined ? undefined : `${progress.percent} %`]
        .filter(Boolean)
        .join(" ");
      if (shown === "" || (line !== "" && line !== shown)) note(line || "Accepted; waiting for the result.");
      shown = line || shown || " ";
      result = await client.call({
        method: "get_task",
        params: { task_id, wait_ms: Math.min(waitMs, callTimeoutMs / 2) },
        id: randomUUID(),
        signal,
        ...call,
      });
    }
    return result;
  } catch (thrown) {
    if (signal.aborted) {
      const cancel = { method: "cancel_task", params: { request_id: requestId }, id: randomUUID() } as const;
      await client.call({ ...cancel, ...call, timeoutMs: 3000 }).catch(() => {});
    }
    throw thrown;
  }
}
