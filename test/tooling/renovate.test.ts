/** The packages that `renovate.json` covers, as far as that is known without running Renovate. */
import { globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { expect, it } from "@jest/globals";

type Rule = { matchDepTypes?: string[]; rangeStrategy?: string };
type Renovate = {
  extends: string[];
  enabledManagers: string[];
  ignorePaths?: string[];
  packageRules: Rule[];
};
const renovate: Renovate = JSON.parse(readFileSync("renovate.json", "utf8"));

/** The paths of the preset `:ignoreModulesAndTests`, which `config:recommended` extends. An own list replaces it. */
const ignoredByPreset = [
  "**/node_modules/**",
  "**/vendor/**",
  "**/examples/**",
  "**/test/**",
  "**/tests/**",
];

it("covers every Dockerfile", () => {
  const files = globSync("**/Dockerfile*", { exclude: ["**/node_modules/**"] });
  expect(files).toEqual(
    expect.arrayContaining(["Dockerfile", "examples/execute-elsewhere/python/Dockerfile"]),
  );
  const { ignorePaths = ignoredByPreset } = renovate;
  expect(files.filter((file) => ignorePaths.some((pattern) => matchesGlob(file, pattern)))).toEqual(
    [],
  );
});

it("pins and updates the digest of every base image, which each Dockerfile names by a tag", () => {
  expect(renovate.extends).toContain("docker:pinDigests");
  expect(renovate.enabledManagers).toContain("dockerfile");
  const images = globSync("**/Dockerfile*", { exclude: ["**/node_modules/**"] }).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const defaults = new Map(
      [...text.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]),
    );
    return [...text.matchAll(/^FROM (?:--\S+ )*(\S+)/gm)].map(([, image = ""]) => {
      const name = /^\$\{(\w+)\}$/.exec(image)?.[1];
      return name === undefined ? image : defaults.get(name);
    });
  });
  expect(images.length).toBeGreaterThan(2);
  expect(
    images.filter((image) => !/^[\w./-]+:[\w.-]+(?:@sha256:[0-9a-f]{64})?$/.test(image ?? "")),
  ).toEqual([]);
});

it("pins dependencies but keeps the range of Node versions that the package supports", () => {
  const rules = renovate.packageRules.filter(({ matchDepTypes }) =>
    matchDepTypes?.includes("engines"),
  );
  expect(rules.map(({ rangeStrategy }) => rangeStrategy)).toEqual(["auto"]);
});

it("updates the actions of workflows, each pinned to a commit", () => {
  const uses = globSync(".github/workflows/*.yml").flatMap(
    (file) => readFileSync(file, "utf8").match(/uses: .*/g) ?? [],
  );
  expect(uses.length).toBeGreaterThan(0);
  expect(uses.filter((use) => !/@[0-9a-f]{40} # v\d/.test(use))).toEqual([]);
  expect(renovate.enabledManagers).toContain("github-actions");
});
