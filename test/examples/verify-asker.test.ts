/** The verifiers of each language over the same vectors. Each runs as the README says. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { listFlips, pickValid } from "../asker/vectors/flips.ts";
import { createVectorFile, type VectorFile } from "../asker/vectors/vectors.ts";
import { issueZoneTokens } from "../asker/zone-tokens.ts";

const folder = resolve(import.meta.dirname, "../../examples/verify-asker");
const built = mkdtempSync(join(tmpdir(), "sekisho-verify-asker-"));
afterAll(() => rmSync(built, { recursive: true }));

const { PATH = "", HOME = "" } = process.env;
/** Nothing can be fetched, so that a package beyond the standard library does not build. */
const env = { PATH, HOME, GOPROXY: "off", GOTOOLCHAIN: "local", PYTHONDONTWRITEBYTECODE: "1" };
const run = (command: string, args: readonly string[], cwd = folder) =>
  spawnSync(command, args, { cwd, env, encoding: "utf8", maxBuffer: 2 ** 26 });

/** Debian has the package for its own Python, which need not be the first one of the path. */
const python = ["python3", "/usr/bin/python3"].find(
  (command) => run(command, ["-c", "import jwt, cryptography"]).status === 0,
);
const goFolder = join(folder, "go");

type Language = {
  name: string;
  /** Why it does not run here. */
  reason?: string | false;
  build?: () => { status: number | null };
  command: readonly [string, ...string[]];
};
const languages: Language[] = [
  { name: "TypeScript", command: [process.execPath, "run-vectors.ts"] },
  {
    name: "Python",
    reason: python === undefined && "no python3 has the packages jwt and cryptography",
    command: [python ?? "", "verify_asker.py"],
  },
  {
    name: "Go",
    reason: run("go", ["version"]).status !== 0 && "there is no go",
    build: () => run("go", ["build", "-o", join(built, "verify"), "."], goFolder),
    command: [join(built, "verify")],
  },
  {
    name: "Java",
    reason: run("javac", ["-version"]).status !== 0 && "there is no javac",
    build: () => run("javac", ["-Xlint:all,-serial", "-Werror", "-d", built, "VerifyAsker.java"]),
    command: ["java", "-XX:TieredStopAtLevel=1", "-cp", built, "VerifyAsker"],
  },
];

// In a run of many files Jest prints the number of skipped tests only.
for (const { name, reason } of languages)
  if (reason) process.stderr.write(`Not run: the verifier in ${name}, because ${reason}\n`);

const vectorFile = createVectorFile();

function runOver(language: Language, name: string, content: VectorFile) {
  const path = join(built, `${name}.json`);
  writeFileSync(path, JSON.stringify(content));
  const [command, ...args] = language.command;
  const { status, stdout, stderr } = run(command, [...args, path]);
  return { status, stderr, lines: stdout.trimEnd().split("\n") };
}

it("keeps the vectors that the script makes: renew them with `npm run vectors`", () => {
  expect(JSON.parse(readFileSync(join(folder, "vectors.json"), "utf8"))).toEqual(vectorFile);
});

describe.each(languages)("the verifier in $name", (language) => {
  const { reason } = language;
  const test = reason ? it.skip : it;
  const suffix = reason ? ` (not run: ${reason})` : "";

  test(`gives the expected verdict for each vector${suffix}`, () => {
    if (language.build !== undefined) expect(language.build()).toMatchObject({ status: 0 });
    const { status, stderr, lines } = runOver(language, "vectors", vectorFile);
    const { vectors } = vectorFile;
    expect(stderr).toBe("");
    expect(lines).toEqual([
      ...vectors.map(({ expected, name }) => `ok ${expected}: ${name}`),
      `${vectors.length} vectors, 0 wrong`,
    ]);
    expect(status).toBe(0);
  });

  test(`accepts tokens of the zone itself${suffix}`, async () => {
    const { status, lines } = runOver(language, "zone", {
      ...vectorFile,
      vectors: await issueZoneTokens(),
    });
    expect(lines.at(-1)).toBe("10 vectors, 0 wrong");
    expect(status).toBe(0);
  });

  test(`refuses tokens with one flipped bit, and reports each unexpected verdict${suffix}`, () => {
    // Each 31st flip, and all of the last character, whose unused bits some decoders ignore.
    const vectors = pickValid().flatMap((valid) =>
      [...listFlips(valid.token)]
        .filter(
          ({ where }, index) =>
            index % 31 === 0 || where.startsWith(`character ${valid.token.length - 1},`),
        )
        .map(({ token, where }) => ({ ...valid, token, name: where })),
    );
    expect(vectors.length).toBeGreaterThan(700);
    const { status, lines } = runOver(language, "flips", { ...vectorFile, vectors });
    const refusal = /^WRONG (malformed|header|signature): /;
    expect(lines.slice(0, -1).filter((line) => !refusal.test(line))).toEqual([]);
    expect(lines.at(-1)).toBe(`${vectors.length} vectors, ${vectors.length} wrong`);
    expect(status).toBe(1);
  });
});

const hasGo = languages.every(({ name, reason }) => name !== "Go" || !reason);
(hasGo ? it : it.skip)(
  `the verifier in Go is formatted and vetted${hasGo ? "" : " (no go)"}`,
  () => {
    expect(run("gofmt", ["-l", "."], goFolder).stdout).toBe("");
    expect(run("go", ["vet", "./..."], goFolder)).toMatchObject({ status: 0, stderr: "" });
  },
);
