/** The files of a new project, as `sekisho init` writes them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findPartition } from "@sekisho/runtime/aws/partitions.ts";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";
import { packageName } from "../package-name.ts";

/** Nobody's account, to be replaced. */
export const exampleAccount = "111111111111";

/** The account and the region of the stages `dev` and `prod`, both zones in one account. */
type StagePlace = { account: string; region: string };

type ProjectSettings = {
  /** False if another agent is added to the configuration. */
  hasAgentFile: boolean;
  /** Undefined without stages. */
  stages: StagePlace | undefined;
};

/** The scripts of a project. Only an agent file can be watched. */
export const projectScripts: Readonly<Record<string, string>> = {
  start: "sekisho start",
  dev: "sekisho start --watch",
  doctor: "sekisho doctor",
};

/** Returns the text of each file by its path in the new project. */
export function projectFiles(settings: ProjectSettings): Record<string, string> {
  return {
    "sekisho.config.json": formatJson(createConfig(settings)),
    ...(settings.hasAgentFile && { "agent.ts": agentFile }),
    ".env.example": environmentFile,
  };
}

/** Returns the text of each further file that a deploy to AWS needs. */
export function awsFiles(place: StagePlace): Record<string, string> {
  return {
    "app.ts": appFile,
    "cdk.json": formatJson({ app: "node app.ts", output: "cdk.out", context: readCdkContext() }),
    "tsconfig.json": formatJson(typescriptSettings),
    ".github/workflows/deploy.yml": createWorkflow(place),
  };
}

/** The lines of `.gitignore`. */
export function ignoredPaths(aws: StagePlace | undefined): string[] {
  return ["node_modules/", ".env", ".sekisho/", ...(aws ? ["cdk.out/"] : [])];
}

function formatJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function createConfig({ hasAgentFile, stages }: ProjectSettings): object {
  return {
    $schema: `./node_modules/${packageName}/sekisho.config.schema.json`,
    allowlist: [],
    ...(hasAgentFile && {
      destinations: { home: { transport: "https" } },
      routes: [{ destination: "home" }],
      execution: { agent: "./agent.ts" },
    }),
    ...(stages && { stages: createStages(stages) }),
  };
}

export function createStages(verification: StagePlace): object {
  return {
    dev: { verification, execution: { kind: "lambda" } },
    prod: { verification, execution: { kind: "lambda" }, production: true },
  };
}

/** CDK's feature flags, with which the templates are tested. */
function readCdkContext(): object {
  return JSON.parse(readFileSync(join(projectDirectory, "cdk.json"), "utf8")).context;
}

const agentFile = lines(
  'import { defineAgent } from "@sekisho/execution/agent";',
  "",
  "export const agent = defineAgent(async function* (task, { signal }) {",
  "  signal.throwIfAborted(); // The task was canceled, or ran out of time.",
  '  yield { type: "progress", text: "Reading", percent: 10 };',
  `  yield { type: "answer", text: \`You wrote: \${task.text}\` };`,
  "});",
);

const appFile = lines(
  'import { addStage, loadStage } from "@sekisho/cdk";',
  'import { App } from "aws-cdk-lib";',
  "",
  "const app = new App();",
  'addStage(app, loadStage({ stage: app.node.tryGetContext("stage") }));',
);

function lines(...texts: readonly string[]): string {
  return `${texts.join("\n")}\n`;
}

const typescriptSettings = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    types: ["node"],
  },
  include: ["*.ts"],
};

const environmentFile = `# Copy this file to .env, which the commands on this machine read. Nothing that is deployed reads it, and git ignores it.
# For the real Slack over Socket Mode. Both tokens are on the page of your app: https://api.slack.com/apps
SLACK_APP_TOKEN=
SLACK_BOT_TOKEN=
`;

/** The actions are pinned by commit, because a tag can be moved. */
const actions = {
  checkout: "actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2",
  node: "actions/setup-node@53b83947a5a98c8d113130e565377fae1a50d02f # v6.3.0",
  credentials:
    "aws-actions/configure-aws-credentials@e6de054238d6b7531b4efff3b6587d9aade6a06c # v6.2.3",
};

function createWorkflow({ account, region }: StagePlace): string {
  const setUp = `      - uses: ${actions.checkout}
        with: { persist-credentials: false }
      - uses: ${actions.node}
        with: { node-version: "24" }
      - run: npm ci`;
  const deploy = (stage: string) => `    concurrency: deploy-${stage}
    permissions: { contents: read, id-token: write }
    runs-on: ubuntu-latest
    steps:
${setUp}
      - uses: ${actions.credentials}
        with:
          role-to-assume: arn:${findPartition(region).name}:iam::${account}:role/deploy-sekisho-${stage}
          aws-region: ${region}
      - run: npx --no-install cdk deploy --all --require-approval never -c stage=${stage}`;
  return `# Checks each pull request. Deploys main to dev, and to prod after an approval.
# Before the first run, make the role of each stage, which trusts this repository (GitHub's OIDC provider, no stored key). In
# the settings of the repository, make the environments dev and prod, and give prod its required reviewers. The page "Deploy to
# AWS" has both roles (Deploy from CI). If Sekisho is installed from a file, commit the file, so that npm ci finds it.
name: deploy
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
${setUp}
      - run: npx --no-install tsc
      - run: npx --no-install sekisho config check
      - run: npx --no-install cdk synth --quiet -c stage=dev
      - run: npx --no-install cdk synth --quiet -c stage=prod
  dev:
    needs: check
    if: github.ref == 'refs/heads/main' && github.event_name == 'push'
    environment: dev
${deploy("dev")}
  prod:
    needs: dev
    environment: prod
${deploy("prod")}
`;
}
