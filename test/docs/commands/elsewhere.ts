/** Commands that need an account of a cloud, a daemon or a release. They are not run; their programs, options and files are checked. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { hangMs } from "../../tooling/hang.ts";
import { documentedCommands, root } from "./documented.ts";
import type { LookEntry } from "./entry.ts";
import { lookAtInline } from "./inline.ts";
import { lookAtProgram } from "./known-programs.ts";
import { parseCommand, type ShellCommand } from "./shell-line.ts";

const noGoogle = "it changes a project of Google Cloud, with somebody's credentials";
const lookAtAll = (parts: ShellCommand[]) => parts.forEach(lookAtProgram);

function lookAtBuild(parts: ShellCommand[]): void {
  lookAtAll(parts);
  const args = parts[0]?.args ?? [];
  const given = args.flatMap((word, at) =>
    args[at - 1] === "--build-arg" ? [word.replace(/=.*/, "")] : [],
  );
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  expect(given.filter((name) => !new RegExp(`^ARG ${name}\\b`, "m").test(dockerfile))).toEqual([]);
  expect(args.at(-1)).toBe(".");
}

/** Checks that the volume and the port are the image's, and that the page's configuration names the variable. */
function lookAtRun(parts: ShellCommand[]): void {
  lookAtAll(parts);
  const args = parts[0]?.args ?? [];
  const wordAfter = (option: string) => args[args.indexOf(option) + 1] ?? "";
  const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
  expect(dockerfile).toContain(`VOLUME ["${wordAfter("-v").split(":")[1]}"]`);
  expect(dockerfile).toContain(`EXPOSE ${wordAfter("-p").split(":").at(-1)}`);
  const page = readFileSync(join(root, "docs/how-to/release.md"), "utf8");
  expect(page).toContain(`"tokens": [{ "env": "${wordAfter("-e")}" }]`);
}

/** Checks that the help names the option; `test/cli/release/` runs the command. */
function lookAtRelease([part]: ShellCommand[]): void {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const [node, file = ""] = String(scripts.release).split(" ");
  expect([node, part?.args.slice(0, 4)]).toEqual(["node", ["npm", "run", "release", "--"]]);
  const { stdout } = spawnSync(process.execPath, [file, "--help"], {
    cwd: root,
    encoding: "utf8",
    timeout: hangMs,
  });
  for (const option of part?.args.slice(4).filter((word) => word.startsWith("--")) ?? [])
    expect(stdout).toContain(option);
}

/** Checks that the command's help names each option. */
export function lookAtHelp([part]: ShellCommand[]): void {
  const [program, name = "", ...args] = part?.args ?? [];
  expect(program).toBe("sekisho");
  const entry = join(root, "bin/sekisho.mjs");
  const { stdout } = spawnSync(process.execPath, [entry, name, "--help"], {
    encoding: "utf8",
    timeout: hangMs,
  });
  for (const option of args.filter((word) => word.startsWith("--")))
    expect(stdout).toContain(option);
}

const builds = [
  'docker build --platform linux/amd64 -t "$IMAGE" --build-arg CONFIG=examples/execute-elsewhere/cloud-run/sekisho.config.json .',
  "docker build --build-arg CONFIG=sekisho.config.json -t sekisho-execution .",
  "docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=0.1.0 --build-arg REVISION=$(git rev-parse HEAD) -t sekisho-execution:0.1.0 .",
];

const ofOneTask = ["show 4c2f4fea", "cancel 4c2f4fea --wait", "retry 4c2f4fea"].map(
  (args) => `npx --no-install sekisho tasks ${args} --stage dev`,
);
ofOneTask.push("npx --no-install sekisho trace 4c2f4fea --stage dev");

const releases = ["--check", "--out dist", "--out mine"];

/** Every command that consists of calls of the AWS CLI alone. */
const awsCommands = [...new Set(documentedCommands().map(({ command }) => command))].filter(
  (command) => parseCommand(command).every(({ args: [program] }) => program === "aws"),
);

export const elsewhere: LookEntry[] = [
  ...awsCommands.map((command) => ({
    command,
    because: "it reads or changes an account of AWS",
    look: lookAtAll,
  })),
  {
    command: "openssl rand -hex 32 | tr -d '\\n' | gcloud secrets create agent-token --data-file=-",
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command:
      "gcloud secrets add-iam-policy-binding agent-token --role roles/secretmanager.secretAccessor --member serviceAccount:PROJECT_NUMBER-compute@developer.gserviceaccount.com",
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command:
      "gcloud run deploy agent --source examples/execute-elsewhere/python --region europe-west1 --allow-unauthenticated --set-secrets AGENT_TOKEN=agent-token:latest",
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command:
      "gcloud artifacts repositories create agents --repository-format docker --location europe-west1",
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command: "gcloud auth configure-docker europe-west1-docker.pkg.dev",
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command: "IMAGE=europe-west1-docker.pkg.dev/PROJECT_ID/agents/sekisho-execution",
    because: "it only names what the following commands use",
    look: ([part]) =>
      expect(part).toEqual({ env: { IMAGE: expect.stringMatching(/^[\w./-]+$/) }, args: [] }),
  },
  ...builds.map((command) => ({
    command,
    because:
      "an image needs a daemon and a registry; what the image holds is run by test/examples/cloud-run.test.ts",
    look: lookAtBuild,
  })),
  {
    command:
      "docker run --read-only -e AGENT_TOKEN -v tasks:/data -p 127.0.0.1:8080:8080 sekisho-execution",
    because:
      "an image needs a daemon; what it holds is started by test/cli/release/image/image.test.ts",
    look: lookAtRun,
  },
  {
    command:
      "npx --no-install sekisho doctor --send --stage dev --channel C012AB3CD --user U012AB3CD",
    because: "it needs a stage that runs; test/rehearsal/send.test.ts runs it against one",
    look: lookAtHelp,
  },
  ...ofOneTask.map((command) => ({
    command,
    because:
      "it needs a task of the reader's stage; test/cli/tasks/ and test/cli/trace/ run such commands",
    look: () => lookAtInline(command.replace("npx --no-install ", "")),
  })),
  {
    command: "npx --no-install sekisho operate --stage dev",
    because: "it runs until Ctrl-C; test/local/console/ opens its page",
    look: lookAtHelp,
  },
  { command: 'docker push "$IMAGE"', because: "there is no registry here", look: lookAtAll },
  {
    command:
      'gcloud run deploy sekisho-execution --image "$IMAGE" --region europe-west1 --allow-unauthenticated --no-cpu-throttling --min-instances 1 --max-instances 1',
    because: noGoogle,
    look: lookAtAll,
  },
  {
    command:
      "aws logs filter-log-events --log-group-name GROUP --filter-pattern '{ $.request_id = \"4c2f4fea*\" }' --query 'events[].message' --output text | npx --no-install sekisho trace 4c2f4fea --stage prod --logs -",
    because:
      "there is no CloudWatch here; sekisho trace is run with a file, and by its own tests with a pipe",
    look([logs, trace]) {
      if (logs !== undefined) lookAtProgram(logs);
      expect(trace?.args.slice(0, 2)).toEqual(["sekisho", "trace"]);
    },
  },
  ...releases.map((args) => ({
    command: `npm run release -- ${args}`,
    because: "a release wants a tree without changes, which a tree under test is not",
    look: lookAtRelease,
  })),
  ...["sha256sum -c SHA256SUMS", "git checkout v0.1.0", "cmp mine/SHA256SUMS SHA256SUMS"].map(
    (command) => ({
      command,
      because: "it needs the files, or the tag, of a release",
      look: lookAtAll,
    }),
  ),
];
