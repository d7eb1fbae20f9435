/** `sekisho doctor`: checks everything on this machine or in a stage, and says how to fix it. */
import { readEnvironment } from "@sekisho/config/environment.ts";
import { type ConfigLocation, loadConfig } from "@sekisho/config/load.ts";
import { workerTimeoutMs } from "../aws/ask-worker.ts";
import { chooseStage } from "../aws/stage.ts";
import {
  type Command,
  type CommandRun,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../command.ts";
import { confirm } from "../confirm.ts";
import { unknownDestination } from "../find-endpoint.ts";
import { type Found, runChecks } from "./check.ts";
import { openMachine } from "./open-machine.ts";
import { openStage } from "./open-stage.ts";
import { formatDoctorJson, formatDoctorText, isHealthy } from "./report.ts";
import {
  defaultSettings,
  findObstacle,
  type SendRequest,
  type SendSettings,
  sendTasks,
} from "./send.ts";
import { checks, destinationsGroup } from "./table.ts";
import type { Targets } from "./targets.ts";

const options = {
  stage: option(
    "NAME",
    "checks a stage on AWS, through its worker: needs lambda:InvokeFunction on the worker's alias operator",
  ),
  destination: option("NAME", "checks only that destination, which must be there to be called"),
  send: flag(
    "also sends five real tasks through the stage as messages of --user in --channel, once nothing else failed. Takes half an hour (15 minutes on Lambda). Ctrl-C cancels the tasks",
  ),
  channel: option("C…", "with --send: a channel of your workspace that the bot is in"),
  user: option("U…", "with --send: the person in whose name the messages are sent"),
  yes: flag("with --send: sends without asking first"),
  config: configOption,
  json: flag("prints { ok, checks: [{ group, name, status, what, remedy }] }, for CI"),
};

type Values = {
  [Name in keyof typeof options]?: (typeof options)[Name] extends { type: "boolean" }
    ? boolean
    : string | undefined;
};

export const doctor = createDoctor(defaultSettings);

/** `settings` are shorter in a rehearsal. */
export function createDoctor(settings: SendSettings): Command {
  return defineCommand({
    name: "doctor",
    about: `
Checks configuration, secrets, Node, clock, store, queue, Slack's tokens and scopes, the entry for events, and every
destination, and says how to fix each problem.

Without --send it changes nothing, runs no task and prints no secret. The entry gets three requests that make no task; two
of them leave a line request_refused in its log. A destination gets rpc.discover twice, and an A2A agent a read of its card
and a request for an unknown task. If a destination answers like an agent of another protocol, the report says how to
configure it. Agents that this machine's host calls over HTTP get a GET, and those of AG-UI rpc.discover, which they refuse.`,
    options,
    exits: `
Status of a check: ok, warning, failed, or skipped (it does not apply, or something that it needs is missing).
Exit code: 0 no check failed; 1 a check failed; 2 bad usage.`,
    run: (run) => runDoctor(run, settings),
  });
}

async function runDoctor(
  run: CommandRun & { values: Values },
  settings: SendSettings,
): Promise<number> {
  const { directory, signal, print, note, values } = run;
  const { destination, stage, json } = values;
  const location = { directory, file: values.config };
  const sending = values.send ? readSending(values) : undefined;
  const { subject, targets, timeoutMs } = await openTargets({ location, stage, signal });
  const only = destination === undefined ? undefined : findOnly(destination, targets);
  const rows = await runChecks({ table: checks, targets, only, timeoutMs, signal });
  if (targets.both === undefined) rows.push(othersSkipped);
  // A destination that is named must be called.
  if (only !== undefined)
    for (const one of rows) if (one.status === "skipped") one.status = "failed";
  if (sending !== undefined && isHealthy(rows) && targets.stage !== undefined) {
    const config = targets.here.readConfig();
    const request = { ...sending, config, target: targets.stage, settings, note };
    if (!(await mayBegin(request, values))) return exitCodes.failed;
    const sentTasks = await sendTasks(request);
    rows.push(...(await runChecks({ table: checks, targets: { sent: sentTasks }, signal })));
  } else if (sending !== undefined) note("Nothing was sent, because a check failed.");
  if (signal.aborted) {
    note("Interrupted. Some checks did not run.");
    return exitCodes.interrupted;
  }
  print(json ? formatDoctorJson(rows) : formatDoctorText({ results: rows, subject }));
  return isHealthy(rows) ? exitCodes.success : exitCodes.failed;
}

function readSending({ stage, channel, user, destination }: Values) {
  if (destination !== undefined)
    throw new UsageError("--send checks the whole stage: leave out --destination.");
  if (stage === undefined)
    throw new UsageError("--send needs --stage. There is no default, because the tasks are real.");
  return {
    channel: requireId("--channel C012AB3CD", channel, /^[CGD][A-Z0-9]{2,}$/),
    user: requireId("--user U012AB3CD", user, /^[UW][A-Z0-9]{2,}$/),
  };
}

function requireId(example: string, value: string | undefined, pattern: RegExp): string {
  if (value !== undefined && pattern.test(value)) return value;
  throw new UsageError(`--send needs an id of Slack, such as ${example}.`);
}

/** Throws a UsageError where the tasks cannot be sent. */
async function mayBegin(request: SendRequest, { yes }: Values): Promise<boolean> {
  const obstacle = await findObstacle(request);
  if (obstacle !== undefined) throw new UsageError(obstacle);
  const { channel, note } = request;
  const { stageName: word, signal } = request.target;
  const question = `This sends five tasks and posts five messages in ${channel}. Type the stage's name (${word}) to begin: `;
  if (yes || (await confirm({ question, word, signal }))) return true;
  note("Nothing was sent. --yes sends without asking.");
  return false;
}

const othersSkipped: Found = {
  ...{ group: "Everything else", name: "other checks", status: "skipped", remedy: null },
  what: "They need a valid configuration.",
};

/** Throws the error of an unusable configuration, and a UsageError for an unknown name. */
function findOnly(name: string, { here, both }: Opened["targets"]) {
  const { destinations = [] } = both ?? {};
  here.readConfig();
  if (!destinations.includes(name)) throw unknownDestination(name, destinations);
  return { group: destinationsGroup, name };
}

type Opened = {
  /** For the title of the report. */
  subject: string;
  targets: Partial<Targets> & Pick<Targets, "here">;
  timeoutMs: number;
};

type TargetsRequest = {
  location: ConfigLocation;
  stage: string | undefined;
  signal: AbortSignal;
};

/** Without a usable configuration only the first checks can run. One of them reports why. */
async function openTargets({ location, stage, signal }: TargetsRequest): Promise<Opened> {
  const subject = `this machine, ${location.directory}`;
  const timeoutMs = 30_000;
  const readConfig = () => loadConfig(location);
  try {
    readConfig();
    readEnvironment();
  } catch (error) {
    const fail = () => {
      throw error;
    };
    return { subject, targets: { here: { location, readConfig: fail } }, timeoutMs };
  }
  const config = readConfig();
  const here = { location, readConfig };
  if (stage !== undefined) {
    const target = await openStage({ ...chooseStage(config, stage), config, location, signal });
    const targets = { here, both: target, stage: target };
    // A destination's check waits for two invocations of the worker.
    return { subject: `stage ${stage}`, targets, timeoutMs: 2 * workerTimeoutMs(config) };
  }
  const machine = openMachine({ config, environment: readEnvironment(), location, signal });
  const targets = { here, both: machine, machine };
  // A destination's check makes two calls, and opens and closes the transport.
  const callsMs = 2 * config.limits.callTimeoutMs + 10_000;
  return { subject, targets, timeoutMs: Math.max(timeoutMs, callsMs) };
}
