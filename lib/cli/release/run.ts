/** `npm run release`: checks whether the checkout can be released, and makes all files of the release. It publishes nothing. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../command.ts";
import { makeArtifacts } from "./artifacts.ts";
import { freezeContract } from "./contract.ts";
import { checkReadiness } from "./readiness.ts";
import { runScript } from "./run-script.ts";

const help = `npm run release -- --check | --freeze | --out DIR

Makes a release of the last commit, and publishes nothing. docs/how-to/release.md says how to make and verify a release.

  --check     checks whether the checkout can be released: commits, changelog, contract, generated files, licenses
  --freeze    writes the contract to contracts/released/ under its version
  --out DIR   checks the same, and then writes DIR, which must be empty or missing: sources, contract, Execution bundle,
              bills of materials, notes and SHA256SUMS. The same commit gives the same bytes.

Exit code 0: ready, or done; 1: not ready, with the reasons; 2: bad usage.`;

const directory = join(import.meta.dirname, "../../..");

function main(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: {
      check: { type: "boolean" },
      freeze: { type: "boolean" },
      out: { type: "string" },
    },
  });
  const { check, freeze, out } = values;
  if ([check, freeze, out].filter((one) => one !== undefined).length !== 1) {
    throw new UsageError("Give one of --check, --freeze and --out DIR.");
  }
  if (freeze) {
    const frozen = freezeContract(directory);
    return "done" in frozen ? print(frozen.done) : refuse(frozen.problems);
  }
  const folder = out === undefined ? undefined : resolve(out);
  if (folder !== undefined && existsSync(folder) && readdirSync(folder).length > 0) {
    throw new UsageError(`${folder} is not empty. Name another folder with --out.`);
  }
  const { version, sections, installed, problems } = checkReadiness(directory);
  if (problems.length > 0) {
    return refuse([`${version} cannot be released yet:`, ...problems.map((one) => `  - ${one}`)]);
  }
  if (folder === undefined)
    return print(`${version} can be released: npm run release -- --out DIR`);
  const artifacts = makeArtifacts({ directory, version, sections, installed });
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of artifacts) {
    writeFileSync(join(folder, name), content);
    print(`${String(Math.ceil(content.byteLength / 1000)).padStart(7)} KB   ${name}`);
  }
  return print(
    [
      `${folder} holds ${version}. Nothing is published. To publish it:`,
      `  git tag -s v${version} -m "Sekisho ${version}" && git push origin v${version}`,
      `  and attach the files of ${folder} to the tag, with release-notes.md as its text.`,
    ].join("\n"),
  );
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function refuse(lines: readonly string[]): number {
  process.stderr.write(`${lines.join("\n")}\n`);
  return 1;
}

runScript({ command: "npm run release --", help, main });
