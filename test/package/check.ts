/**
 * `npm run package:check`: packs the packages, installs each into an empty folder, and uses it as people do: the contract, an Execution zone
 * without AWS, the conformance run, a CDK app, and the command line with all of them. Two linters of packages look at them too. Needs the
 * registry.
 */
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
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
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { packFolder, writePackages } from "../../bin/release/package.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "sekisho-package-"));
const project = join(folder, "project");
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const tarballs = new Map<string, string>();

function run(command: string, args: readonly string[], cwd = project): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function install(where: string, ...packages: string[]): void {
  const flags = ["--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
  run("npm", ["install", ...flags, ...packages], where);
}

/** Installs the tarballs of these packages into an empty folder. */
function installAlone(...names: string[]): string {
  const where = join(folder, `alone-${names.at(-1)}`);
  mkdirSync(where);
  writeFileSync(join(where, "package.json"), JSON.stringify({ private: true, type: "module" }));
  install(where, ...names.map(tarball));
  return where;
}

function tarball(name: string): string {
  const file = tarballs.get(name);
  if (file === undefined) throw new Error(`There is no packed ${name}.`);
  return file;
}

function expectText(text: string, expected: string): void {
  if (!text.includes(expected))
    throw new Error(`${JSON.stringify(expected)} is missing in:\n${text}`);
}

/** Rejects if the process ends before it prints. */
async function readLine(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  const end = once(child, "close").then(() => {
    throw new Error("The process ended without a line.");
  });
  const [line] = await Promise.race([once(child.stdout, "data"), end]);
  return String(line);
}

async function step(what: string, action: () => void | Promise<void>): Promise<void> {
  await action();
  process.stdout.write(`ok  ${what}\n`);
}

/** Serves the Execution zone of the package, prints its address, and says what fails without AWS. */
const serverFile = `import { createExecutionZone, createFunctionUrlHandler } from "@sekisho/execution";
import { defineAgent } from "@sekisho/execution/agent";
const agent = defineAgent(async function* (task) {
  yield { type: "answer", text: "You wrote: " + task.text };
});
const zone = createExecutionZone({ agent, tokens: "none", logLevel: "error" });
const { url } = await zone.listen({ port: 0 });
const refusal = await createFunctionUrlHandler({ config: {} }).catch((error) => error.message);
console.log(url, refusal);
`;

try {
  await step("each is packed, and the linters of packages find nothing", () => {
    const bin = (name: string) => join(root, "node_modules/.bin", name);
    for (const packageFolder of writePackages(join(folder, "packages"))) {
      const name = basename(packageFolder);
      tarballs.set(name, join(folder, packFolder(packageFolder, folder)));
      run(bin("publint"), ["run", packageFolder, "--strict"], root);
      // Node 22 and newer load ES modules by `require` too. A command line alone has no types.
      if (name !== "sekisho") run(bin("attw"), ["--profile", "esm-only", tarball(name)], root);
    }
  });
  await step("the contract alone encodes and decodes an error", () => {
    const where = installAlone("contracts");
    const code = `import { decodeError, encodeError, SekishoError } from "@sekisho/contracts";
const error = encodeError({ error: new SekishoError("unauthenticated"), dialect: "zone" });
console.log(JSON.stringify(error), decodeError({ error, dialect: "zone" }) instanceof SekishoError);`;
    expectText(
      run("node", ["--input-type=module", "-e", code], where),
      '"reason":"unauthenticated"',
    );
  });
  await step("the Execution zone is served without AWS, and keeps the contract", async () => {
    const where = installAlone("contracts", "execution");
    writeFileSync(join(where, "server.js"), serverFile);
    const installed = readdirSync(join(where, "node_modules"));
    if (installed.includes("@aws-sdk")) throw new Error("The Execution zone brings AWS along.");
    const zone = spawn("node", ["server.js"], { cwd: where, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const line = await readLine(zone);
      expectText(line, "is not installed. Run npm install @");
      const [url = ""] = line.split(" ");
      const report = run(
        "npx",
        ["--no-install", "sekisho-conformance", url, "--failures"],
        installAlone("contracts", "conformance"),
      );
      expectText(report, "0 failed");
    } finally {
      zone.kill();
      await once(zone, "close");
    }
  });
  await step(
    "the command line is installed into an empty folder, without any tool for tests",
    () => {
      mkdirSync(project);
      writeFileSync(
        join(project, "package.json"),
        JSON.stringify({ private: true, type: "module" }),
      );
      install(project, ...["contracts", "sekisho"].map(tarball));
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
    },
  );
  await step("a new project has its files", () => {
    expectText(run("npx", ["--no-install", "sekisho", "init", "--aws"]), "npm run dev");
    install(project, ...["execution", "conformance"].map(tarball));
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
      const first = await readLine(zone);
      const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(first) ?? [];
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
    const both = spawn("npm", ["start"], {
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
      install(project, "--save-dev", ...versions, tarball("cdk"));
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
      install(project, "--save-dev", `esbuild@${devDependencies.esbuild}`);
      synthesize("dev");
    },
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
