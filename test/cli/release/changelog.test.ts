import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { contractVersion } from "../../../contracts/version.ts";
import {
  changelogProblems,
  readSections,
  releaseNotes,
  releaseProblems,
} from "../../../lib/cli/release/changelog.ts";

const root = join(import.meta.dirname, "../../..");
const text = readFileSync(join(root, "CHANGELOG.md"), "utf8");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const sections = readSections(text);
const [top, next] = sections;

describe("CHANGELOG.md", () => {
  it("has the form of Keep a Changelog: versions and dates go down, parts have their names", () => {
    expect(changelogProblems(sections)).toEqual([]);
    expect(sections.at(-1)?.title).toBe("0.1.0");
  });

  it("begins with what is not released, or with the version of package.json", () => {
    expect(top?.title === "Unreleased" ? next?.title : top?.title).toBe(version);
  });

  it("says which contract the first version has, and that one is kept", () => {
    const [, named] =
      /contract between the zones is (\d+\.\d+\.\d+)/.exec(sections.at(-1)?.text ?? "") ?? [];
    expect(existsSync(join(root, "contracts/released", named ?? ""))).toBe(true);
    expect(contractVersion >= (named ?? "")).toBe(true);
  });
});

const changelog = (...parts: string[]) => readSections(["# Changelog", ...parts].join("\n\n"));
const first = "## [0.1.0] - 2026-01-31\n\n### Added\n- A thing.";

describe("a changelog", () => {
  it.each<[string, string[], string]>([
    [
      "a heading without brackets",
      ["## 0.2.0 - 2026-02-01\n\n### Added\n- More."],
      '"## 0.2.0 - 2026-02-01" is neither',
    ],
    ["a version without a date", ["## [0.2.0]\n\n### Added\n- More."], "[0.2.0] has no date"],
    [
      "a date that no calendar has",
      ["## [0.2.0] - 2026-02-30\n\n### Added\n- More."],
      "[0.2.0] has no date",
    ],
    ["a version that says nothing", ["## [0.2.0] - 2026-02-01"], "[0.2.0] is empty"],
    ["a part of its own", ["## [0.2.0] - 2026-02-01\n\n### News\n- More."], 'a part "News"'],
    [
      "an older date above",
      ["## [0.2.0] - 2026-01-01\n\n### Added\n- More."],
      "the dates are not sorted",
    ],
    [
      "an older version above",
      ["## [0.0.9] - 2026-02-01\n\n### Added\n- More."],
      "the versions are not sorted",
    ],
    [
      "a version twice",
      ["## [0.1.0] - 2026-02-01\n\n### Added\n- More."],
      "the versions are not sorted",
    ],
  ])("with %s is refused", (_name, parts, said) => {
    expect(changelogProblems(changelog(...parts, first))).toEqual([expect.stringContaining(said)]);
  });

  it("with unreleased changes below a version is refused", () => {
    expect(changelogProblems(changelog(first, "## [Unreleased]"))).toEqual([
      expect.stringContaining("not the first"),
    ]);
  });

  it("is ready for the version on top of it, once nothing waits", () => {
    expect(releaseProblems({ sections: changelog(first), version: "0.1.0" })).toEqual([]);
    expect(
      releaseProblems({ sections: changelog("## [Unreleased]", first), version: "0.1.0" }),
    ).toEqual([]);
    const waiting = changelog("## [Unreleased]\n\n### Fixed\n- It.", first);
    expect(releaseProblems({ sections: waiting, version: "0.1.0" })).toEqual([
      expect.stringContaining("is not empty"),
    ]);
    const raised = releaseProblems({ sections: changelog(first), version: "0.2.0" });
    expect(raised).toEqual([
      expect.stringContaining("the newest version is 0.1.0, but package.json has 0.2.0"),
    ]);
    expect(releaseProblems({ sections: [], version: "0.1.0" })).toEqual([
      expect.stringContaining("is none"),
    ]);
  });

  it("gives the notes of one version, and no more", () => {
    const both = changelog("## [0.2.0] - 2026-02-01\n\n### Fixed\n- It.", first);
    expect(releaseNotes({ sections: both, version: "0.1.0" })).toBe(
      "# Sekisho 0.1.0\n\n2026-01-31\n\n### Added\n- A thing.\n",
    );
    expect(() => releaseNotes({ sections: both, version: "0.3.0" })).toThrow("no section [0.3.0]");
  });
});
