/** `sekisho send`: sends one task to a destination without Slack. */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import {
  authorizerOf,
  isOwnExecution,
  listDestinationSecrets,
  toAddress,
} from "@sekisho/config/destination-address.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { configDirectory, loadConfig } from "@sekisho/config/load.ts";
import { type ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { openDestination } from "@sekisho/local/open-destination.ts";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  escapeActiveCharacters,
  sanitizeLine,
  sanitizeLines,
} from "@sekisho/runtime/untrusted-input.ts";
import type { WorkerDestination } from "@sekisho/verification/destinations.ts";
import type { ExecutionClient } from "@sekisho/verification/transport/runner.ts";
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
import { type FailedTask, sendFailure } from "../destinations/send-failure.ts";
import { unknownDestination } from "../find-endpoint.ts";

export const send = defineCommand({
  name: "send",
  args: '"TEXT"',
  about: `
Sends one task to a destination, waits for the result, and prints the answer. Progress goes to stderr. The task is canceled
by Ctrl-C, and when the destination's deadlineMs is over.`,
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
    const configured = name === undefined ? undefined : config.destinations[name];
    if (name === undefined || configured === undefined) {
      throw unknownDestination(name ?? "", Object.keys(config.destinations));
    }
    requireSecrets(listDestinationSecrets(configured));
    const { executionPort, logLevel } = readEnvironment();
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const opened = await openDestination({
      config,
      name,
      directory: configDirectory(location),
      executionPort,
      log,
    });
    try {
      const { deadlineMs } = configured;
      const { json } = values;
      const address = toAddress(configured) ?? `http://127.0.0.1:${executionPort}/`;
      const peer = {
        name,
        address,
        authorizer: authorizerOf(configured),
        isOwn: isOwnExecution(configured),
      };
      return await sendAndShow(run, {
        destination: opened.destination,
        deadlineMs,
        peer,
        text,
        json,
      });
    } finally {
      await opened.close();
    }
  },
});

type Peer = Omit<FailedTask, "error" | "requestId" | "taskId">;
type Sending = {
  destination: WorkerDestination;
  deadlineMs: number;
  peer: Peer;
  text: string;
  json: boolean;
};

