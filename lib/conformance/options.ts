/** The options of a conformance run on a command line, for `sekisho conformance` and for the bundled file. */
import { readFileSync } from "node:fs";
import { dialectSchema } from "@sekisho/contracts/dialects.ts";
import { type AskerZone, readAskerKey } from "./asker.ts";
import { type ConformanceOptions, defaultBudgetMs, defaultTexts } from "./conformance.ts";

/** An option has a wrong value. The message is for the person who typed it. */
export class OptionError extends Error {
  override name = "OptionError";
}

const text = (help: string, value: string) =>
  ({ type: "string", value: "TEXT", help: `${help} (${value})`, default: value }) as const;
const flag = (help: string) => ({ type: "boolean", default: false, help }) as const;

/** In the form of `parseArgs`, with the help of each. */
export const runOptions = {
  level: {
    type: "string",
    value: "LEVEL",
    help: "required, or strict: the optional cases count too (required)",
    default: "required",
  },
  profile: {
    type: "string",
    value: "PROFILE",
    help: "https or agentcore: where the endpoint runs (that of the destination, else https)",
  },
  text: text("a text that the agent answers with success", defaultTexts.plain),
  "slow-text": text(
    "a text that keeps the agent busy for longer than one call waits",
    defaultTexts.slow,
  ),
  "stream-text": text("the same, where the agent shows its answer meanwhile", defaultTexts.stream),
  "fail-text": text("a text that makes the agent fail", defaultTexts.fail),
  "ask-text": text("a text that makes the agent ask a question", defaultTexts.ask),
  "questions-text": text(
    "a text that makes the agent ask two questions, one after the other",
    defaultTexts.questions,
  ),
  "form-text": text("a text that makes the agent ask a question with fields", defaultTexts.form),
  "approval-text": text(
    "a text that makes the agent ask a question with approvals",
    defaultTexts.approval,
  ),
  "file-text": text(
    "a text at which the agent reads the attachments and sends files",
    defaultTexts.file,
  ),
  "asker-key": {
    type: "string",
    value: "FILE",
    help: "the endpoint verifies who asked: the private key in PEM (RSA or P-256) that signs the tokens of the run",
  },
  "asker-issuer": { type: "string", value: "URL", help: "the issuer of these tokens" },
  "asker-audience": { type: "string", value: "TEXT", help: "the audience of these tokens" },
  "no-second-look": flag(
    "leaves out the cases that look at tasks once more, 8 to 30 s after their end",
  ),
  budget: {
    type: "string",
    value: "S",
    help: `time limit of the whole run in seconds (${defaultBudgetMs / 1000})`,
    default: String(defaultBudgetMs / 1000),
  },
  "call-timeout": {
    type: "string",
    value: "S",
    help: "time limit of one call in seconds (30)",
    default: "30",
  },
  list: flag(
    "prints every case with its level, its section of the contract and what is expected, and tests nothing",
  ),
  failures: flag("prints only what failed"),
  json: flag("prints the report as one JSON object"),
  junit: {
    type: "string",
    value: "FILE",
    help: "also writes JUnit XML, in which a failed case that does not count is skipped",
  },
} as const;

type RunValues = {
  level: string;
  profile?: string | undefined;
  text: string;
  "slow-text": string;
  "stream-text": string;
  "fail-text": string;
  "ask-text": string;
  "questions-text": string;
  "form-text": string;
  "approval-text": string;
  "file-text": string;
  "asker-key"?: string | undefined;
  "asker-issuer"?: string | undefined;
  "asker-audience"?: string | undefined;
  "no-second-look": boolean;
  budget: string;
  "call-timeout": string;
};

/** Throws an OptionError. `profile` is the default. */
export function readRunOptions(
  values: RunValues,
  profile: string,
): Omit<ConformanceOptions, "sender"> {
  return {
    level: readChoice("--level", values.level, ["required", "strict"]),
    profile: readChoice("--profile", values.profile ?? profile, ["https", "agentcore"]),
    asker: readAsker(values),
    hasSecondLook: !values["no-second-look"],
    budgetMs: readSeconds("--budget", values.budget, 3600),
    callTimeoutMs: readSeconds("--call-timeout", values["call-timeout"], 600),
    texts: {
      plain: values.text,
      slow: values["slow-text"],
      stream: values["stream-text"],
      fail: values["fail-text"],
      ask: values["ask-text"],
      questions: values["questions-text"],
      form: values["form-text"],
      approval: values["approval-text"],
      file: values["file-text"],
    },
  };
}

function readAsker({
  "asker-key": file,
  "asker-issuer": issuer,
  "asker-audience": audience,
}: RunValues): AskerZone | undefined {
  if (file === undefined && issuer === undefined && audience === undefined) return undefined;
  if (!file || !issuer || !audience)
    throw new OptionError("--asker-key, --asker-issuer and --asker-audience need each other.");
  const key = readAskerKey(readPem(file));
  if (key === undefined)
    throw new OptionError(
      `--asker-key: ${file} is no private key in PEM, of RSA (2048 bits or more) or the curve P-256.`,
    );
  return { issuer, audience, key };
}

function readPem(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new OptionError(`--asker-key: ${file} cannot be read (${Object(error).code}).`);
  }
}

export function readDialect(name: string) {
  return readChoice("--dialect", name, dialectSchema.options);
}

function readChoice<const T extends string>(name: string, value: string, choices: readonly T[]): T {
  const choice = choices.find((one) => one === value);
  if (choice !== undefined) return choice;
  throw new OptionError(`${name}: "${value}" is none of ${choices.join(", ")}.`);
}

function readSeconds(name: string, value: string, max: number): number {
  const seconds = Number(value);
  if (/^\d+(\.\d+)?$/.test(value) && seconds >= 0.1 && seconds <= max)
    return Math.round(seconds * 1000);
  throw new OptionError(`${name}: "${value}" is not a number of seconds (0.1 to ${max}).`);
}
