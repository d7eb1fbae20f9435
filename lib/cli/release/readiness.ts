/** Lists everything that keeps a checkout from being released. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { contractVersion } from "../../../contracts/version.ts";
import { version as codeVersion } from "../../../lambdas/shared/version.ts";
import { type Installed, licenseProblems, projectContents, readInstalled } from "./bills.ts";
import { changelogProblems, readSections, releaseProblems, type Section } from "./changelog.ts";
import { checkContract, generatedProblems } from "./contract.ts";
import { changedPaths } from "./git.ts";

export type Readiness = {
  version: string;
  sections: readonly Section[];
  installed: Installed;
  problems: string[];
};

export function checkReadiness(directory: string): Readiness {
  const { version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    version: string;
  };
  const sections = readSections(readFileSync(join(directory, "CHANGELOG.md"), "utf8"));
  const installed = readInstalled(directory);
  const isLocked = installed.version === version;
  const released = `contracts/released/${contractVersion}`;
  const problems = [
    ...uncommittedProblems(directory),
    ...(isLocked
      ? []
      : [`package-lock.json has ${installed.version}, package.json ${version}: run npm install.`]),
    ...(codeVersion === version
      ? []
      : [`lambdas/shared/version.ts has ${codeVersion}, package.json ${version}: change it.`]),
    ...changelogProblems(sections),
    ...releaseProblems({ sections, version }),
    ...generatedProblems(directory),
    ...checkContract({ directory, version: contractVersion }),
    // The next contract is compared with the one that this release brings.
    ...(existsSync(join(directory, released))
      ? []
      : [`${released} is missing: run npm run release -- --freeze, and commit it.`]),
    ...licenseProblems(installed.bill.components.filter(projectContents(installed).holds)),
  ];
  return { version, sections, installed, problems };
}

const maxPaths = 5;

function uncommittedProblems(directory: string): string[] {
  const paths = changedPaths(directory);
  if (paths.length === 0) return [];
  const more = paths.length > maxPaths ? `, and ${paths.length - maxPaths} more` : "";
  return [`The checkout has uncommitted changes: ${paths.slice(0, maxPaths).join(", ")}${more}.`];
}
