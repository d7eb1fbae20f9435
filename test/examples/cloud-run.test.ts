import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { commandHere } from "../cli/aws/command-here.ts";
import { type JwksIssuer, startJwksIssuer } from "../doubles/issuers/jwks.ts";
import { endWithUs } from "../tooling/reaper.ts";

const root = resolve(import.meta.dirname, "../..");
const example = JSON.parse(
  readFileSync(join(root, "examples/execute-elsewhere/cloud-run/sekisho.config.json"), "utf8"),
);
const { audience, roles, issuer: placeholder } = example.execution.authenticator;
const [role = ""] = roles as string[];
const [startWord = ""] = JSON.parse(
  /^CMD (\[.*\])$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8"))?.[1] ?? "[]",
);

describe("our own host with the example's configuration in its image", () => {
  let issuer: JwksIssuer;
  let folder: string;
  let child: ChildProcess;
  let url = "";

  beforeAll(async () => {
    issuer = await startJwksIssuer({ alg: "RS256" });
    folder = mkdtempSync(join(tmpdir(), "sekisho-cloud-run-"));
    const authenticator = { ...example.execution.authenticator, issuer: issuer.issuer };
    const execution = { ...example.execution, authenticator };
    writeFileSync(join(folder, "config.json"), JSON.stringify({ ...example, execution }));
    const words = [
      "execution",
      "bundle",
      "--config",
      join(folder, "config.json"),
      "--out",
      join(folder, "app"),
    ];
    expect(await commandHere(words, {})).toMatchObject({ code: 0 });
    child = spawn(process.execPath, [join(folder, startWord)], {
      cwd: folder,
      env: { PORT: "0", SEKISHO_HOSTNAME: "127.0.0.1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    endWithUs(child);
    url = await listening(child);
  });
  afterAll(async () => {
    child.kill("SIGKILL");
    await issuer.close();
    rmSync(folder, { recursive: true });
  });

  /** As AWS STS issues them to a role. */
  function tokenOf(subject: string): Promise<string> {
    const [, , , , account] = subject.split(":");
    return issuer.sign({
      aud: audience,
      sub: subject,
      "https://sts.amazonaws.com/": { aws_account: account },
    });
  }

  it("fulfills the contract for tokens of the Verification role", async () => {
    const env = { TOKEN: await tokenOf(role) };
    const words = [
      "conformance",
      url,
      "--budget",
      "3600",
      "--auth",
      "bearer:TOKEN",
      "--slow-text",
      "slow 300ms",
      "--json",
    ];
    const { code, stdout } = await commandHere(words, env);
    const { cases } = JSON.parse(stdout) as { cases: { outcome: string }[] };
    expect(cases.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(cases.filter(({ outcome }) => outcome === "passed").length).toBeGreaterThan(30);
    expect(code).toBe(0);
  });

  it("refuses a token of another role", async () => {
    const env = { TOKEN: await tokenOf(`${role}-of-others`) };
    const { code, stderr } = await commandHere(["conformance", url, "--auth", "bearer:TOKEN"], env);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("403") });
  });

  it("trusts nobody until the issuer of an account replaces the placeholder", () => {
    expect(placeholder).toMatch(/^https:\/\/[0-]+\.tokens\.sts\.global\.api\.aws$/);
  });
});

async function listening(child: ChildProcess): Promise<string> {
  let output = "";
  child.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  for (;;) {
    const { address } = JSON.parse(/.*server_listens.*/.exec(output)?.[0] ?? "{}") as {
      address?: string;
    };
    if (address !== undefined) return address;
    if (child.exitCode !== null) throw new Error(`It ended: ${output}`);
    await new Promise((passed) => setTimeout(passed, 10));
  }
}
