/** Runs `npm run release` in a copy of the repository that is its own checkout. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { contractVersion } from "../../../contracts/version.ts";
import { bundleNames } from "../../../lib/cdk/bundle/entry.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { hangMs } from "../../tooling/hang.ts";
import { commandHere, failing, refusing } from "../aws/command-here.ts";

const root = join(import.meta.dirname, "../../..");
const folder = folderOfFile();
const copy = join(folder, "copy");
const needed = [
  "CHANGELOG.md",
  "package.json",
  "package-lock.json",
  "sekisho.config.json",
  "sekisho.config.schema.json",
];
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const path = (...names: string[]) => join(copy, ...names);

beforeAll(() => {
  for (const name of [...needed, "bin", "contracts", "lambdas", "lib"]) {
    cpSync(join(root, name), path(name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), path("node_modules"));
  writeFileSync(path(".gitignore"), "node_modules\n");
  changelog((text) => text.replace(/## \[Unreleased\][\s\S]*?(?=## \[)/, "## [Unreleased]\n\n"));
  git("init", "-q", "-b", "main");
  commit();
  // A contract that was changed since the last release is frozen by the next one.
  if (existsSync(path("contracts/released", contractVersion))) return;
  release("--freeze");
  commit();
});

function git(...args: string[]): string {
  const [name, at] = ["A person", "2026-01-31T13:00:00+01:00"];
  const identity = {
    GIT_AUTHOR_NAME: name,
    GIT_COMMITTER_NAME: name,
    GIT_AUTHOR_EMAIL: "a@b.example",
  };
  const dates = { GIT_COMMITTER_EMAIL: "a@b.example", GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at };
  const env = { PATH: process.env.PATH, HOME: folder, ...identity, ...dates };
  return execFileSync("git", ["-C", copy, ...args], { encoding: "utf8", env, timeout: hangMs });
}

function commit(): void {
  git("add", "-A");
  git("commit", "-q", "-m", "All");
}

function changelog(change: (text: string) => string): void {
  writeFileSync(path("CHANGELOG.md"), change(readFileSync(path("CHANGELOG.md"), "utf8")));
}

function release(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path("lib/cli/release/run.ts"), ...args],
    {
      cwd: folder,
      encoding: "utf8",
      timeout: hangMs,
    },
  );
  return { code: status, stdout, stderr };
}

/** Runs `work` on a changed copy, and then resets the copy. */
function changed(change: () => void, work: () => void): void {
  change();
  try {
    work();
  } finally {
    git("reset", "-q", "--hard", "HEAD");
    git("clean", "-q", "-fd");
  }
}

