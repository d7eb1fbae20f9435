/** The CDK app: the stage that it chooses, its errors, and the real command line of CDK. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { hangMs } from "../tooling/hang.ts";
import { a, configWith, runApp } from "./synth.ts";

const project = join(__dirname, "../..");
const region = "eu-central-1";
const external = { execution: { kind: "external" } };
const nowhere = { destinations: {}, routes: [] };

describe("the CDK app", () => {
  it("explains how to add a first stage, and lists the stages if an unknown one is requested", async () => {
    const none = await runApp({ config: {} });
    expect(none).toMatchObject({ code: 2, errors: expect.stringContaining('"stages": { "dev"') });
    none.remove();
    const other = await runApp({
      config: configWith({ stage: external, ...nowhere }),
      context: { stage: "prod" },
    });
    expect(other).toMatchObject({
      code: 2,
      errors: expect.stringContaining('no stage "prod"; the configuration has: dev'),
    });
    other.remove();
  });

  it("lists the problems of an unusable configuration", async () => {
    const run = await runApp({ config: configWith({ stage: { execution: { kind: "cloud" } } }) });
    expect(run).toMatchObject({ code: 2, errors: expect.stringContaining("stages.dev.execution") });
    run.remove();
  });

  it.each([
    ["is not there", "./no-such-agent.ts", undefined, /no-such-agent.ts does not exist/],
    ["exports no agent", "./agent.ts", "export const other = 1;", /agent/],
  ])("fails with an explanation if the agent's file %s", async (_what, agent, text, message) => {
    const directory = mkdtempSync(join(tmpdir(), "sekisho-agent-"));
    const file = join(directory, "config.json");
    if (text !== undefined) writeFileSync(join(directory, agent), text);
    const config = {
      ...configWith({ stage: { execution: { kind: "lambda" } } }),
      execution: { agent },
    };
    writeFileSync(file, JSON.stringify(config));
    const run = await runApp({ config, context: { config: file } });
    expect(run).toMatchObject({ code: 2, errors: expect.stringMatching(message) });
    run.remove();
    rmSync(directory, { recursive: true });
  });

  it("fails for a template that cdk-nag or the validation of CDK rejects", async () => {
    const child = join(__dirname, "children/bad-stack.ts");
    const failure = await promisify(execFile)(process.execPath, [child], { cwd: project }).catch(
      (error) => error,
    );
    expect(failure.code).not.toBe(0);
    expect(failure.stderr).toContain("AwsSolutions-SQS4");
    expect(failure.stderr).toMatch(/ERROR.*5000|5000[\s\S]*900/);
  });

  it("synthesizes by `npx cdk synth` without docker and an account, and reads the stage from -c", async () => {
    const directory = mkdtempSync(join(tmpdir(), "sekisho-cdk-"));
    const file = join(directory, "config.json");
    const stage = { verification: { account: a, region }, ...external };
    writeFileSync(
      file,
      JSON.stringify({ ...nowhere, stages: { dev: stage, prod: { ...stage, production: true } } }),
    );
    const words = [
      "cdk",
      "synth",
      "--quiet",
      "-c",
      "stage=prod",
      "-c",
      `config=${file}`,
      "--output",
      join(directory, "out"),
    ];
    const env = { PATH: process.env.PATH, HOME: directory };
    await promisify(execFile)("npx", words, { cwd: project, env, timeout: hangMs });
    expect(readdirSync(join(directory, "out"))).toEqual(
      expect.arrayContaining(["Identity.template.json", "Verification.template.json"]),
    );
    rmSync(directory, { recursive: true });
  });
});
