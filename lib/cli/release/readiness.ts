/** All that keeps a checkout from being released, at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contractVersion } from "../../../contracts/version.ts";
import { changelogProblems, readSections, releaseProblems, type Section } from "./changelog.ts";
import { checkContract } from "./contract/check-contract.ts";
import { releasedVersions } from "./contract/read-contract.ts";
import { generatedProblems } from "./generated-problems.ts";
import { changedPaths } from "./git.ts";
import { licenseProblems, listProjectContents, readLockFile } from "./sbom/bills.ts";

export type Readiness = { version: string; sections: readonly Section[]; problems: string[] };

export function checkReadiness(directory: string): Readiness {
  const { version } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { version: string };
  const sections = readSections(readFileSync(join(directory, "CHANGELOG.md"), "utf8"));
  const lock = readLockFile(directory);
  const problems = [
    ...treeProblems(directory),
    ...(lock.version === version
      ? []
      : [`package-lock.json says ${lock.version}, package.json ${version}: run npm install.`]),
    ...changelogProblems(sections),
    ...releaseProblems({ sections, version }),
    ...generatedProblems(directory),
    ...checkContract({ directory, version: contractVersion }),
    ...frozenProblems(directory),
    ...licenseProblems(listProjectContents(lock).packages),
  ];
  return { version, sections, problems };
}

const mostPaths = 5;

function treeProblems(directory: string): string[] {
  const paths = changedPaths(directory);
  if (paths.length === 0) return [];
  const more = paths.length > mostPaths ? `, and ${paths.length - mostPaths} more` : "";
  return [`The checkout has changes that are not committed: ${paths.slice(0, mostPaths).join(", ")}${more}.`];
}

/** What goes out with a release must be there to compare the next one with. */
function frozenProblems(directory: string): string[] {
  if (releasedVersions(join(directory, "contracts/released")).includes(contractVersion)) return [];
  return [`contracts/released/${contractVersion} is missing: run npm run release -- --freeze, and commit it.`];
}
