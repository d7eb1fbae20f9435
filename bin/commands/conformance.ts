/** `sekisho conformance`: checks whether an Execution endpoint in any language keeps the contract. */
import { closeSync, existsSync, lstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { listDestinationSecrets } from "../../lambdas/shared/config/destination-address.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { configDirectory } from "../../lambdas/shared/config/load.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import { findEndpoint } from "../../lib/cli/conformance/endpoint-text.ts";
import { openPeerUnderTest, probePeer } from "../../lib/cli/conformance/open-peer.ts";
import { formatJsonReport, formatJunitReport, formatTextReport } from "../../lib/cli/conformance/reports.ts";
import { isConformant, runCases } from "../../lib/cli/conformance/run-cases.ts";
import { type Command, type CommandRun, exitCodes, requireSecrets, UsageError } from "./command.ts";

/** Enough for all cases with an agent that takes a minute for each of its tasks. */
const totalMs = 30 * 60_000;

export const conformance: Command = {
  help: `
sekisho conformance URL [--auth AUTH] [--dialect D] [options]
sekisho conformance --destination NAME [--config FILE] [options]

Runs the contract's cases against an Execution endpoint in any language, and shows what each case
expected and what came. It runs the agent behind the endpoint about twenty times.

  --auth AUTH          how to call a URL: none (loopback only), bearer:ENV_NAME,
                       sigv4:SERVICE:REGION, web-identity:AUDIENCE
  --dialect D          whose error numbers it speaks (default: zone)
  --destination NAME   a destination of the configuration, with its url and authorizer
  --config FILE        instead of ./sekisho.config.json
  --text TEXT          what the agent answers with success (default: "Good morning.")
  --slow-text TEXT     what takes it longer than a call waits (default: "stream, slow 25s", as echo knows it)
  --fail-text TEXT     what makes it fail (default: "fail", as echo knows it)
  --ask-text TEXT      what makes it ask back (default: "ask me", as echo knows it)
  --call-timeout S     seconds that one call may take (default: 30)
  --json               prints the report as one JSON object
  --junit FILE         writes it as JUnit XML too; an optional case that is not kept is skipped there

A case that cannot be tried with a peer is skipped, with the reason. docs/conformance.md lists the cases.
Exit code 0: it keeps all that is required; 1: it does not; 2: bad usage or configuration; 3: there is
nothing to test (not reachable, no endpoint at this address, credentials refused).
`,
  async run(run) {
    const { values, positionals } = parseArgs({ args: run.words, allowPositionals: true, options });
    if (positionals.length > 1) throw new UsageError("One URL is needed.");
    const place = { directory: run.directory, file: values.config };
    const { auth, dialect, destination } = values;
    const endpoint = findEndpoint({ url: positionals[0], auth, dialect, destination, place });
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
      directory: configDirectory(place),
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
      run.note("Interrupted; there is no report.");
      return exitCodes.interrupted;
    } finally {
      await close();
    }
  },
};

const options = {
  auth: { type: "string" },
  dialect: { type: "string" },
  destination: { type: "string" },
  config: { type: "string" },
  text: { type: "string", default: "Good morning." },
  "slow-text": { type: "string", default: "stream, slow 25s" },
  "fail-text": { type: "string", default: "fail" },
  "ask-text": { type: "string", default: "ask me" },
  "call-timeout": { type: "string", default: "30" },
  json: { type: "boolean", default: false },
  junit: { type: "string" },
} as const;

function parseCallTimeout(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds >= 0.1 && seconds <= 600) return seconds * 1000;
  throw new UsageError(`--call-timeout: "${text}" is not a number of seconds (0.1 to 600).`);
}

/** Tries before the cases whether the file can be written, and leaves nothing behind. */
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
