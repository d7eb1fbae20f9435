/** The `sekisho` command: finds the command, gives it its words, turns what it throws into a line and an exit code. */
import { ConfigError } from "../lambdas/shared/config/load.ts";
import { toFileError } from "../lambdas/shared/engine/sqlite/file-error.ts";
import { escapeActiveCharacters } from "../lambdas/shared/untrusted-input.ts";
import { AwsFailure } from "../lib/cli/aws/aws-failure.ts";
import { type Command, exitCodes, UsageError } from "./commands/command.ts";

const commands: Record<string, { summary: string; load: () => Promise<Command> }> = {
  start: {
    summary: "both zones on this machine, with a page that stands in for Slack",
    load: async () => (await import("./commands/start.ts")).start,
  },
  verification: {
    summary: "the Verification zone alone, for the real Slack",
    load: async () => (await import("./commands/verification.ts")).verification,
  },
  execution: {
    summary: "the Execution zone alone",
    load: async () => (await import("./commands/execution.ts")).execution,
  },
  "execution bundle": {
    summary: "the Execution zone as one file, for a container",
    load: async () => (await import("./commands/execution.ts")).executionBundle,
  },
  send: {
    summary: "one task over a configured transport, its answer on the terminal",
    load: async () => (await import("./commands/send.ts")).send,
  },
  conformance: {
    summary: "does an Execution endpoint keep the contract",
    load: async () => (await import("./commands/conformance.ts")).conformance,
  },
  manifest: {
    summary: "the manifest from which a Slack app is created",
    load: async () => (await import("./commands/manifest.ts")).manifest,
  },
  doctor: {
    summary: "is everything well, here or in a stage; and what to do where it is not",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  smoke: {
    summary: "real tasks through a new stage on AWS, and what differs from what is assumed",
    load: async () => (await import("./commands/smoke.ts")).smoke,
  },
  "config check": {
    summary: "checks sekisho.config.json and lists every problem",
    load: async () => (await import("./commands/config.ts")).configCheck,
  },
  "config push": {
    summary: "brings routes and live settings to a stage on AWS, without a deploy",
    load: async () => (await import("./commands/config.ts")).configPush,
  },
  "allow list": {
    summary: "who may ask: the rules that were added, and the configuration's",
    load: async () => (await import("./commands/allow.ts")).allowList,
  },
  "allow add": {
    summary: "lets a workspace, a channel, a person or a user group in, without a deploy",
    load: async () => (await import("./commands/allow.ts")).allowAdd,
  },
  "allow remove": {
    summary: "takes a rule out again",
    load: async () => (await import("./commands/allow.ts")).allowRemove,
  },
  "allow why": {
    summary: "may somebody ask there, by which rule, and what to add",
    load: async () => (await import("./commands/allow.ts")).allowWhy,
  },
  "destinations list": {
    summary: "where tasks can go, and where those of a channel would",
    load: async () => (await import("./commands/destinations.ts")).destinationsList,
  },
  "destinations check": {
    summary: "calls them for real: who answers, how fast, or why not",
    load: async () => (await import("./commands/destinations.ts")).destinationsCheck,
  },
  "destinations set": {
    summary: "changes where a route leads, here and in a stage",
    load: async () => (await import("./commands/destinations-set.ts")).destinationsSet,
  },
  "federation enable": {
    summary: "lets AWS vouch for the Verification role elsewhere; of an account, once",
    load: async () => (await import("./commands/federation.ts")).federationEnable,
  },
  "federation show": {
    summary: "what another cloud must be told to trust that role",
    load: async () => (await import("./commands/federation.ts")).federationShow,
  },
  "secrets put": {
    summary: "writes the secrets of a stage to AWS Secrets Manager",
    load: async () => (await import("./commands/secrets-put.ts")).secretsPut,
  },
  "dead-letters list": {
    summary: "the messages that a stage's workers gave up on",
    load: async () => (await import("./commands/dead-letters.ts")).deadLettersList,
  },
  "dead-letters redrive": {
    summary: "gives them another chance",
    load: async () => (await import("./commands/dead-letters.ts")).deadLettersRedrive,
  },
  "tasks list": {
    summary: "the tasks of the local run or of a stage, oldest first",
    load: async () => (await import("./commands/tasks.ts")).tasksList,
  },
  "tasks show": {
    summary: "what is known of one task, and how it came there",
    load: async () => (await import("./commands/tasks.ts")).tasksShow,
  },
  "tasks cancel": {
    summary: "ends a task that is under way",
    load: async () => (await import("./commands/tasks.ts")).tasksCancel,
  },
  "tasks retry": {
    summary: "does what a task was asked once more, as a new task",
    load: async () => (await import("./commands/tasks.ts")).tasksRetry,
  },
  "data show": {
    summary: "what is kept of one person, in numbers",
    load: async () => (await import("./commands/data.ts")).dataShow,
  },
  "data delete": {
    summary: "deletes what is kept of one person",
    load: async () => (await import("./commands/data.ts")).dataDelete,
  },
  usage: {
    summary: "who asked when, where, and how it ended; as CSV too",
    load: async () => (await import("./commands/usage.ts")).usage,
  },
  trace: {
    summary: "one task's way through both zones, from the stores and log lines",
    load: async () => (await import("./commands/trace.ts")).trace,
  },
  operate: {
    summary: "a page for operators: live tasks, destinations' health, dead letters",
    load: async () => (await import("./commands/operate.ts")).operate,
  },
  cost: {
    summary: "what tasks cost on AWS",
    load: async () => (await import("./commands/cost.ts")).cost,
  },
};

/** Resolves to the exit code: 0 success, 1 the task failed, 2 bad usage or configuration, 3 not reachable. */
export async function main(words: string[]): Promise<number> {
  const name = [words.slice(0, 2).join(" "), words[0] ?? ""].find((candidate) => candidate in commands);
  const entry = name === undefined ? undefined : commands[name];
  if (name === undefined || entry === undefined) return runCommandGroup(words) ?? overview(words[0]);
  const rest = words.slice(name.split(" ").length);
  const stop = new AbortController();
  let firstAtMs = 0;
  const onSignal = () => {
    // A second signal means that the person does not want to wait for a clean end; but one Ctrl-C may arrive twice,
    // from the terminal and from a parent (npm, npx) that passes it on.
    if (stop.signal.aborted && Date.now() - firstAtMs > 500) process.exit(exitCodes.interrupted);
    if (!stop.signal.aborted) firstAtMs = Date.now();
    stop.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  try {
    const command = await entry.load();
    if (rest.includes("--help") || rest.includes("-h")) {
      process.stdout.write(`${command.help.trim()}\n`);
      return exitCodes.success;
    }
    return await command.run({
      words: rest,
      directory: process.cwd(),
      signal: stop.signal,
      print: (text) => process.stdout.write(escapeActiveCharacters(`${text}\n`)),
      printStyled: (text) => process.stdout.write(`${text}\n`),
      note: (text) => process.stderr.write(escapeActiveCharacters(`${text}\n`)),
    });
  } catch (thrown) {
    const code = explain(thrown, { name, words: rest });
    return stop.signal.aborted ? exitCodes.interrupted : code;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

/** `sekisho config` alone: which commands begin with that word. */
function runCommandGroup([word = "", next]: string[]): number | undefined {
  const names = Object.keys(commands).filter((name) => name.startsWith(`${word} `));
  if (names.length === 0) return undefined;
  const asked = next === "--help" || next === "-h";
  const list = names.map(formatCommand).join("\n");
  if (asked) process.stdout.write(`${list}\n`);
  else process.stderr.write(`${unknownCommandText(word, next)}\n\n${list}\n`);
  return asked ? exitCodes.success : exitCodes.badUsage;
}

function unknownCommandText(word: string, next: string | undefined): string {
  return next === undefined ? `"${word}" is the beginning of:` : `There is no command "${word} ${next}". There is:`;
}

function formatCommand(name: string): string {
  return `  ${name.padEnd(22)} ${commands[name]?.summary ?? ""}`;
}

function overview(word: string | undefined): number {
  const text = [
    "sekisho: a checkpoint between Slack and the agents that do the work",
    "",
    "Commands:",
    ...Object.keys(commands).map(formatCommand),
    "",
    "sekisho <command> --help says more.",
  ].join("\n");
  const asked = word === undefined || word === "--help" || word === "-h" || word === "help";
  if (asked) process.stdout.write(`${text}\n`);
  else process.stderr.write(`There is no command "${word}".\n\n${text}\n`);
  return asked ? exitCodes.success : exitCodes.badUsage;
}

/** Who comes from `cdk` brings its way of naming the stage. */
function stageHint(words: string[]): string {
  const [, name] = /^stage=([a-z0-9]+)$/.exec(words[words.indexOf("-c") + 1] ?? "") ?? [];
  return words.includes("-c") && name !== undefined ? `That is how cdk is told; here: --stage ${name}\n` : "";
}

function explain(thrown: unknown, { name, words }: { name: string; words: string[] }): number {
  const isUsage =
    thrown instanceof UsageError ||
    (thrown instanceof TypeError && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS"));
  const known = toFileError({ error: thrown, file: "The file of tasks" }) ?? thrown;
  const message = escapeActiveCharacters(known instanceof Error ? known.message : "unknown error");
  process.stderr.write(isUsage ? `${message}\n${stageHint(words)}sekisho ${name} --help says more.\n` : `${message}\n`);
  if (thrown instanceof AwsFailure && thrown.unreachable) return exitCodes.notReachable;
  return isUsage || thrown instanceof ConfigError ? exitCodes.badUsage : exitCodes.failed;
}
