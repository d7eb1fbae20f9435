/** The bundled file: it runs in an empty folder, with Node alone. */
import { spawn } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { bundleConformance } from "../../bin/release/bundle-conformance.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { afterTest, folderOfFile } from "../tooling/cleanup.ts";
import { createHonestHost, otherToken, serveHost, token } from "./honest-endpoint.ts";

const folder = folderOfFile();
const file = "sekisho-conformance.cjs";
beforeAll(() => bundleConformance(join(folder, file)));

type Ended = { code: number | null; stdout: string; stderr: string };

/** The environment holds the tokens alone. */
async function bundled(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return run([file, ...args], env, folder);
}

async function run(args: string[], env: Record<string, string>, cwd: string): Promise<Ended> {
  const child = spawn(process.execPath, args, { cwd, env });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  }
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  return { code: await promise, ...said };
}

async function serve(): Promise<string> {
  const { url, close } = await startWebServer({ handle: serveHost(createHonestHost()) });
  afterTest(close);
  return url;
}

describe("the entry of the package", () => {
  it("exports checkEndpoint and runConformance", async () => {
    const code = `import { checkEndpoint, runConformance } from "@sekisho/conformance";
      const { unreachable } = await checkEndpoint({ url: new URL("http://127.0.0.1:1/") });
      console.log(typeof runConformance, unreachable);`;
    const args = ["--input-type=module", "--eval", code];
    const result = await run(args, {}, join(__dirname, "../.."));
    expect(result).toMatchObject({
      code: 0,
      stdout: "function It cannot be reached: no connection to it.\n",
    });
  });
});

describe("the bundled conformance run", () => {
  const tokens = { FIRST: token, SECOND: otherToken };
  const quick = ["--slow-text", "slow 3s", "--stream-text", "stream, slow 3s", "--no-second-look"];

  it("bundles the conformance run into one file", () => {
    expect(readdirSync(folder)).toEqual([file]);
  });

  it("names the Node version that it needs, and exits with 2", async () => {
    const old = join(folder, "..", `old-${process.pid}.cjs`);
    writeFileSync(old, 'Object.defineProperty(process.versions, "node", { value: "20.1.0" });');
    afterTest(() => rmSync(old));
    const result = await run(["--require", old, file, "--help"], {}, folder);
    expect(result).toEqual({
      code: 2,
      stdout: "",
      stderr: "This needs Node 22 or newer; this is 20.1.0.\n",
    });
  });

  it("passes a good endpoint, and exits with 0", async () => {
    const auth = ["--auth", "bearer:FIRST", "--other-auth", "bearer:SECOND", "--idempotent"];
    const result = await bundled(
      [await serve(), ...auth, ...quick, "--level", "strict", "--json"],
      tokens,
    );
    const { kept, cases } = JSON.parse(result.stdout);
    const unusual = cases.filter(({ outcome }: { outcome: string }) => outcome !== "passed");
    expect(
      unusual.filter(({ name }: { name: string }) => !name.startsWith("second-look/")),
    ).toEqual([]);
    expect({ ...result, stdout: "" }).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(kept).toBe(true);
  });

  it("exits with 3 if the credentials are refused or nothing listens", async () => {
    expect(await bundled([await serve()])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("refuses the credentials"),
    });
    expect(await bundled(["http://127.0.0.1:1/"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("no connection"),
    });
  });

  it.each([
    [[], "Give one URL"],
    [["http://agents.sekisho.invalid/"], "The URL must be https"],
    [["https://agents.sekisho.invalid/"], "--auth none is for loopback only"],
    [["https://agents.sekisho.invalid/", "--auth", "bearer:NOT_SET"], "NOT_SET is not set"],
    [
      ["https://agents.sekisho.invalid/", "--auth", "the-token-itself"],
      "--auth is written none, or bearer:ENV_NAME.",
    ],
    [["http://127.0.0.1:1/", "--level", "lax"], '--level: "lax" is none of required, strict'],
    [["http://127.0.0.1:1/", "--dialect", "klingon"], "--dialect: "],
    [["http://127.0.0.1:1/", "--nonsense"], "--nonsense"],
  ])("exits with 2 for the arguments %j", async (args, text) => {
    const result = await bundled(args);
    expect(result).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(text) });
    expect(result.stderr).not.toContain("the-token-itself");
  });
});
