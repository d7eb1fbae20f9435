/** `sekisho conformance`: checks whether an Execution endpoint in any language keeps the contract. */
import { closeSync, existsSync, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
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
import { openPeerUnderTest, probePeer } from "../../lib/cli/conformance/open-peer.ts";
import { formatJsonReport, formatJunitReport, formatTextReport } from "../../lib/cli/conformance/reports.ts";
import { isConformant, runCases } from "../../lib/cli/conformance/run-cases.ts";
import { findEndpoint } from "../../lib/cli/find-endpoint.ts";

/** Enough for all cases with an agent that takes a minute for each of its tasks. */
const totalMs = 30 * 60_000;

export const conformance = defineCommand({
  name: "conformance",
  args: "[URL]",
  about: `
Tests an Execution endpoint in any language against the contract. Name the endpoint by its URL, or as a destination of the
configuration. For each case the report shows the expected and the actual answer. The agent behind the endpoint runs about
twenty times.`,
  options: {
    auth: option(
      "AUTH",
      "how calls to the URL authenticate: none (loopback only), bearer:ENV_NAME, sigv4:SERVICE:REGION, web-identity:AUDIENCE",
    ),
    dialect: option("D", "the dialect of the endpoint's error numbers (zone)"),
    destination: option("NAME", "a destination of the configuration, with its url and authorizer, instead of a URL"),
    config: configOption,
    text: { ...option("TEXT", "a text that the agent answers with success (Good morning.)"), default: "Good morning." },
    "slow-text": {
      ...option("TEXT", "a text that keeps the agent busy for longer than one call waits (stream, slow 25s)"),
      default: "stream, slow 25s",
    },
    "fail-text": { ...option("TEXT", "a text that makes the agent fail (fail)"), default: "fail" },
    "ask-text": { ...option("TEXT", "a text that makes the agent ask a question (ask me)"), default: "ask me" },
    "call-timeout": { ...option("S", "time limit of one call in seconds (30)"), default: "30" },
    json: flag("prints the report as one JSON object"),
    junit: option("FILE", "also writes JUnit XML, in which a failed optional case counts as skipped"),
  },
  exits: `
The default texts are made for the agent "echo". A case that the endpoint gives no occasion to test is skipped, and the
report says why. docs/conformance.md lists the cases.
Exit code: 0 every required case passed; 1 one failed; 2 bad usage or configuration; 3 nothing to test: not reachable, no
endpoint at this address, or credentials refused.`,
  async run(run) {
    const { values, positionals } = run;
    if (positionals.length > 1) throw new UsageError("Only one URL can be given.");
    const location = { directory: run.directory, file: values.config };
    const { auth, dialect, destination } = values;
    const endpoint = findEndpoint({ url: positionals[0], auth, dialect, destination, location });
    requireSecrets(listDestinationSecrets(endpoint.destination));
    const timeoutMs = parseCallTimeout(values["call-timeout"]);
    const junit = values.junit === undefined ? undefined : resolveJunit(values.junit, run.directory);
    const texts = {
      plain: values.text,
      slow: values["slow-text"],
      fail: values["fail-text"],
      ask: values["ask-text"],
    };
    const { executionPort, logLevel } = readEnvironment();
    const timeOver = AbortSignal.timeout(totalMs);
    const signal = AbortSignal.any([run.signal, timeOver]);
    const { peer, close } = await openPeerUnderTest({
      ...endpoint,
      directory: configDirectory(location),
      executionPort,
      log: createLog({ service: "sekisho", level: logLevel ?? "error" }),
      timeoutMs,
      signal,
    });
    try {
      const why = await probePeer(peer);
      if (why !== undefined) {
        run.note(`${endpoint.called}: ${why}`);
        return exitCodes.notReachable;
      }
      let shown = "";
      const reports = await runCases({
        peer,
        texts,
        isIdempotent: endpoint.destination.idempotent,
        interrupt: run.signal,
        timeOver,
        // Shows progress by theme, because only slow tasks take long.
        onCase(name) {
          const [theme = ""] = name.split("/");
          if (theme !== shown) run.note(theme === "accepted" ? `${theme} ("${texts.slow}")` : theme);
          shown = theme;
        },
      });
      const report = { endpoint: endpoint.called, reports };
      run.print(values.json ? formatJsonReport(report) : formatTextReport(report));
      const isWritten = junit === undefined || writeJunit(run, junit, formatJunitReport(report));
      return isWritten && isConformant(reports) ? exitCodes.success : exitCodes.failed;
    } catch (thrown) {
      if (!run.signal.aborted) throw thrown;
      run.note("Interrupted. There is no report.");
      return exitCodes.interrupted;
    } finally {
      await close();
    }
  },
});

function parseCallTimeout(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds >= 0.1 && seconds <= 600) return seconds * 1000;
  throw new UsageError(`--call-timeout: "${text}" is not a number of seconds (0.1 to 600).`);
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
