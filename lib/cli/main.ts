/** The `sekisho` command line: finds the command, runs it, and turns an error into a message and an exit code. */

import { ConfigError } from "@sekisho/config/config-error.ts";
import { readProxies } from "@sekisho/config/proxy-environment.ts";
import { toFileError } from "@sekisho/runtime/engine/sqlite/file-error.ts";
import { escapeActiveCharacters } from "@sekisho/runtime/untrusted-input.ts";
import { version } from "@sekisho/runtime/version.ts";
import { AwsFailure } from "./aws/aws-failure.ts";
import { type Command, exitCodes, formatHelp, isUsageError } from "./command.ts";
import { loadDotEnv, readsDotEnv } from "./dot-env.ts";

// Each file is loaded only for its own commands, because loading the AWS clients takes a while.
const files = {
  init: () => import("./init/command.ts"),
  start: () => import("./start/command.ts"),
  verification: () => import("./verification/command.ts"),
  execution: () => import("./execution/command.ts"),
  send: () => import("./send/command.ts"),
  conformance: () => import("./conformance/command.ts"),
  manifest: () => import("./manifest/command.ts"),
  doctor: () => import("./doctor/command.ts"),
  config: () => import("./config/command.ts"),
  allow: () => import("./allow/command.ts"),
  agents: () => import("./agents/command.ts"),
  asker: () => import("./asker/command.ts"),
  destinations: () => import("./destinations/list-command.ts"),
  destinationsSet: () => import("./destinations/set-command.ts"),
  federation: () => import("./federation/command.ts"),
  secretsPut: () => import("./secrets/command.ts"),
  deadLetters: () => import("./dead-letters/command.ts"),
  tasks: () => import("./tasks/command.ts"),
  data: () => import("./data/command.ts"),
  usage: () => import("./usage/command.ts"),
  operate: () => import("./operate/command.ts"),
  zoneSecret: () => import("./zone-secret/command.ts"),
};

type Entry = { summary: string; load: () => Promise<Command> };

/** All commands, in the order of the help. */
export const commands: Record<string, Entry> = {
  init: entry(files.init, "init", "writes the files of a new project"),
  start: entry(
    files.start,
    "start",
    "runs both zones on this machine, with a page in place of Slack",
  ),
  verification: entry(
    files.verification,
    "verification",
    "runs the Verification zone alone, for the real Slack",
  ),
  execution: entry(files.execution, "execution", "runs the Execution zone alone"),
  "execution bundle": entry(
    files.execution,
    "executionBundle",
    "writes the Execution zone as files for a container",
  ),
  send: entry(files.send, "send", "sends one task to a destination and prints the answer"),
  conformance: entry(
    files.conformance,
    "conformance",
    "tests an Execution endpoint against the contract",
  ),
  manifest: entry(
    files.manifest,
    "manifest",
    "prints the manifest from which a Slack app is created",
  ),
  doctor: entry(
    files.doctor,
    "doctor",
    "checks everything, here or in a stage, and says how to fix it",
  ),
  "config check": entry(
    files.config,
    "configCheck",
    "checks sekisho.config.json and lists every problem",
  ),
  "config push": entry(
    files.config,
    "configPush",
    "updates the routes and live settings of a stage without a deploy",
  ),
  "allow list": entry(files.allow, "allowList", "lists the rules of the allowlist"),
  "allow add": entry(
    files.allow,
    "allowAdd",
    "allows a workspace, a channel, a person or a user group",
  ),
  "allow remove": entry(files.allow, "allowRemove", "removes a rule of the allowlist"),
  "allow why": entry(
    files.allow,
    "allowWhy",
    "shows which rule allows a person, or how to add one",
  ),
  "agents add": entry(
    files.agents,
    "agentsAdd",
    "finds out what an agent speaks and writes it into the configuration",
  ),
  "destinations list": entry(
    files.destinations,
    "destinationsList",
    "lists destinations and routes",
  ),
  "destinations set": entry(
    files.destinationsSet,
    "destinationsSet",
    "changes the destinations of a route",
  ),
  "asker publish": entry(
    files.asker,
    "askerPublish",
    "writes the documents by which verifiers find the keys of who asked",
  ),
  "asker show": entry(files.asker, "askerShow", "lists these keys, and says what to do next"),
  "asker rotate": entry(
    files.asker,
    "askerRotate",
    "does the next safe step to a new key in the configuration",
  ),
  "federation enable": entry(
    files.federation,
    "federationEnable",
    "lets AWS issue tokens for other clouds",
  ),
  "federation show": entry(
    files.federation,
    "federationShow",
    "prints what another cloud needs to trust a stage",
  ),
  "secrets put": entry(
    files.secretsPut,
    "secretsPut",
    "writes the secrets of a stage to AWS Secrets Manager",
  ),
  "zone-secret replace": entry(
    files.zoneSecret,
    "zoneSecretReplace",
    "replaces the secret that keys session ids",
  ),
  "zone-secret drop-former": entry(
    files.zoneSecret,
    "zoneSecretDropFormer",
    "ends the use of the replaced secret",
  ),
  "dead-letters list": entry(
    files.deadLetters,
    "deadLettersList",
    "lists the dead letters of a stage",
  ),
  "dead-letters redrive": entry(
    files.deadLetters,
    "deadLettersRedrive",
    "sends dead letters to the workers again",
  ),
  "tasks list": entry(files.tasks, "tasksList", "lists unfinished tasks, oldest first"),
  "tasks show": entry(
    files.tasks,
    "tasksShow",
    "shows one task and its timeline through both zones",
  ),
  "tasks cancel": entry(files.tasks, "tasksCancel", "cancels a running task"),
  "tasks retry": entry(files.tasks, "tasksRetry", "runs a finished task again, as a new task"),
  "data show": entry(files.data, "dataShow", "counts the stored data of one person"),
  "data delete": entry(files.data, "dataDelete", "deletes the stored data of one person"),
  usage: entry(files.usage, "usage", "reports finished tasks by destination, outcome and person"),
  operate: entry(
    files.operate,
    "operate",
    "serves the operators' page: tasks, destinations, dead letters",
  ),
};