async function sendAndShow(run: CommandRun, sending: Sending): Promise<number> {
  const { destination, deadlineMs, peer, text, json } = sending;
  const { client, callTimeoutMs, sendTimeoutMs } = destination;
  const { signal, note } = run;
  const requestId = randomUUID();
  let taskId: string | undefined;
  const onAccepted = (id: string) => {
    taskId = id;
  };
  try {
    const result = await complete({
      ...{ client, callTimeoutMs, sendTimeoutMs, deadlineMs, text, requestId },
      ...{ signal, note, onAccepted },
    });
    const shown = result.status === "success" ? result.response_text : result.prompt;
    run.print(json ? toJson(result) : sanitizeLines(shown));
    if (result.status === "success") return exitCodes.success;
    note(describeQuestion(result));
    return exitCodes.failed;
  } catch (thrown) {
    const error = SekishoError.from(thrown);
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

/** The longest time that a host may hold one `get_task`. */
const longestWaitMs = 10_000;
/** The pause before a poll is repeated, after a failure that says nothing about the task. */
const pollPause = { baseMs: 500, capMs: 15_000 };
/** The least time between the beginnings of two polls. A host that holds the call is asked again at once. */
const pollGapMs = 500;
/** A longer delay that a host asks for is cut to this. */
const mostObeyedMs = 60_000;
const cancelTimeoutMs = 3000;

type Completion = {
  client: ExecutionClient;
  callTimeoutMs: number;
  /** For the call that sends the task. Default: `callTimeoutMs`. */
  sendTimeoutMs?: number | undefined;
  text: string;
  requestId?: string;
  /** The time limit that the host gets for the task. */
  deadlineMs: number;
  /** The time that the host gets to answer after its deadline. After it the task fails as `timeout`. */
  graceMs?: number;
  signal: AbortSignal;
  note(text: string): void;
  /** Called when the host has accepted the task, even if later calls fail. */
  onAccepted?: (taskId: string) => void;
};

/** Sends a task and polls it until it is over. Cancels it on abort. Rejects with a SekishoError if the task failed. */
export async function complete({
  client,
  callTimeoutMs,
  sendTimeoutMs = callTimeoutMs,
  text,
  requestId = randomUUID(),
  deadlineMs,
  graceMs = 15_000,
  signal: interrupt,
  note,
  onAccepted = () => {},
}: Completion): Promise<Exclude<TaskResult, { status: "accepted" }>> {
  const sessionId = `cli-${requestId}`;
  const tooLate = AbortSignal.timeout(deadlineMs + graceMs);
  const signal = AbortSignal.any([interrupt, tooLate]);
  const call = { requestId, sessionId, timeoutMs: callTimeoutMs, trace: createTrace() };
  const params = {
    channel: "cli",
    text,
    correlation_id: requestId,
    session_id: sessionId,
    timeout_ms: deadlineMs,
  };
  const wait_ms = Math.floor(Math.min(longestWaitMs, callTimeoutMs / 2));

  const pause = (ms: number) => wait(ms, undefined, { signal });

  /** After a send whose outcome is unknown, the host may know the task. It is never sent under another id. */
  async function lookUp(error: SekishoError): Promise<TaskResult> {
    if (error.reason !== "ambiguous" || signal.aborted) throw error;
    const look = {
      method: "get_task",
      params: { request_id: requestId },
      id: randomUUID(),
    } as const;
    return client.call({ ...look, signal, ...call }).catch((thrown: unknown) => {
      const found = SekishoError.from(thrown);
      throw isOutcome(found) ? found : error;
    });
  }

  /** Polls until there is an answer. A failed connection says nothing about the task, so only the deadline ends that. */
  async function poll(params: { task_id: string; wait_ms: number }): Promise<TaskResult> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await client.call({ method: "get_task", params, id: randomUUID(), signal, ...call });
      } catch (thrown) {
        const error = SekishoError.from(thrown);
        if (signal.aborted || !(error.reason === "ambiguous" || error.retryable)) throw error;
        if (attempt === 0)
          note("The destination cannot be reached at the moment. Trying again until the deadline.");
        const askedMs = Math.min(error.details.retry_after_ms ?? 0, mostObeyedMs);
        await pause(Math.max(askedMs, backoffMs({ ...pollPause, attempt, random: Math.random })));
      }
    }
  }

  try {
    const send = { ...call, timeoutMs: sendTimeoutMs };
    let result = await client
      .call({ method: "execute_task", params, id: requestId, signal, ...send })
      .catch((thrown: unknown) => lookUp(SekishoError.from(thrown)));
    let shown = "";
    while (result.status === "accepted") {
      const { task_id, progress } = result;
      onAccepted(task_id);
      const line =
        [progress?.text, progress?.percent === undefined ? undefined : `${progress.percent} %`]
          .filter(Boolean)
          .join(" ") || (progress?.partial_text === undefined ? "" : "Writing the answer");
      if (shown === "" || (line !== "" && line !== shown))
        note(sanitizeLine(line) || "The task was accepted. Waiting for the result.");
      shown = line || shown || " ";
      const beganAtMs = performance.now();
      result = await poll({ task_id, wait_ms });
      if (result.status !== "accepted") break;
      const gapMs = Math.min(Math.max(result.poll_after_ms ?? 0, pollGapMs), mostObeyedMs);
      await pause(Math.max(0, beganAtMs + gapMs - performance.now()));
    }
    return result;
  } catch (thrown) {
    if (signal.aborted) {
      const cancel = {
        method: "cancel_task",
        params: { request_id: requestId },
        id: randomUUID(),
      } as const;
      await client.call({ ...cancel, ...call, timeoutMs: cancelTimeoutMs }).catch(() => {});
    }
    throw tooLate.aborted && !interrupt.aborted
      ? new SekishoError("timeout", { cause: thrown })
      : thrown;
  }
}

/** The reasons with which a task itself ends, as opposed to a call about it. */
function isOutcome({ reason, endsTask }: SekishoError): boolean {
  return endsTask || outcomes.includes(reason);
}

const outcomes: readonly ClientReason[] = [
  "execution_failed",
  "timeout",
  "canceled",
  "plan_error",
  "budget_exceeded",
];

/** A peer's text may hold characters that a terminal acts upon, and that JSON leaves as they are. */
function toJson(value: object): string {
  return escapeActiveCharacters(JSON.stringify(value));
}