describe("npm run release -- --check", () => {
  it("says that a clean checkout whose changelog has the version can be released", () => {
    expect(release("--check")).toEqual({
      code: 0,
      stdout: expect.stringContaining(`${version} can be released`),
      stderr: "",
    });
  });

  it("lists all that is in the way, and what to do about it", () => {
    const edit = (name: string, from: string | RegExp, to: string) =>
      writeFileSync(path(name), readFileSync(path(name), "utf8").replace(from, to));
    changed(
      () => {
        changelog((text) => text.replace("## [Unreleased]", "## [Unreleased]\n\n### Fixed\n- It."));
        edit("contracts/limits.ts", "40_000", "4_000");
        edit(
          "package-lock.json",
          /("node_modules\/jose": \{[^}]*"license": ")MIT/,
          "$1GPL-3.0-only",
        );
      },
      () => {
        const { code, stderr } = release("--check");
        expect(code).toBe(1);
        expect(stderr).toContain(
          "uncommitted changes: CHANGELOG.md, contracts/limits.ts, package-lock.json",
        );
        expect(stderr).toContain("[Unreleased] is not empty");
        expect(stderr).toContain(
          "contracts/generated/openrpc.json is stale: run npm run contracts",
        );
        expect(stderr).toContain("is under GPL-3.0-only");
      },
    );
  });

  it("finds a contract that no longer takes what it took", () => {
    const file = "contracts/generated/schemas/execute_task.params.json";
    changed(
      () => writeFileSync(path(file), readFileSync(path(file), "utf8").replace("40000", "4000")),
      () =>
        expect(release("--check").stderr).toContain(
          "execute_task.params/text: maxLength is 4000, and was 40000",
        ),
    );
  });
});

describe("npm run release -- --freeze", () => {
  it("writes nothing over what was released", () => {
    expect(release("--freeze")).toMatchObject(failing(1, "never changes"));
  });

  it("keeps a contract of a new version, which can then be released", () => {
    const next = "1.99.0";
    const raise = () => {
      writeFileSync(path("contracts/version.ts"), `export const contractVersion = "${next}";\n`);
      execFileSync(process.execPath, [path("contracts/generate.ts")], { timeout: hangMs });
    };
    changed(raise, () => {
      expect(release("--check").stderr).toContain(
        `contracts/released/${next} is missing: run npm run release -- --freeze`,
      );
      expect(release("--freeze").code).toBe(0);
      const [kept, generated] = [`contracts/released/${next}`, "contracts/generated"].map((place) =>
        readFileSync(path(place, "openrpc.json"), "utf8"),
      );
      expect(kept).toBe(generated);
      expect(release("--check").stderr.match(/^ {2}- .*/gm)).toEqual([
        expect.stringContaining("uncommitted"),
      ]);
    });
  });
});

describe("npm run release -- --out", () => {
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  let made: ReturnType<typeof release>;
  beforeAll(() => {
    made = release("--out", first);
  });

  it("writes all files of the release, and says that nothing is published and how to", () => {
    expect(made).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringContaining("Nothing is published"),
    });
    expect(made.stdout).toContain(`git tag -s v${version}`);
    const names = readdirSync(first);
    expect(names.filter((name) => name.endsWith(".cdx.json")).length).toBe(bundleNames.length + 1);
    expect(names).toEqual(
      expect.arrayContaining([
        "SHA256SUMS",
        "release-notes.md",
        "release.json",
        `sekisho-${version}.tar.gz`,
        `sekisho-contract-${contractVersion}.tar.gz`,
        `sekisho-execution-${version}.tar.gz`,
      ]),
    );
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8").trimEnd().split("\n");
    const named = sums.map((line) => line.split("  ")[1] ?? "");
    expect(named).toEqual(names.filter((name) => name !== "SHA256SUMS").sort());
    const hashes = named.map((name) =>
      createHash("sha256")
        .update(readFileSync(join(first, name)))
        .digest("hex"),
    );
    expect(sums).toEqual(hashes.map((hash, index) => `${hash}  ${named[index]}`));
  });

  it("gives the same bytes again, at another time and in another zone", () => {
    const { status } = spawnSync(
      process.execPath,
      [path("lib/cli/release/run.ts"), "--out", second],
      {
        env: { PATH: process.env.PATH, TZ: "Asia/Tokyo", LANG: "ja_JP.UTF-8", HOME: folder },
        timeout: hangMs,
      },
    );
    expect(status).toBe(0);
    for (const name of readdirSync(first)) {
      expect({
        name,
        same: readFileSync(join(first, name)).equals(readFileSync(join(second, name))),
      }).toEqual({
        name,
        same: true,
      });
    }
  });

  it("holds the sources with their lock file, the contract, and no name of this machine", () => {
    const list = (name: string) =>
      execFileSync("tar", ["tzf", join(first, name)], { encoding: "utf8" }).split("\n");
    const sources = list(`sekisho-${version}.tar.gz`);
    expect(sources).toEqual(
      expect.arrayContaining([
        `sekisho-${version}/package-lock.json`,
        `sekisho-${version}/bin/sekisho.mjs`,
      ]),
    );
    const contract = list(`sekisho-contract-${contractVersion}.tar.gz`);
    expect(contract).toContain(
      `sekisho-${version}/contracts/released/${contractVersion}/openrpc.json`,
    );
    for (const name of readdirSync(first).filter((one) => !one.endsWith(".gz"))) {
      const text = readFileSync(join(first, name), "utf8");
      expect({ name, here: text.includes(folder) || text.includes(root) }).toEqual({
        name,
        here: false,
      });
    }
  });

  it("holds the Execution bundle as sekisho execution bundle makes it, and names the commit and its time", async () => {
    const args = [
      "execution",
      "bundle",
      "--config",
      join(root, "sekisho.config.json"),
      "--out",
      join(folder, "bundle"),
    ];
    expect(await commandHere(args, {})).toMatchObject({ code: 0 });
    execFileSync("tar", ["xzf", join(first, `sekisho-execution-${version}.tar.gz`), "-C", folder]);
    const [released, bundled] = [`sekisho-execution-${version}`, "bundle"].map((name) => {
      const files = readdirSync(join(folder, name));
      return Object.fromEntries(
        files.map((file) => [file, readFileSync(join(folder, name, file), "utf8")]),
      );
    });
    const fileNames = ["THIRD-PARTY-NOTICES.txt", "agent.cjs", "config.json", "server.cjs"];
    expect(Object.keys(bundled ?? {}).sort()).toEqual(fileNames);
    expect(released).toEqual(bundled);
    const manifest = JSON.parse(readFileSync(join(first, "release.json"), "utf8"));
    expect(manifest).toMatchObject({
      version,
      contract: contractVersion,
      at: "2026-01-31T12:00:00Z",
    });
    expect(manifest).toMatchObject({ node: process.version, npm: expect.stringMatching(/^\d+\./) });
    expect(manifest.revision).toBe(git("rev-parse", "HEAD").trim());
    const { files } = manifest.bundles.find(({ name }: { name: string }) => name === "container");
    const bytes = Buffer.byteLength(bundled?.["server.cjs"] ?? "");
    expect(files).toContainEqual(expect.objectContaining({ name: "server.cjs", bytes }));
  });

  it("writes into no folder that holds something", () => {
    expect(release("--out", first)).toMatchObject(failing(2, "is not empty"));
  });
});

it.each([[[]], [["--check", "--freeze"]], [["--out"]], [["--publish"]], [["now"]]])(
  "says what it takes for %j",
  (args) => {
    expect(release(...args)).toMatchObject(refusing(2, "--help says more"));
  },
);
