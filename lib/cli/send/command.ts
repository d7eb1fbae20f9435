/** `sekisho send`: sends one task to a destination without Slack. */
import { randomUUID } from "node:crypto";
import {
  authorizerOf,
  isOwnExecution,
  listDestinationSecrets,
  toAddress,
} from "@sekisho/config/destination-address.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { configDirectory, loadConfig } from "@sekisho/config/load.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { openDestination } from "@sekisho/local/open-destination.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import {
  escapeActiveCharacters,
  sanitizeLine,
  sanitizeLines,
} from "@sekisho/runtime/untrusted-input.ts";
import {
  type CommandRun,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  requireSecrets,
  UsageError,
} from "../command.ts";
import { runTask, type TaskRun } from "../destinations/run-task.ts";
import { type FailedTask, sendFailure } from "../destinations/send-failure.ts";
import { unknownDestination } from "../find-endpoint.ts";

export const send = defineCommand({
  name: "send",
  args: '"TEXT"',
  about: `
Sends one task to a destination and prints the answer. Progress goes to stderr. Ctrl-C, or the end of deadlineMs, cancels
the task.`,
  options: {
    destination: option("NAME", "the destination, instead of the one of the default route"),
    json: flag("prints the whole result, or the error, as one JSON object"),
    config: configOption,
  },
  exits: `
Exit code: 0 success; 1 the task failed, asks a question, did not begin, or has an unknown outcome; 2 bad usage or configuration; 3 the
destination is not reachable, so nothing was sent.`,
  async run(run) {
    const { values, positionals } = run;
    const [text] = positionals;
    if (text === "-")
      throw new UsageError(
        'This command reads no stdin. Give the text: sekisho send "$(cat FILE)"',
      );
    if (text === undefined || text === "" || positionals.length > 1) {
      throw new UsageError('Give one text in quotes: sekisho send "What is a sekisho?"');
    }
    const location = { directory: run.directory, file: values.config };
    const config = loadConfig(location);
    const name = values.destination ?? config.routes.at(-1)?.destination[0];
    const configuredDestination = name === undefined ? undefined : config.destinations[name];
    if (name === undefined || configuredDestination === undefined) {
      throw unknownDestination(name ?? "", Object.keys(config.destinations));
    }
    requireSecrets(listDestinationSecrets(configuredDestination));
    const { executionPort, logLevel } = readEnvironment();
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const openDestinations = await openDestination({
      config,
      name,
      directory: configDirectory(location),
      executionPort,
      log,
    });
    try {
      const { destination } = openDestinations;
      const { json } = values;
      const address = toAddress(configuredDestination) ?? `http://127.0.0.1:${executionPort}/`;
      const peer = {
        name,
        address,
        authorizer: authorizerOf(configuredDestination),
        isOwn: isOwnExecution(configuredDestination),
      };
      return await sendAndShow(run, {
        config,
        destinationName: name,
        destination,
        peer,
        text,
        json,
      });
    } finally {
      await openDestinations.close();
    }
  },
});

type Sending = Pick<TaskRun, "config" | "destinationName" | "destination" | "text"> & {
  peer: Omit<FailedTask, "error" | "requestId" | "taskId">;
  json: boolean;
};

async function sendAndShow(run: CommandRun, { peer, json, ...task }: Sending): Promise<number> {
  const { signal, note } = run;
  const requestId = randomUUID();
  let taskId: string | undefined;
  const onAccepted = (id: string) => {
    taskId = id;
  };
  try {
    const result = await runTask({ ...task, requestId, signal, note, onAccepted });
    const answerText = result.status === "success" ? result.response_text : result.prompt;
    run.print(json ? toJson(withoutLink(result)) : sanitizeLines(answerText));
    if (result.status === "success") return exitCodes.success;
    note(describeQuestion(result));
    return exitCodes.failed;
  } catch (cause) {
    const error = SekishoError.from(cause);
    if (signal.aborted) {
      note("Canceled.");
      return exitCodes.interrupted;
    }
    const { reason, details, explanation } = error;
    if (json)
      run.print(toJson({ error: { reason, ...details, ...(explanation && { explanation }) } }));
    const failure = sendFailure({ ...peer, error, requestId, taskId });
    note(failure.text);
    return failure.isUnreachable ? exitCodes.notReachable : exitCodes.failed;
  }
}

/** A link to sign in is for one person, and the output of a command is often kept. */
function withoutLink(result: TaskResult): TaskResult {
  if (result.status !== "input_required") return result;
  const { url: _url, ...question } = result;
  return question;
}

/** Says what would answer the question, because this command does not answer questions. */
function describeQuestion({
  options = [],
  fields = [],
}: Extract<TaskResult, { status: "input_required" }>): string {
  const lines = [
    ...options.map(({ id, label }) => `  ${id}: ${label}`),
    ...fields.map((field) => {
      const choices = "options" in field ? `: ${field.options.map(({ id }) => id).join(", ")}` : "";
      return `  ${field.id} (${field.type}${field.required ? ", required" : ""})${choices}`;
    }),
  ];
  const text =
    "The agent asks a question, and this command does not answer questions. Use the page of sekisho start.";
  const what =
    fields.length > 0 ? "An answer has these fields:" : "An answer is a text or one of these:";
  return lines.length === 0 ? text : [`${text} ${what}`, ...lines.map(sanitizeLine)].join("\n");
}

/** A peer's text may hold characters that a terminal acts upon, and that JSON leaves as they are. */
function toJson(value: object): string {
  return escapeActiveCharacters(JSON.stringify(value));
}
