/** `sekisho conformance`: checks whether an Execution endpoint in any language keeps the contract. */
import { closeSync, existsSync, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { listAuthorizerSecrets } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { listDestinationSecrets } from "@sekisho/config/destination-address.ts";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { configDirectory } from "@sekisho/config/load.ts";
import { conformanceCases } from "@sekisho/conformance/cases/all.ts";
import {
  type ConformanceReport,
  defaultBudgetMs,
  runConformance,
} from "@sekisho/conformance/conformance.ts";
import { OptionError, readRunOptions, runOptions } from "@sekisho/conformance/options.ts";
import {
  formatCaseList,
  formatJsonReport,
  formatJunitReport,
  formatTextReport,
} from "@sekisho/conformance/reports.ts";
import { createLog } from "@sekisho/runtime/log.ts";
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
import { findEndpoint, parseAnotherAuth } from "../find-endpoint.ts";
import { openSender } from "../open-sender.ts";
import { testAgent } from "./test-agent.ts";

export const conformance = defineCommand({
  name: "conformance",
  args: "[URL]",
  about: `
Tests an Execution endpoint, by its URL or as a destination, against the contract. The report shows failures first: what was
sent, what came, what to do. The agent behind the endpoint runs about eighty times.

With --agent it tests an agent of another protocol, through the code of the Execution host. It runs the agent up to three
times, and prints which features it can serve, by its protocol and as seen.`,
  options: {
    auth: option(
      "AUTH",
      "how calls to the URL authenticate: none (loopback only), bearer:ENV_NAME, sigv4:SERVICE:REGION, web-identity:AUDIENCE",
    ),
    "other-auth": option(
      "AUTH",
      "the same of a second caller, who must not see the tasks of the first",
    ),
    dialect: option("D", "the dialect of the endpoint's error numbers (zone)"),
    idempotent: flag("the endpoint at the URL is declared to deduplicate by request id"),
    destination: option("NAME", "a destination of the configuration, instead of a URL"),
    agent: option(
      "TARGET",
      "runs that agent instead: a name of execution.agents, or a URL, ARN or FILE as of sekisho agents add. Of the other options only --token-env, --config, --budget and --json count",
    ),
    "token-env": option(
      "VARIABLE",
      "with --agent URL: the environment variable with the bearer token that it takes",
    ),
    config: configOption,
    ...runOptions,
  },
  exits: `
The default texts are made for the agent "echo". A case that the endpoint gives no occasion to test is skipped.
--list prints the cases.
Exit code: 0 every case that counts passed, or the agent answered; 1 one failed, or something leaked; 2 bad usage or configuration; 3 nothing to
test: not reachable, no endpoint at this address, or credentials refused.`,
  async run(run) {
    const { values, positionals } = run;
    if (values.list) {
      run.print(formatCaseList(conformanceCases));
      return exitCodes.success;
    }
    if (positionals.length > 1) throw new UsageError("Only one URL can be given.");
    const location = { directory: run.directory, file: values.config };
    const { auth, dialect, destination: name, agent } = values;
    if (agent !== undefined) {
      if (name !== undefined || auth !== undefined || positionals.length > 0)
        throw new UsageError("Give either --agent, or an endpoint by its URL or --destination.");
      const { budgetMs = defaultBudgetMs } = toUsageError(() => readRunOptions(values, "https"));
      const { "token-env": variable, json: isJson } = values;
      return testAgent({ ...run, target: agent, variable, location, budgetMs, isJson });
    }
    const endpoint = findEndpoint({
      url: positionals[0],
      auth,
      dialect,
      destination: name,
      location,
    });
    if (name !== undefined && values.idempotent) {
      throw new UsageError("--idempotent needs a URL. A destination says so in the configuration.");
    }
    const { destination } = endpoint;
    const another =
      values["other-auth"] === undefined ? undefined : parseAnotherAuth(values["other-auth"]);
    requireSecrets([...listDestinationSecrets(destination), ...listSecretsOf(another)]);
    const { "asker-key": askerKey } = values;
    const runValues = {
      ...values,
      ...(askerKey && { "asker-key": resolve(run.directory, askerKey) }),
    };
    const options = {
      ...toUsageError(() =>
        readRunOptions(runValues, destination.transport === "agentcore" ? "agentcore" : "https"),
      ),
      dialect: destination.dialect,
      isIdempotent: values.idempotent || destination.idempotent,
    };
    if (options.asker !== undefined && destination.transport !== "https")
      throw new UsageError("--asker-key needs an endpoint that is called over https.");
    const authorizer = "authorizer" in destination ? destination.authorizer.type : "none";
    if (authorizer === "asker" || authorizer === "token-exchange")
      throw new UsageError(
        `The authorizer ${authorizer} sends the token of a person, which a command has not. Give the URL of the endpoint, with --auth or --asker-key.`,
      );
    const junit =
      values.junit === undefined ? undefined : resolveJunit(values.junit, run.directory);
    const { executionPort, logLevel } = readEnvironment();
    const directory = configDirectory(location);
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const sender = await openSender({ ...endpoint, another, directory, executionPort, log });
    try {
      run.note(`Testing ${endpoint.purpose}. It takes up to ${values.budget} s.`);
      const onCase = ({ outcome, name: caseName }: { outcome: string; name: string }) => {
        if (outcome === "failed") run.note(`failed: ${caseName}`);
      };
      const result = await runConformance({ ...options, sender, interrupt: run.signal, onCase });
      if ("unreachable" in result) {
        run.note(`${endpoint.purpose}: ${result.unreachable}`);
        return exitCodes.notReachable;
      }
      const report = { ...result, endpoint: endpoint.purpose };
      const selection = { onlyFailures: values.failures };
      run.print(
        values.json ? formatJsonReport(report, selection) : formatTextReport(report, selection),
      );
      if (!speaksContract(report)) run.note(otherProtocolText);
      const isWritten = junit === undefined || writeJunit(run, junit, formatJunitReport(report));
      return isWritten && result.kept ? exitCodes.success : exitCodes.failed;
    } catch (error) {
      if (!run.signal.aborted) throw error;
      run.note("Interrupted. There is no report.");
      return exitCodes.interrupted;
    } finally {
      await sender.close();
    }
  },
});

const otherProtocolText =
  "No required case passed, so this endpoint hardly speaks the contract. An agent of another protocol is tested with --agent URL.";

function speaksContract({ cases }: Pick<ConformanceReport, "cases">): boolean {
  return cases.some(({ level, outcome }) => level === "required" && outcome === "passed");
}

function listSecretsOf(authorizer: AuthorizerConfig | undefined) {
  return authorizer === undefined
    ? []
    : listAuthorizerSecrets(authorizer).map(({ reference }) => reference);
}

function toUsageError<T>(readOption: () => T): T {
  try {
    return readOption();
  } catch (error) {
    throw error instanceof OptionError ? new UsageError(error.message) : error;
  }
}

/** Checks before the cases that the file can be written. Leaves no file behind. */
function resolveJunit(path: string, directory: string): string {
  const file = resolve(directory, path);
  if (!existsSync(dirname(file)))
    throw new UsageError(`--junit: there is no folder ${dirname(file)}.`);
  try {
    const wasThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
    closeSync(openSync(file, "a"));
    if (!wasThere) rmSync(file);
  } catch (error) {
    throw new UsageError(notWritableText(file, error));
  }
  return file;
}

function notWritableText(file: string, error: unknown): string {
  return `--junit: ${file} cannot be written (${Object(error).code}).`;
}

function writeJunit({ note }: CommandRun, file: string, text: string): boolean {
  try {
    writeFileSync(file, text);
    return true;
  } catch (error) {
    note(notWritableText(file, error));
    return false;
  }
}
