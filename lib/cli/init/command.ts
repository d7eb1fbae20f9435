/** `sekisho init`: writes the files of a new project. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configFileName } from "@sekisho/config/config-error.ts";
import { regionSchema } from "@sekisho/config/values.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { addAgent } from "../agents/add-agent.ts";
import { defineCommand, exitCodes, option, UsageError } from "../command.ts";
import { packageName } from "../package-name.ts";
import { exampleAccount, projectFiles } from "./files.ts";

const ignoreFile = ".gitignore";
/** The command line of CDK and its library have the versions with which the templates are tested. */
const cdkPackages =
  "@sekisho/cdk aws-cdk@2.1148.1 aws-cdk-lib@2.276.0 constructs esbuild typescript @types/node";

const accountText = `Before step 3, write your AWS account into the stages of ${configFileName}, and run ${sekisho} config check.`;
const localAgentText = `Before step 3, give the agent an address that AWS reaches, add the stages to ${configFileName} (docs/how-to/deploy.md), and run ${sekisho} config check.`;

export const init = defineCommand({
  name: "init",
  args: "[FOLDER]",
  about: `
Writes the files of a new project into FOLDER, or into this folder: the configuration, an agent, a CDK app, an example of .env,
and a workflow that deploys from GitHub without a stored key. If one of these files is there already, nothing is written; a
.gitignore or package.json gets what it lacks.`,
  options: {
    account: option(
      "ID",
      `the AWS account of the stages dev and prod (${exampleAccount}, to be replaced)`,
    ),
    region: option("REGION", "the AWS region of the stages (eu-central-1)"),
    agent: option(
      "TARGET",
      "a URL, ARN or FILE, as of sekisho agents add, instead of a new agent.ts",
    ),
    "token-env": option("VARIABLE", "the environment variable with the bearer token that it takes"),
  },
  exits:
    "Exit code: 0 the files are written; 1 they cannot be written; 2 bad usage, or a file is there already.",
  async run({ directory, signal, print, positionals, values }) {
    const { account = exampleAccount, region = "eu-central-1", agent } = values;
    const [folderName = ".", ...more] = positionals;
    if (more.length > 0) throw new UsageError("Give one FOLDER.");
    if (!/^\d{12}$/.test(account))
      throw new UsageError(`--account: "${account}" is not 12 digits.`);
    if (!regionSchema.safeParse(region).success)
      throw new UsageError(`--region: "${region}" is not an AWS region.`);
    const folder = resolve(directory, folderName);
    const isOnThisMachine = isLoopbackHost(URL.parse(agent ?? "")?.hostname ?? "");
    const { [ignoreFile]: ignoreText = "", ...fresh } = projectFiles({
      ...{ account, region, hasAgentFile: agent === undefined, hasStages: !isOnThisMachine },
    });
    const files = Object.entries(fresh);
    const present = files.map(([path]) => path).filter((path) => existsSync(join(folder, path)));
    if (present.length > 0) {
      throw new UsageError(
        `Nothing is written, because ${present.join(", ")} would be replaced. Choose another FOLDER.`,
      );
    }
    const manifest = readManifest(folder);
    if (manifest.type === "commonjs") {
      const remedy = "Run npm pkg set type=module there, or choose another FOLDER.";
      throw new UsageError(
        `Nothing is written, because package.json says "type": "commonjs". ${remedy}`,
      );
    }
    const added =
      agent === undefined
        ? undefined
        : await addAgent({
            ...{ target: agent, variable: values["token-env"], directory, signal },
            path: join(folder, configFileName),
            text: fresh[configFileName] ?? "{}",
          });
    for (const [path, content] of files) {
      const text = path === configFileName && added !== undefined ? added.text : content;
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { flag: "wx" });
      print(`  ${path}`);
    }
    if (ignoreFiles(folder, ignoreText)) print(`  ${ignoreFile}`);
    if (manifest.type === undefined) {
      // Node then reads the files as ES modules without a warning.
      writeFileSync(
        join(folder, "package.json"),
        `${JSON.stringify({ ...manifest, type: "module" }, null, 2)}\n`,
      );
      print('  package.json ("type": "module")');
    }
    if (added !== undefined) print(`Agent ${added.name}: ${added.seen}.`);
    if (isOnThisMachine)
      print(
        "The configuration has no stages, because AWS cannot reach an address on this machine.",
      );
    // The agent file imports the second one, which the command line does not bring along.
    const missing = [packageName, "@sekisho/execution"].filter(
      (name) => !existsSync(join(folder, "node_modules", name)),
    );
    const firstCommands = [
      ...(folder === directory ? [] : [`cd ${folderName}`]),
      ...(missing.length === 0 ? [] : [`npm install ${missing.join(" ")}`]),
    ];
    print(`
Next:
  1. Try the agent on this machine:   ${[...firstCommands, `${sekisho} start --watch`].join(" && ")}
  2. Make the Slack app:              ${sekisho} manifest --socket
  3. Deploy to AWS:                   npm install --save-exact --save-dev ${cdkPackages} && npx cdk deploy --all -c stage=dev

${isOnThisMachine ? localAgentText : accountText}`);
    return exitCodes.success;
  },
});

/** Adds the lines that `.gitignore` lacks. Returns whether the file was changed. */
function ignoreFiles(folder: string, lines: string): boolean {
  const file = join(folder, ignoreFile);
  const present = existsSync(file) ? readFileSync(file, "utf8") : "";
  const missing = lines
    .split("\n")
    .filter((line) => line !== "" && !present.split(/\r?\n/).includes(line));
  const start = present === "" || present.endsWith("\n") ? present : `${present}\n`;
  if (missing.length > 0) writeFileSync(file, `${start}${missing.join("\n")}\n`);
  return missing.length > 0;
}

function readManifest(folder: string): Record<string, unknown> {
  const file = join(folder, "package.json");
  return existsSync(file) ? JSON.parse(readTextFile(file)) : { private: true };
}
