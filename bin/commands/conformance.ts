/** `sekisho conformance`: checks whether an Execution endpoint in any language keeps the contract. */
import { closeSync, existsSync, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type AuthorizerConfig, listAuthorizerSecrets } from "../../lambdas/shared/config/authorizer-schema.ts";
import { listDestinationSecrets } from "../../lambdas/shared/config/destination-address.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { configDirectory } from "../../lambdas/shared/config/load.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import {
  type CommandRun,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  requireSecrets,
  UsageError,
} from "../../lib/cli/command.ts";
import {
  type ConformanceOptions,
  defaultBudgetMs,
  defaultTexts,
  runConformance,
} from "../../lib/cli/conformance/conformance.ts";
import { formatJsonReport, formatJunitReport, formatTextReport } from "../../lib/cli/conformance/reports.ts";
import { findEndpoint, parseAnotherAuth } from "../../lib/cli/find-endpoint.ts";
import { openSender } from "../../lib/cli/open-sender.ts";

const textOption = (help: string, text: string) => ({ ...option("TEXT", `${help} (${text})`), default: text });

export const conformance = defineCommand({
  name: "conformance",
  args: "[URL]",
  about: `
Tests an Execution endpoint in any language against the contract. Name the endpoint by its URL, or as a destination of the
configuration. The report shows failures first, and says of each what was sent, what came and what to do. The agent behind the
endpoint runs about sixty times.`,
  options: {
    auth: option(
      "AUTH",
      "how calls to the URL authenticate: none (loopback only), bearer:ENV_NAME, sigv4:SERVICE:REGION, web-identity:AUDIENCE",
    ),
    "other-auth": option("AUTH", "the same of a second caller, who must not see the tasks of the first"),
    dialect: option("D", "the dialect of the endpoint's error numbers (zone)"),
    idempotent: flag("the endpoint at the URL is declared to deduplicate by request id"),
    destination: option("NAME", "a destination of the configuration, with its url and authorizer, instead of a URL"),
    config: configOption,
    level: { ...option("LEVEL", "required, or strict: the optional cases count too (required)"), default: "required" },
    profile: option("PROFILE", "https or agentcore: where the endpoint runs (that of the destination, else https)"),
    text: textOption("a text that the agent answers with success", defaultTexts.plain),
    "slow-text": textOption("a text that keeps the agent busy for longer than one call waits", defaultTexts.slow),
    "fail-text": textOption("a text that makes the agent fail", defaultTexts.fail),
    "ask-text": textOption("a text that makes the agent ask a question", defaultTexts.ask),
    "file-text": textOption("a text at which the agent reads the attachments", defaultTexts.file),
    "no-second-look": flag("leaves out the cases that look at tasks once more, 10 s after their end"),
    budget: {
      ...option("S", `time limit of the whole run in seconds (${defaultBudgetMs / 1000})`),
      default: String(defaultBudgetMs / 1000),
    },
    "call-timeout": { ...option("S", "time limit of one call in seconds (30)"), default: "30" },
    failures: flag("prints only what failed"),
    json: flag("prints the report as one JSON object"),
    junit: option("FILE", "also writes JUnit XML, in which a failed case that does not count is skipped"),
  },
  exits: `
The default texts are made for the agent "echo". A case that the endpoint gives no occasion to test is skipped, and the
report says why. docs/conformance.md lists the cases.
Exit code: 0 every case that counts passed; 1 one failed, or something leaked; 2 bad usage or configuration; 3 nothing to
test: not reachable, no endpoint at this address, or credentials refused.`,
  async run(run) {
    const { values, positionals } = run;
    if (positionals.length > 1) throw new UsageError("Only one URL can be given.");
    const location = { directory: run.directory, file: values.config };
    const { auth, dialect, destination: name } = values;
    const endpoint = findEndpoint({ url: positionals[0], auth, dialect, destination: name, location });
    if (name !== undefined && values.idempotent) {
      throw new UsageError("--idempotent needs a URL. A destination says so in the configuration.");
    }
    const { destination } = endpoint;
    const another = values["other-auth"] === undefined ? undefined : parseAnotherAuth(values["other-auth"]);
    requireSecrets([...listDestinationSecrets(destination), ...listSecretsOf(another)]);
    const options: Omit<ConformanceOptions, "sender"> = {
      dialect: destination.dialect,
      level: parseChoice("--level", values.level, ["required", "strict"]),
      profile: parseChoice("--profile", values.profile ?? profileOf(destination.transport), ["https", "agentcore"]),
      isIdempotent: values.idempotent || destination.idempotent,
      hasSecondLook: !values["no-second-look"],
      budgetMs: parseSeconds("--budget", values.budget, 3600),
      callTimeoutMs: parseSeconds("--call-timeout", values["call-timeout"], 600),
      texts: {
        plain: values.text,
        slow: values["slow-text"],
        fail: values["fail-text"],
        ask: values["ask-text"],
        file: values["file-text"],
      },
    };
    const junit = values.junit === undefined ? undefined : resolveJunit(values.junit, run.directory);
    const { executionPort, logLevel } = readEnvironment();
    const directory = configDirectory(location);
    const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
    const sender = await openSender({ ...endpoint, another, directory, executionPort, log });
    try {
      run.note(`Testing ${endpoint.called}. It takes up to ${values.budget} s.`);
      const onCase = ({ outcome, name: failed }: { outcome: string; name: string }) => {
        if (outcome === "failed") run.note(`failed: ${failed}`);
      };
      const result = await runConformance({ ...options, sender, interrupt: run.signal, onCase });
      if ("unreachable" in result) {
        run.note(`${endpoint.called}: ${result.unreachable}`);
        return exitCodes.notReachable;
      }
      const report = { ...result, endpoint: endpoint.called };
      const shown = { onlyFailures: values.failures };
      run.print(values.json ? formatJsonReport(report, shown) : formatTextReport(report, shown));
      const isWritten = junit === undefined || writeJunit(run, junit, formatJunitReport(report));
      return isWritten && result.kept ? exitCodes.success : exitCodes.failed;
    } catch (thrown) {
      if (!run.signal.aborted) throw thrown;
      run.note("Interrupted. There is no report.");
      return exitCodes.interrupted;
    } finally {
      await sender.close();
    }
  },
});

