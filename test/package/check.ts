/**
 * `npm run package:check`: packs the package, installs it into an empty folder, and uses it as people do: the command line, an agent
 * file, a server and a CDK app of their own. Two linters of packages look at it too. Needs the registry.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageName } from "../../lib/cli/package-name.ts";
import { writePackage } from "../../lib/cli/release/package.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "sekisho-package-"));
const project = join(folder, "project");
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

function run(command: string, args: readonly string[], cwd = project): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function install(...packages: string[]): void {
  run("npm", [
    "install",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--ignore-scripts",
    ...packages,
  ]);
}

function expectText(text: string, expected: string): void {
  if (!text.includes(expected))
    throw new Error(`${JSON.stringify(expected)} is missing in:\n${text}`);
}

async function step(what: string, action: () => void | Promise<void>): Promise<void> {
  await action();
  process.stdout.write(`ok  ${what}\n`);
}

try {
  await step("it is packed, and the linters of packages find nothing", () => {
    writePackage(join(folder, "package"));
    run("npm", ["pack", "--silent", "--pack-destination", folder, join(folder, "package")], folder);
    const bin = (name: string) => join(root, "node_modules/.bin", name);
    run(bin("publint"), ["run", join(folder, "package"), "--strict"], root);
    // Node 22 and newer load ES modules by `require` too.
    run(bin("attw"), ["--profile", "esm-only", tarball()], root);
  });
  await step("it is installed into an empty folder, without any tool for tests", () => {
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    install(tarball());
    const installed = readdirSync(join(project, "node_modules"));
    const strangers = [
      "jest",
      "typescript",
      "esbuild",
      "aws-cdk-lib",
      "express",
      "playwright-core",
      "fast-check",
    ];
    const found = strangers.filter((name) => installed.includes(name));
    if (found.length > 0) throw new Error(`It brings along ${found.join(", ")}.`);
  });
  await step("a new project has its files", () => {
    expectText(run("npx", ["--no-install", "sekisho", "init"]), "npx --no-install sekisho start");
    cpSync(join(import.meta.dirname, "project/server.ts"), join(project, "server.ts"));
  });
  await step("the command line starts an Execution zone, and a task is answered", async () => {
    const zone = spawn(
      "npx",
      ["--no-install", "sekisho", "execution", "--agent", "agent.ts", "--port", "0"],
      {
        cwd: project,
        detached: true,
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    try {
      const [first] = await once(zone.stdout, "data");
      const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(String(first)) ?? [];
      const config = {
        destinations: { here: { transport: "https", url: `${url}/` } },
        routes: [{ destination: "here" }],
      };
      writeFileSync(join(project, "here.json"), JSON.stringify(config));
      const answer = run("npx", [
        "--no-install",
        "sekisho",
        "send",
        "hello",
        "--config",
        "here.json",
      ]);
      expectText(answer, "You wrote: hello");
    } finally {
      if (zone.pid !== undefined) process.kill(-zone.pid, "SIGTERM");
      await once(zone, "close");
    }
  });
  await step("both zones start", async () => {
    const both = spawn("npx", ["--no-install", "sekisho", "start"], {
      cwd: project,
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" },
    });
    try {
      let said = "";
      for await (const chunk of both.stdout) {
        said += chunk;
        if (said.includes("Local page:")) break;
      }
      expectText(said, "Local page:");
    } finally {
      if (both.pid !== undefined) process.kill(-both.pid, "SIGTERM");
      await once(both, "exit");
    }
  });
  await step("a server of one's own serves the Execution zone, which keeps the contract", () => {
    expectText(run("node", ["server.ts"]), "kept");
  });
  await step(
    "an agent file and a CDK app have the right types, and the app is synthesized without a bundler",
    () => {
      const versions = ["aws-cdk", "aws-cdk-lib", "constructs", "typescript", "@types/node"].map(
        (name) => `${name}@${devDependencies[name]}`,
      );
      install("--save-dev", ...versions);
      run("npx", ["--no-install", "tsc", "-p", "."]);
      const config = JSON.parse(readFileSync(join(project, "sekisho.config.json"), "utf8"));
      const write = (execution: object) =>
        writeFileSync(
          join(project, "sekisho.config.json"),
          JSON.stringify({ ...config, execution }),
        );
      const synthesize = (stage: string) =>
        run("npx", ["--no-install", "cdk", "synth", "--quiet", "-c", `stage=${stage}`]);
      write({ agent: "echo" });
      synthesize("prod");
      expectText(
        readFileSync(join(project, "cdk.out/Verification.template.json"), "utf8"),
        "AWS::Lambda::Function",
      );
      write(config.execution);
      install("--save-dev", `esbuild@${devDependencies.esbuild}`);
      synthesize("dev");
    },
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function tarball(): string {
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error(`There is no packed ${packageName}.`);
  return join(folder, name);
}
