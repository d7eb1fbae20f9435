/** `sekisho init` writes a project that works, and never replaces a file. */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { packageName } from "@sekisho/sekisho/package-name.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { commandsInFolder } from "./commands-in-folder.ts";

const { folder, run } = commandsInFolder();
const project = join(folder, "project");
const configFile = "sekisho.config.json";
const readValue = (path: string) => readFileSync(join(project, path), "utf8");

beforeEach(() => {
  rmSync(project, { recursive: true, force: true });
  mkdirSync(join(project, "node_modules"), { recursive: true });
  const packages = resolve(import.meta.dirname, "../../node_modules/@sekisho");
  symlinkSync(packages, join(project, "node_modules/@sekisho"));
});

describe("sekisho init", () => {
  it("writes a project whose agent answers, and names the next commands", async () => {
    const result = await run(["init"], {}, project);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toMatch(/1\. .* npm run dev\n.*2\. .*manifest --socket --open\n/);
    const ownFiles = [".env.example", ".gitignore", "agent.ts", "package.json", configFile];
    expect(readdirSync(project).filter((name) => name !== "node_modules")).toEqual(ownFiles);
    expect(JSON.parse(readValue("package.json"))).toEqual({
      private: true,
      type: "module",
      scripts: { start: "sekisho start", dev: "sekisho start --watch", doctor: "sekisho doctor" },
    });
    expect(await run(["config", "check"], {}, project)).toMatchObject({ code: 0 });
    const env = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
    const answered = await run(["start", "--once", "hello"], env, project);
    expect(answered).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("You wrote: hello"),
      stderr: "",
    });
  });

  it("adds the files of a deploy and the stages to a project, and leaves the others alone", async () => {
    await run(["init"], {}, project);
    const config = { ...JSON.parse(readValue(configFile)), allowlist: [{ team: "T012AB3CD" }] };
    writeFileSync(join(project, configFile), JSON.stringify(config));
    writeFileSync(join(project, "agent.ts"), "export const agent = async () => 'mine';");
    const result = await run(["init", "--aws", "--account", "222222222222"], {}, project);
    const { devDependencies } = JSON.parse(
      readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8"),
    );
    for (const name of ["aws-cdk", "aws-cdk-lib"])
      expect(result.stdout).toContain(` ${name}@${devDependencies[name]} `);
    expect(readdirSync(project)).toEqual(
      expect.arrayContaining([".github", "app.ts", "cdk.json", "tsconfig.json"]),
    );
    const { stages, ...others } = JSON.parse(readValue(configFile));
    expect(others).toEqual(config);
    expect(stages.dev.verification.account).toBe("222222222222");
    expect(readValue("agent.ts")).toContain("mine");
    expect(readValue(".gitignore")).toContain("cdk.out/");
    const check = await run(["config", "check"], {}, project);
    expect(check.stdout).toContain("Stage prod");
  });

  it("adds no file of a deploy if no stage could reach the agent", async () => {
    const agent = { type: "http", url: "http://127.0.0.1:9/" };
    const config = JSON.stringify({ execution: { agent } });
    writeFileSync(join(project, configFile), config);
    const result = await run(["init", "--aws"], {}, project);
    expect(result).toMatchObject({ code: 2, stdout: "" });
    expect(readdirSync(project).sort()).toEqual(["node_modules", configFile]);
    expect(readValue(configFile)).toBe(config);
  });

  it("writes a project for an agent that runs elsewhere, without an agent file", async () => {
    const arn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/research-AbCdEf1234";
    const { code, stdout } = await run(["init", "--aws", "--agent", arn], {}, project);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("Agent research: a runtime of AgentCore"),
    });
    expect(readdirSync(project)).not.toContain("agent.ts");
    // Only an agent file can be watched.
    expect(Object.keys(JSON.parse(readValue("package.json")).scripts)).toEqual(["start", "doctor"]);
    expect(JSON.parse(readValue("sekisho.config.json"))).toMatchObject({
      execution: { agents: { research: { type: "http", runtimeArn: arn } } },
    });
    const check = await run(["config", "check"], {}, project);
    expect(check.stdout).toContain("destinations research; routes to research");
  });

  it("writes no stage for an agent on this machine, which then answers", async () => {
    const { url } = closeAfterTest(
      await startWebServer({
        handle: async ({ request, body }) =>
          request.method === "POST"
            ? Response.json({ result: `read ${JSON.parse(Buffer.from(body).toString()).prompt}` })
            : new Response(null, { status: 404 }),
      }),
    );
    const { code, stdout } = await run(["init", "--aws", "--agent", url], {}, project);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("Before step 3, give the agent an address that AWS reaches"),
    });
    expect(JSON.parse(readValue("sekisho.config.json"))).not.toHaveProperty("stages");
    const env = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
    const answered = await run(["start", "--once", "hello"], env, project);
    expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining("read hello") });
  });

  it("writes nothing if the agent is not there", async () => {
    const { code, stderr } = await run(["init", "--agent", "./nowhere.ts"], {}, project);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("no file") });
    expect(readdirSync(project)).toEqual(["node_modules"]);
  });

  it("names the package that the agent imports, if only the command line is installed", async () => {
    rmSync(join(project, "node_modules"), { recursive: true });
    mkdirSync(join(project, "node_modules", packageName), { recursive: true });
    const { stdout } = await run(["init"], {}, project);
    expect(stdout).toContain("machine:   npm install @sekisho/execution && npm run dev");
  });

  it("writes into another folder, with the given account and region", async () => {
    const result = await run([
      "init",
      "project/bot",
      "--aws",
      "--account",
      "222222222222",
      "--region",
      "ap-northeast-1",
    ]);
    expect(result.stdout).toContain(
      `cd project/bot && npm install ${packageName} @sekisho/execution && npm run dev`,
    );
    const { stages } = JSON.parse(readValue("bot/sekisho.config.json"));
    for (const stage of ["dev", "prod"]) {
      expect(stages[stage].verification).toEqual({
        account: "222222222222",
        region: "ap-northeast-1",
      });
    }
    expect(readValue("bot/.github/workflows/deploy.yml")).toContain(
      "arn:aws:iam::222222222222:role/deploy-sekisho-prod",
    );
    // With the credentials of a deploy, npx must run what npm ci installed, and fetch nothing.
    expect(readValue("bot/.github/workflows/deploy.yml")).not.toMatch(/npx (?!--no-install)/);
  });

  it("writes ARNs of the partition of the region, and refuses an invalid region", async () => {
    await run(["init", "--aws", "--region", "eusc-de-east-1"], {}, project);
    expect(readValue(".github/workflows/deploy.yml")).toContain(
      "arn:aws-eusc:iam::111111111111:role/deploy-sekisho-dev",
    );
    expect(await run(["init", "project/bot", "--aws", "--region", "europe"])).toMatchObject({
      code: 2,
      stdout: "",
    });
  });

  it("adds only missing entries to .gitignore and package.json", async () => {
    writeFileSync(join(project, ".gitignore"), "dist/\nnode_modules/");
    const manifest = {
      name: "bot",
      scripts: { start: "vite", lint: "biome check" },
      dependencies: { a: "1.0.0" },
    };
    const text = JSON.stringify(manifest, null, 4);
    writeFileSync(join(project, "package.json"), text);
    const { stdout } = await run(["init"], {}, project);
    expect(readValue(".gitignore")).toBe("dist/\nnode_modules/\n.env\n.sekisho/\n");
    expect(JSON.parse(readValue("package.json"))).toEqual({
      ...manifest,
      type: "module",
      scripts: { ...manifest.scripts, dev: "sekisho start --watch", doctor: "sekisho doctor" },
    });
    expect(readValue("package.json")).toContain('\n    "name": "bot",\n');
    expect(stdout).toContain('keeps its own script "start"');
  });

  it.each([
    [
      "asks for CommonJS, because the agent would not load",
      '{ "type": "commonjs" }',
      "type=module",
    ],
    ["is broken", '{ "name": ', "package.json"],
  ])("writes nothing if package.json %s", async (_case, manifest, text) => {
    writeFileSync(join(project, "package.json"), manifest);
    const stderr = expect.stringContaining(text);
    expect(await run(["init"], {}, project)).toMatchObject({ code: 2, stdout: "", stderr });
    expect(readdirSync(project).sort()).toEqual(["node_modules", "package.json"]);
  });

  it("writes nothing if a file exists already", async () => {
    writeFileSync(join(project, "agent.ts"), "// mine");
    const result = await run(["init"], {}, project);
    expect(result).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("because agent.ts would be replaced"),
    });
    expect(readdirSync(project).sort()).toEqual(["agent.ts", "node_modules"]);
    expect(readValue("agent.ts")).toBe("// mine");
  });

  it.each([
    [["a", "b"], "Give one FOLDER"],
    [["--aws", "--account", "1234"], "is not 12 digits"],
    [["--aws", "--region", "Frankfurt"], "is not an AWS region"],
    [["--region", "eu-central-1"], "go with --aws"],
  ])("refuses the arguments %j", async (args, text) => {
    expect(await run(["init", ...args], {}, project)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(text),
    });
    expect(readdirSync(project)).toEqual(["node_modules"]);
  });
});
