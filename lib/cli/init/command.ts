/** `sekisho init`: writes the files of a new project, and with --aws those that deploy it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configFileName } from "@sekisho/config/config-error.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { regionSchema } from "@sekisho/config/values.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { addAgent } from "../agents/add-agent.ts";
import { type CommandRun, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";
import { packageName } from "../package-name.ts";
import { setMember } from "../set-member.ts";
import {
  awsFiles,
  createStages,
  exampleAccount,
  ignoredPaths,
  projectFiles,
  projectScripts,
} from "./files.ts";
import { changePackage, type PackageChange } from "./package-file.ts";

const ignoreFile = ".gitignore";
const packageFile = "package.json";
/** The command line of CDK and its library have the versions with which the templates are tested. */
const cdkPackages =
  "@sekisho/cdk aws-cdk@2.1148.1 aws-cdk-lib@2.276.0 constructs esbuild typescript @types/node";

export const init = defineCommand({
  name: "init",
  args: "[FOLDER]",
  about: `
Writes the files of a new project into FOLDER, or into this folder: the configuration, an agent and an example of .env. If
one of these files is there already, nothing is written. A .gitignore or package.json gets what it lacks, such as the
scripts start, dev and doctor.

With --aws it also writes what a deploy needs: a CDK app, the stages dev and prod of the configuration, and a workflow
that deploys from GitHub without a stored key. In a project that is there already, it adds only these.`,
  options: {
    aws: flag("also writes a CDK app, stages and a workflow for GitHub"),
    account: option(
      "ID",
      `with --aws: the AWS account of the stages (${exampleAccount}, to be replaced)`,
    ),
    region: option("REGION", "with --aws: the AWS region of the stages (eu-central-1)"),
    agent: option(
      "TARGET",
      "a URL, ARN or FILE, as of sekisho agents add, instead of a new agent.ts",
    ),
    "token-env": option("VARIABLE", "the environment variable with the bearer token that it takes"),
  },
  exits:
    "Exit code: 0 the files are written; 1 they cannot be written; 2 bad usage, or a file is there already.",
  async run(run) {
    const { directory, signal, print, positionals, values } = run;
    const { account = exampleAccount, region = "eu-central-1", agent } = values;
    const [folderName = ".", ...more] = positionals;
    if (more.length > 0) throw new UsageError("Give one FOLDER.");
    if (!values.aws && (values.account ?? values.region) !== undefined)
      throw new UsageError("--account and --region go with --aws.");
    if (!/^\d{12}$/.test(account))
      throw new UsageError(`--account: "${account}" is not 12 digits.`);
    if (!regionSchema.safeParse(region).success)
      throw new UsageError(`--region: "${region}" is not an AWS region.`);
    const folder = resolve(directory, folderName);
    const aws = values.aws ? { account, region } : undefined;
    if (aws !== undefined && existsSync(join(folder, configFileName))) {
      if (agent !== undefined)
        throw new UsageError(
          `There is a ${configFileName} already. Use ${sekisho} agents add ${agent}.`,
        );
      addAws({ run, folder, ...aws });
      print(`\nTo deploy to AWS:\n  ${deployCommand}\n\n${accountText("this")}`);
      return exitCodes.success;
    }
    const isOnThisMachine = isLoopbackHost(URL.parse(agent ?? "")?.hostname ?? "");
    const hasAgentFile = agent === undefined;
    const stages = isOnThisMachine ? undefined : aws;
    const { [configFileName]: configText, ...others } = projectFiles({ hasAgentFile, stages });
    const fresh = { ...others, ...(aws && awsFiles(aws)) };
    refuseToReplace(folder, [configFileName, ...Object.keys(fresh)]);
    const packageChange = planPackage(folder, { hasAgentFile });
    const added =
      agent === undefined
        ? undefined
        : await addAgent({
            ...{ target: agent, variable: values["token-env"], directory, signal },
            path: join(folder, configFileName),
            text: configText ?? "{}",
          });
    writeFresh(run, folder, { [configFileName]: added?.text ?? configText ?? "", ...fresh });
    if (ignorePaths(folder, ignoredPaths(aws))) print(`  ${ignoreFile}`);
    if (packageChange.added.length > 0) {
      writeFileSync(join(folder, packageFile), packageChange.text);
      print(`  ${packageFile} (${packageChange.added.join("; ")})`);
    }
    for (const name of packageChange.taken)
      print(`${packageFile} keeps its own script "${name}". Use ${commandOf(name)}.`);
    if (added !== undefined) print(`Agent ${added.name}: ${added.seen}.`);
    if (isOnThisMachine && aws)
      print(
        "The configuration has no stages, because AWS cannot reach an address on this machine.",
      );
    const cd = folder === directory ? [] : [`cd ${folderName}`];
    const name = hasAgentFile ? "dev" : "start";
    const isTaken = packageChange.taken.includes(name);
    const tryIt = isTaken ? commandOf(name) : `npm ${name === "start" ? "" : "run "}${name}`;
    print(`
Next:
  1. Try the agent on this machine:   ${[...cd, ...missingPackages(folder), tryIt].join(" && ")}
  2. Make the Slack app:              ${sekisho} manifest --socket --open
  ${aws ? `3. Deploy to AWS:                   ${deployCommand}` : `To deploy to AWS later:             ${sekisho} init --aws`}`);
    if (aws) print(`\n${isOnThisMachine ? localAgentText : accountText("step 3")}`);
    return exitCodes.success;
  },
});

