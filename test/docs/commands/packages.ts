/** Commands of npm: the script must exist, and the lock file must match package.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { packageName } from "../../../lib/package/name.ts";
import { root } from "./documented.ts";
import type { LookEntry } from "./entry.ts";
import type { ShellCommand } from "./shell-line.ts";

const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"));

/** `npm ci` refuses a lock file whose dependencies differ from those of package.json. */
export function lookAtInstall([install]: ShellCommand[]): void {
  expect(install?.args).toEqual(["npm", "ci"]);
  const { dependencies, devDependencies, optionalDependencies } = readJson("package.json");
  const { packages } = readJson("package-lock.json");
  expect(packages[""]).toMatchObject({ dependencies, devDependencies, optionalDependencies });
}

/** The names are those of this package, of its peers, and of packages that this project installs itself, in its version. */
function lookAtNames([install]: ShellCommand[]): void {
  const [npm, verb, ...args] = install?.args ?? [];
  expect([npm, verb]).toEqual(["npm", "install"]);
  const { devDependencies } = readJson("package.json");
  const pinned = Object.entries(devDependencies).map(([name, version]) => `${name}@${version}`);
  const known = [
    "--save-exact",
    "--save-dev",
    packageName,
    ...Object.keys(devDependencies),
    ...pinned,
  ];
  expect(args.filter((word) => !known.includes(word))).toEqual([]);
}

const installs = [
  "npm install --save-exact --save-dev aws-cdk@2.1148.1 aws-cdk-lib@2.276.0 constructs esbuild typescript @types/node",
];

/** `npm pack` names the file by the name and the version of the package. */
function lookAtPackedFile([install]: ShellCommand[]): void {
  const { version } = readJson("package.json");
  const file = `${packageName.replace("@", "").replace("/", "-")}-${version}.tgz`;
  expect(install?.args).toEqual(["npm", "install", `./${file}`]);
}

/** Needs the packages of `npm ci`, with which it compiles. */
function lookAtPackage([write]: ShellCommand[]): void {
  const { scripts } = readJson("package.json");
  expect(write?.args.slice(0, -1)).toEqual(["npm", "run", "package", "--"]);
  expect(scripts.package).toBe("node lib/cli/release/package.ts");
}

export const packages: LookEntry[] = [
  {
    command: "npm run package -- ../package",
    because:
      "npm run package:check writes the package, packs it and installs it, which needs the registry",
    look: lookAtPackage,
  },
  {
    command: "npm pack ../package",
    because: "npm run package:check packs the package",
    look: ([pack]) => expect(pack?.args.slice(0, 2)).toEqual(["npm", "pack"]),
  },
  ...installs.map((command) => ({
    command,
    because: "it changes a project of the reader; npm run package:check installs the same packages",
    look: lookAtNames,
  })),
  {
    command: "npm install ./sekisho-sekisho-0.1.0.tgz",
    because: "npm run package:check packs and installs it, which needs the registry",
    look: lookAtPackedFile,
  },
  {
    command: "npm ci",
    because: "it would replace the packages that this test runs with",
    look: lookAtInstall,
  },
  {
    command: "npm ci && npm test",
    because: "it is what runs this test",
    look([install, test]) {
      if (install !== undefined) lookAtInstall([install]);
      expect(test?.args).toEqual(["npm", "test"]);
      expect(readJson("package.json").scripts.test).toBe("jest --selectProjects core");
    },
  },
];
