#!/usr/bin/env node
/** The conformance run as a program of its own. `npm run conformance:bundle` makes one file of it that needs only Node. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { isLoopbackHost, isSecureUrl } from "@sekisho/contracts/loopback.ts";
import { escapeActiveCharacters } from "@sekisho/runtime/untrusted-input.ts";
import { conformanceCases } from "./cases/all.ts";
import { checkEndpoint } from "./conformance.ts";
import { readToken } from "./environment.ts";
import { OptionError, readDialect, readRunOptions, runOptions } from "./options.ts";
import {
  formatCaseList,
  formatJsonReport,
  formatJunitReport,
  formatTextReport,
} from "./reports.ts";

const options = {
  auth: {
    type: "string",
    value: "AUTH",
    help: "none (loopback only), or bearer:ENV_NAME",
    default: "none",
  },
  "other-auth": { type: "string", value: "AUTH", help: "the same of a second caller" },
  dialect: {
    type: "string",
    value: "D",
    help: "the dialect of the endpoint's error numbers (zone)",
    default: "zone",
  },
  idempotent: {
    type: "boolean",
    help: "the endpoint is declared to deduplicate by request id",
    default: false,
  },
  ...runOptions,
  help: { type: "boolean", help: "prints this", default: false },
} as const;

/** The exit codes are those of `sekisho conformance`. */
async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help) return print(formatHelp());
  if (values.list) return print(formatCaseList(conformanceCases));
  const [address, ...more] = positionals;
  if (address === undefined || more.length > 0)
    throw new OptionError("Give one URL. --help lists the options.");
  const url = readUrl(address);
  const token = readToken("--auth", values.auth);
  if (token === undefined && !isLoopbackHost(url.hostname))
    throw new OptionError("--auth none is for loopback only.");
  const another = values["other-auth"];
  const result = await checkEndpoint({
    url,
    token,
    anotherToken: another === undefined ? undefined : readToken("--other-auth", another),
    dialect: readDialect(values.dialect),
    isIdempotent: values.idempotent,
    ...readRunOptions(values, "https"),
  });
  if ("unreachable" in result) {
    note(`${address}: ${result.unreachable}`);
    return 3;
  }
  const report = { ...result, endpoint: address };
  const selection = { onlyFailures: values.failures };
  print(values.json ? formatJsonReport(report, selection) : formatTextReport(report, selection));
  if (values.junit !== undefined) writeFileSync(values.junit, formatJunitReport(report));
  return report.kept ? 0 : 1;
}

function readUrl(address: string): URL {
  const url = URL.parse(address);
  if (url === null || !isSecureUrl(url) || url.username !== "" || url.password !== "") {
    throw new OptionError("The URL must be https (http on loopback), without credentials in it.");
  }
  return url;
}

function formatHelp(): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const argument = "value" in option ? ` ${option.value}` : "";
    return `  ${`--${name}${argument}`.padEnd(24)}${option.help}`;
  });
  return ["sekisho-conformance URL [options]", "", ...rows].join("\n");
}

function print(text: string): number {
  process.stdout.write(`${escapeActiveCharacters(text)}\n`);
  return 0;
}

function note(text: string): void {
  process.stderr.write(`${escapeActiveCharacters(text)}\n`);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const isUsage =
      error instanceof OptionError || String(Object(error).code).startsWith("ERR_PARSE_ARGS");
    note(isUsage ? Object(error).message : String(Object(error).stack));
    process.exitCode = isUsage ? 2 : 1;
  },
);
