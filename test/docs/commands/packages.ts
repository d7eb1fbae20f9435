/** Commands of npm: the script must exist, and the lock file must match package.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
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

export const packages: LookEntry[] = [
  { command: "npm ci", because: "it would replace the packages that this test runs with", look: lookAtInstall },
  {
    command: "npm ci && npm test",
    because: "it is what runs this test",
    look([install, test]) {
      if (install !== undefined) lookAtInstall([install]);
      expect(test?.args).toEqual(["npm", "test"]);
      expect(readJson("package.json").scripts.test).toBe("jest");
    },
  },
];