function entry<Name extends string>(
  file: () => Promise<Record<Name, Command>>,
  name: Name,
  summary: string,
): Entry {
  return { summary, load: async () => (await file())[name] };
}

/** Runs the command line, and resolves to its exit code (`exitCodes`). */
export async function main(args: string[]): Promise<number> {
  if (args[0] === "--version" || args[0] === "-v") return printVersion();
  const name = [args.slice(0, 2).join(" "), args[0] ?? ""].find(
    (candidate) => candidate in commands,
  );
  const entry = name === undefined ? undefined : commands[name];
  if (name === undefined || entry === undefined) return listCommands(args);
  const commandArgs = args.slice(name.split(" ").length);
  const stop = new AbortController();
  let firstAtMs = 0;
  const onSignal = () => {
    // A second Ctrl-C exits at once. A single one may arrive twice, from the terminal and from a parent (npm, npx).
    if (stop.signal.aborted && Date.now() - firstAtMs > 500) process.exit(exitCodes.interrupted);
    if (!stop.signal.aborted) firstAtMs = Date.now();
    stop.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    const command = await entry.load();
    if (commandArgs.includes("--help") || commandArgs.includes("-h")) {
      process.stdout.write(`${formatHelp(command)}\n`);
      return exitCodes.success;
    }
    const directory = process.cwd();
    if (readsDotEnv({ name, args: commandArgs }))
      loadDotEnv({ directory, isExecution: name === "execution" });
    const proxies = readProxies();
    if (proxies !== undefined)
      await (await import("@sekisho/runtime/http/proxy.ts")).useProxies(proxies);
    return await command.run({
      args: commandArgs,
      directory,
      signal: stop.signal,
      print: (text) => process.stdout.write(escapeActiveCharacters(`${text}\n`)),
      note: (text) => process.stderr.write(escapeActiveCharacters(`${text}\n`)),
    });
  } catch (error) {
    const code = explain(error, { name, args: commandArgs });
    return stop.signal.aborted ? exitCodes.interrupted : code;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

function printVersion(): number {
  process.stdout.write(`sekisho ${version}, Node ${process.versions.node}\n`);
  return exitCodes.success;
}

/** Lists all commands, or those of a group such as `sekisho config`. */
function listCommands([word = "--help", next]: string[]): number {
  const names = Object.keys(commands);
  const group = names.filter((name) => name.startsWith(`${word} `));
  const isGroup = group.length > 0;
  const lines = (isGroup ? group : names).map(
    (name) => `  ${name.padEnd(24)} ${commands[name]?.summary ?? ""}`,
  );
  const list = lines.join("\n");
  const title = "sekisho: a checkpoint between Slack and the agents that do the work";
  const text = isGroup
    ? list
    : `${title}\n\nCommands:\n${list}\n\nFor details: sekisho <command> --help. For the version: sekisho --version`;
  const unknown = isGroup ? next : word;
  if (unknown !== undefined && ["--help", "-h", "help"].includes(unknown)) {
    process.stdout.write(`${text}\n`);
    return exitCodes.success;
  }
  const givenName = isGroup ? `${word} ${next}` : word;
  const problem =
    unknown === undefined ? `"${word}" needs one of:` : `There is no command "${givenName}".`;
  process.stderr.write(`${problem}\n\n${text}\n`);
  return exitCodes.badUsage;
}

/** Helps a person who names the stage with the option of the CDK command line. */
function stageHint(args: string[]): string {
  const [, name] = /^stage=([a-z0-9]+)$/.exec(args[args.indexOf("-c") + 1] ?? "") ?? [];
  return args.includes("-c") && name !== undefined
    ? `-c is an option of cdk. Use --stage ${name} here.\n`
    : "";
}

function explain(error: unknown, { name, args }: { name: string; args: string[] }): number {
  const isUsage = isUsageError(error);
  const knownError = toFileError({ error: error, file: "The task file" }) ?? error;
  const message = escapeActiveCharacters(
    knownError instanceof Error ? knownError.message : "unknown error",
  );
  process.stderr.write(
    isUsage ? `${message}\n${stageHint(args)}For help: sekisho ${name} --help\n` : `${message}\n`,
  );
  if (error instanceof AwsFailure && error.unreachable) return exitCodes.notReachable;
  return isUsage || error instanceof ConfigError ? exitCodes.badUsage : exitCodes.failed;
}