function profileOf(transport: string): string {
  return transport === "agentcore" ? "agentcore" : "https";
}

function listSecretsOf(authorizer: AuthorizerConfig | undefined) {
  return authorizer === undefined ? [] : listAuthorizerSecrets(authorizer).map(({ reference }) => reference);
}

function parseChoice<const T extends string>(name: string, value: string, choices: readonly T[]): T {
  const found = choices.find((one) => one === value);
  if (found !== undefined) return found;
  throw new UsageError(`${name}: "${value}" is none of ${choices.join(" and ")}.`);
}

function parseSeconds(name: string, text: string, most: number): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds >= 0.1 && seconds <= most) return seconds * 1000;
  throw new UsageError(`${name}: "${text}" is not a number of seconds (0.1 to ${most}).`);
}

/** Checks before the cases that the file can be written. Leaves no file behind. */
function resolveJunit(path: string, directory: string): string {
  const file = resolve(directory, path);
  if (!existsSync(dirname(file))) throw new UsageError(`--junit: there is no folder ${dirname(file)}.`);
  try {
    const wasThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
    closeSync(openSync(file, "a"));
    if (!wasThere) rmSync(file);
  } catch (thrown) {
    throw new UsageError(notWritableText(file, thrown));
  }
  return file;
}

function notWritableText(file: string, thrown: unknown): string {
  return `--junit: ${file} cannot be written (${Object(thrown).code}).`;
}

function writeJunit({ note }: CommandRun, file: string, text: string): boolean {
  try {
    writeFileSync(file, text);
    return true;
  } catch (thrown) {
    note(notWritableText(file, thrown));
    return false;
  }
}
