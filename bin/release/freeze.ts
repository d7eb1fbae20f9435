/** Keeps the contract as it is generated now under its version, so that the next one can be compared with it. */
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { contractVersion } from "../../contracts/version.ts";
import { checkContract } from "./contract/check-contract.ts";
import { generatedProblems } from "./generated-problems.ts";

/** What it did, or why not. What was released is never written again. */
export function freezeContract(directory: string): { done: string } | { problems: string[] } {
  const folder = join(directory, "contracts/released", contractVersion);
  if (existsSync(folder)) {
    return {
      problems: [`contracts/released/${contractVersion} is there already, and what was released stays as it is.`],
    };
  }
  const problems = [...generatedProblems(directory), ...checkContract({ directory, version: contractVersion })];
  if (problems.length > 0) return { problems };
  cpSync(join(directory, "contracts/generated"), folder, { recursive: true });
  return { done: `contracts/released/${contractVersion} is written. Commit it.` };
}
