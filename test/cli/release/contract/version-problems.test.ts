import { describe, expect, it } from "@jest/globals";
import { generatedFiles } from "../../../../contracts/generated-files.ts";
import { parseTexts } from "../../../../lib/cli/release/contract/read-contract.ts";
import { compareVersions, parseVersion } from "../../../../lib/cli/release/contract/version.ts";
import { versionProblems } from "../../../../lib/cli/release/contract/version-problems.ts";
import { breaking, compatible } from "./changes.ts";

const texts = generatedFiles();
const files = parseTexts(texts);

function problems(version: string, change: { change: (files: Map<string, never>) => void } | undefined): string[] {
  const current = parseTexts(texts) as Map<string, never>;
  change?.change(current);
  return versionProblems({ version, current, released: { version: "1.4.2", files }, isSame: change === undefined });
}

describe("the contract's version", () => {
  it("fits an unchanged contract, released or about to be", () => {
    expect(problems("1.4.2", undefined)).toEqual([]);
    expect(problems("1.5.0", undefined)).toEqual([]);
  });

  it("may not go back, and must be one", () => {
    expect(problems("1.4.1", undefined)).toEqual([expect.stringContaining("older than 1.4.2")]);
    expect(problems("1.5", undefined)).toEqual([expect.stringContaining('"1.5" is no version')]);
  });

  it("grows with a compatible change", () => {
    const [addition] = compatible;
    expect(problems("1.4.2", addition)).toEqual([expect.stringContaining("to 1.5.0, and run npm run contracts")]);
    expect(problems("1.5.0", addition)).toEqual([]);
  });

  it("asks for a new major one where the contract breaks, and says where", () => {
    const [removal] = breaking;
    for (const version of ["1.4.2", "1.5.0"]) {
      expect(problems(version, removal)).toEqual([
        "Keep the contract compatible, or set contractVersion in contracts/version.ts to 2.0.0: it breaks 1.4.2",
        "get_task: the method is gone",
      ]);
    }
    expect(problems("2.0.0", removal)).toEqual([]);
  });
});

describe("versions", () => {
  it("are in the order of their numbers, not of their letters", () => {
    const sorted = ["1.10.0", "none", "2.0.0", "1.9.12", "1.9.2"].sort(compareVersions);
    expect(sorted).toEqual(["none", "1.9.2", "1.9.12", "1.10.0", "2.0.0"]);
  });

  it.each(["1.0", "01.0.0", "1.0.0-rc.1", "v1.0.0", ""])("are three numbers, which %j is not", (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });
});
