/** The CDK apps of docs/how-to/deploy.md and docs/reference/cdk.md are synthesized, and docs/reference/cdk.md lists the outputs. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { executionOutputs, verificationOutputs } from "@sekisho/cdk/names.ts";
import { awsFiles } from "@sekisho/sekisho/init/files.ts";
import { hangMs } from "../tooling/hang.ts";
import { blocksIn, root, sectionOf, tablesIn, textOf } from "./pages.ts";

const example = "examples/two-accounts.config.json";
const [page, reference] = [textOf("docs/how-to/deploy.md"), textOf("docs/reference/cdk.md")];
const blocks = [...blocksIn(page, "ts"), ...blocksIn(reference, "ts")];
const [several = ""] = blocks.filter((code) => code.includes("new Stage("));
const apps = blocks.filter((code) => code.includes("new App") && code !== several);
/** What goes on with the app for stacks of one's own. */
const isAddition = (code: string) => /verificationZone\.|executionZone\./.test(code);
const additions = [
  ...blocksIn(textOf("docs/how-to/agent.md"), "ts"),
  ...blocksIn(reference, "ts"),
].filter((code) => isAddition(code) && !apps.includes(code));

/** Runs the app like `cdk synth`, with the whole example in place of the reader's configuration. */
function synthesize(code: string, out: string) {
  const { PATH = "" } = process.env;
  const env = { PATH, CDK_OUTDIR: out, CDK_CONTEXT_JSON: JSON.stringify({ stage: "dev" }) };
  const input = code.replace("loadStage({", `loadStage({ config: "${example}",`);
  const args = ["--input-type=module-typescript", "-"];
  return spawnSync(process.execPath, args, {
    cwd: root,
    env,
    input,
    encoding: "utf8",
    timeout: hangMs,
  });
}

describe("a CDK app in the documents", () => {
  it("shows one CDK app with addStage and one with its own stacks", () => {
    expect(apps).toEqual([
      expect.stringContaining("addStage(app,"),
      expect.stringContaining("new VerificationZone("),
    ]);
  });

  it.each(apps)("synthesizes the documented app %# without a warning", (code) => {
    const out = mkdtempSync(join(tmpdir(), "sekisho-documented-app-"));
    try {
      expect(synthesize(code, out)).toMatchObject({ status: 0, stderr: "" });
      for (const zone of ["Identity", "Execution", "Verification"]) {
        expect(readFileSync(join(out, `${zone}.template.json`), "utf8")).toContain(
          "AWS::IAM::Role",
        );
        expect(readFileSync(join(out, `${zone}.metadata.json`), "utf8")).not.toContain(
          "aws:cdk:warning",
        );
      }
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  });

  it("synthesizes one app with the documented permissions, alarms and usage records", () => {
    expect(additions).toHaveLength(3);
    const [, own = ""] = apps;
    const out = mkdtempSync(join(tmpdir(), "sekisho-documented-app-"));
    try {
      const code = [own, ...additions].join("\n").replace("YOUR_DOCUMENTS", "documents");
      expect(synthesize(code, out)).toMatchObject({ status: 0, stderr: "" });
      const template = (zone: string) => readFileSync(join(out, `${zone}.template.json`), "utf8");
      expect(template("Execution")).toContain("s3:GetObject");
      expect(template("Execution")).toContain(":secret:my/token-??????");
      expect(template("Verification")).toContain('"Pager"');
      expect(template("Reports")).toContain("dynamodb:Query");
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  });

  it("synthesizes several stages with the names that the commands look for", () => {
    const out = mkdtempSync(join(tmpdir(), "sekisho-documented-app-"));
    try {
      expect(synthesize(several, out)).toMatchObject({ status: 0, stderr: "" });
      for (const stage of ["dev", "prod"]) {
        const { artifacts } = JSON.parse(
          readFileSync(join(out, `assembly-${stage}/manifest.json`), "utf8"),
        );
        const names = Object.values<{ properties?: { stackName?: string } }>(artifacts).map(
          ({ properties }) => properties?.stackName,
        );
        expect(names).toEqual(
          expect.arrayContaining([`Sekisho-${stage}-Identity`, `Sekisho-${stage}-Verification`]),
        );
      }
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  });
});

it("docs/reference/cdk.md lists every output", () => {
  const [verification = [], execution = []] = tablesIn(sectionOf(reference, "## Outputs"));
  const names = (rows: string[][]) => rows.map(([name = ""]) => name.replaceAll("`", ""));
  expect(names(verification)).toEqual(Object.values(verificationOutputs));
  expect(names(execution)).toEqual(Object.values(executionOutputs));
});

describe("docs/how-to/deploy.md and the project of sekisho init", () => {
  const files = awsFiles({ account: "111111111111", region: "eu-central-1" });

  it("the guide and the project of sekisho init share the same CDK app", () => {
    expect(blocksIn(page, "ts")).toEqual([files["app.ts"]]);
    const { app, context } = JSON.parse(files["cdk.json"] ?? "");
    expect(app).toBe("node app.ts");
    expect(Object.keys(context).filter((flag) => /crossStack/i.test(flag))).toEqual([]);
  });

  it.each(["dev", "prod"])(
    "the guide and the project of sekisho init share the role and environment of GitHub: %s",
    (stage) => {
      const [, job = ""] = files[".github/workflows/deploy.yml"]?.split(`\n  ${stage}:\n`) ?? [];
      expect(job).toMatch(new RegExp(`^ +environment: ${stage}$`, "m"));
      expect(job).toContain(
        `role-to-assume: arn:aws:iam::111111111111:role/deploy-sekisho-${stage}\n`,
      );
      const roles = blocksIn(page, "yaml").flatMap((text) => text.split("Type: AWS::IAM::Role"));
      const role = roles.find((text) => text.includes(`RoleName: deploy-sekisho-${stage}\n`));
      expect(role).toContain(`:sub: repo:YOUR_ORG/YOUR_REPOSITORY:environment:${stage}\n`);
    },
  );
});
