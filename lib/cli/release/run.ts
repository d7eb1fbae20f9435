/** `npm run release`: is the checkout ready to be released, and all files of the release. It publishes nothing. */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../../../bin/commands/command.ts";
import { contractVersion } from "../../../contracts/version.ts";
import { makeArtifacts } from "./artifacts.ts";
import { checkContract } from "./contract/check-contract.ts";
import { generatedProblems } from "./generated-problems.ts";
import { checkReadiness } from "./readiness.ts";
import { runScript } from "./run-script.ts";

const help = `npm run release -- --check | --freeze | --out DIR

Makes a release of the last commit, and publishes nothing. docs/release.md says how one is made, and how it is verified.

  --check     says whether the checkout can be released: committed, changelog, contract, generated files, licenses
  --freeze    keeps the contract under its version, in contracts/released/
  --out DIR   checks the same, and then writes DIR, which must be empty or missing: sources, contract, Execution bundle,
              bills of materials, notes and SHA256SUMS. The same commit gives the same bytes.

Exit code 0: it is ready, or done; 1: it is not, and why; 2: bad usage.`;

const directory = join(import.meta.dirname, "../../..");

function main(words: string[]): number {
  const { values } = parseArgs({
    args: words,
    options: {
      check: { type: "boolean" },
      freeze: { type: "boolean" },
      out: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return printAndExit(0, help);
  const { check, freeze, out } = values;
  if ([check, freeze, out].filter((one) => one !== undefined).length !== 1) {
    throw new UsageError("Say one of --check, --freeze and --out DIR.");
  }
  if (freeze) {
    const frozen = freezeContract(directory);
    return "done" in frozen ? printAndExit(0, frozen.done) : refuse(frozen.problems);
  }
  const folder = out === undefined ? undefined : resolve(out);
  if (folder !== undefined && existsSync(folder) && readdirSync(folder).length > 0) {
    throw new UsageError(`${folder} is not empty. Name another folder by --out.`);
  }
  const { version, sections, problems } = checkReadiness(directory);
  if (problems.length > 0)
    return refuse([`${version} cannot be released yet:`, ...problems.map((one) => `  - ${one}`)]);
  if (folder === undefined) return printAndExit(0, `${version} can be released: npm run release -- --out DIR`);
  const artifacts = makeArtifacts({ directory, version, sections });
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of artifacts) {
    writeFileSync(join(folder, name), content);
    printAndExit(0, `${String(Math.ceil(content.byteLength / 1000)).padStart(7)} KB   ${name}`);
  }
  return printAndExit(0, toPublish({ folder, version }));
}

function toPublish({ folder, version }: { folder: string; version: string }): string {
  return [
    `${folder} holds ${version}. Nothing is published. To publish it:`,
    `  git tag -s v${version} -m "Sekisho ${version}" && git push origin v${version}`,
    `  and put the files of ${folder} beside the tag, with release-notes.md as its words.`,
  ].join("\n");
}

function printAndExit(code: number, text: string): number {
  process.stdout.write(`${text}\n`);
  return code;
}

function refuse(lines: readonly string[]): number {
  process.stderr.write(`${lines.join("\n")}\n`);
  return 1;
}

runScript({ command: "npm run release --", main });

// Keeps the contract as it is generated now under its version, so that the next one can be compared with it.

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