/** The command of a script, for a terminal. */
function commandOf(name: string): string {
  return `${projectScripts[name]}`.replace("sekisho", sekisho);
}

const deployCommand = `npm install --save-exact --save-dev ${cdkPackages} && npx cdk deploy --all -c stage=dev`;
const localAgentText = `Before step 3, give the agent an address that AWS reaches, add the stages to ${configFileName} (docs/how-to/deploy.md), and run ${sekisho} config check.`;

function accountText(step: string): string {
  return `Before ${step}, write your AWS account into the stages of ${configFileName}, and run ${sekisho} config check.`;
}

type AwsAddition = { run: CommandRun; folder: string; account: string; region: string };

/** Adds what a deploy needs to a project. Throws before it writes if a file is there already, or the configuration would be invalid. */
function addAws({ run, folder, ...aws }: AwsAddition): void {
  const fresh = awsFiles(aws);
  refuseToReplace(folder, Object.keys(fresh));
  const path = join(folder, configFileName);
  const text = readTextFile(path);
  parseConfig({ json: parseJsonFile(text, configFileName), name: path });
  const hasStages = Object.hasOwn(JSON.parse(text), "stages");
  const newText = hasStages ? text : setMember(text, ["stages"], createStages(aws));
  parseConfig({ json: JSON.parse(newText), name: `${path} with the stages` });
  writeFresh(run, folder, fresh);
  if (ignorePaths(folder, ignoredPaths(aws))) run.print(`  ${ignoreFile}`);
  if (hasStages) return;
  writeFileSync(path, newText);
  run.print(`  ${configFileName} (stages)`);
}

function refuseToReplace(folder: string, paths: readonly string[]): void {
  const present = paths.filter((path) => existsSync(join(folder, path)));
  if (present.length === 0) return;
  throw new UsageError(
    `Nothing is written, because ${present.join(", ")} would be replaced. Choose another FOLDER.`,
  );
}

function writeFresh({ print }: CommandRun, folder: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { flag: "wx" });
    print(`  ${path}`);
  }
}

/** Adds the lines that `.gitignore` lacks. Returns whether the file was changed. */
function ignorePaths(folder: string, lines: readonly string[]): boolean {
  const file = join(folder, ignoreFile);
  const present = existsSync(file) ? readFileSync(file, "utf8") : "";
  const missing = lines.filter((line) => !present.split(/\r?\n/).includes(line));
  const start = present === "" || present.endsWith("\n") ? present : `${present}\n`;
  if (missing.length > 0) writeFileSync(file, `${start}${missing.join("\n")}\n`);
  return missing.length > 0;
}

/** Throws a UsageError if the package is CommonJS. */
function planPackage(folder: string, { hasAgentFile }: { hasAgentFile: boolean }): PackageChange {
  const file = join(folder, packageFile);
  const text = existsSync(file) ? readTextFile(file) : '{\n  "private": true\n}\n';
  if (Object(parseJsonFile(text, packageFile)).type === "commonjs") {
    const remedy = "Run npm pkg set type=module there, or choose another FOLDER.";
    throw new UsageError(
      `Nothing is written, because package.json says "type": "commonjs". ${remedy}`,
    );
  }
  const scripts = Object.entries(projectScripts).filter(([name]) => hasAgentFile || name !== "dev");
  return changePackage(text, Object.fromEntries(scripts));
}

function parseJsonFile(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`Nothing is written, because ${name} is no valid JSON.`, { cause });
  }
}

/** The command that installs what the project lacks. The agent file imports the second package, which the command line does not bring along. */
function missingPackages(folder: string): string[] {
  const missing = [packageName, "@sekisho/execution"].filter(
    (name) => !existsSync(join(folder, "node_modules", name)),
  );
  return missing.length === 0 ? [] : [`npm install ${missing.join(" ")}`];
}
