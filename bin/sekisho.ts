/** The `sekisho` command: finds the command, gives it its words, turns what it throws into a line and an exit code. */
import { ConfigError } from "../lambdas/shared/config/load.ts";
import { AwsFailure } from "./aws/aws-failure.ts";
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
  send: {
    summary: "one task over a configured transport, its answer on the terminal",
    load: async () => (await import("./commands/send.ts")).send,
  },
  manifest: {
    summary: "the manifest from which a Slack app is created",
    load: async () => (await import("./commands/manifest.ts")).manifest,
  },
  "config check": {
    summary: "checks sekisho.config.json and lists every problem",
    load: async () => (await import("./commands/config-check.ts")).configCheck,
  },
  "config push": {
    summary: "brings routes and live settings to a stage on AWS, without a deploy",
    load: async () => (await import("./commands/config-push.ts")).configPush,
  },
  "secrets put": {
    summary: "writes the secrets of a stage to AWS Secrets Manager",
    load: async () => (await import("./commands/secrets-put.ts")).secretsPut,
  },
  "dead-letters list": {
    summary: "the messages that a stage's workers gave up on",
    load: async () => (await import("./commands/dead-letters-list.ts")).deadLettersList,
  },
  "dead-letters redrive": {
    summary: "gives them another chance",
    load: async () => (await import("./commands/dead-letters-redrive.ts")).deadLettersRedrive,
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
  if (name === undefined || entry === undefined) return overview(words[0]);
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
      print: (text) => process.stdout.write(`${text}\n`),
      note: (text) => process.stderr.write(`${text}\n`),
    });
  } catch (thrown) {
    const code = explain(thrown, name);
    return stop.signal.aborted ? exitCodes.interrupted : code;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
}

function overview(word: string | undefined): number {
  const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(22)} ${summary}`);
  const text = [
    "sekisho: a checkpoint between Slack and the agents that do the work",
    "",
    "Commands:",
    ...list,
    "",
    "sekisho <command> --help says more.",
  ].join("\n");
  const asked = word === undefined || word === "--help" || word === "-h" || word === "help";
  if (asked) process.stdout.write(`${text}\n`);
  else process.stderr.write(`There is no command "${word}".\n\n${text}\n`);
  return asked ? exitCodes.success : exitCodes.badUsage;
}

function explain(thrown: unknown, name: string): number {
  const isUsage =
    thrown instanceof UsageError ||
    (thrown instanceof TypeError && "code" in thrown && String(thrown.code).startsWith("ERR_PARSE_ARGS"));
  const message = thrown instanceof Error ? thrown.message : "unknown error";
  process.stderr.write(isUsage ? `${message}\nsekisho ${name} --help says more.\n` : `${message}\n`);
  if (thrown instanceof AwsFailure && thrown.unreachable) return exitCodes.notReachable;
  return isUsage || thrown instanceof ConfigError ? exitCodes.badUsage : exitCodes.failed;
}
