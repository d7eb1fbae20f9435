/** `node lib/cli/release/sbom.ts`: writes one software bill of materials; the image's own is made this way. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../../../bin/commands/command.ts";
import { configDirectory, loadExecutionConfig } from "../../../lambdas/shared/config/load.ts";
import { type BundleName, bundleNames } from "../../cdk/bundle/entry.ts";
import { runScript } from "./run-script.ts";
import { createBill, formatBill, listBundleContents, listProjectContents, readLockFile } from "./sbom/bills.ts";

const help = `node lib/cli/release/sbom.ts --out FILE [--bundle NAME] [--config FILE] [--at TIME]

Writes FILE: a software bill of materials in CycloneDX 1.6 (JSON) of all packages that the repository installs to run.
The same lock file, options and time give the same bytes.

  --bundle NAME   of one bundle instead: ${bundleNames.join(", ")}
  --config FILE   the configuration that names the bundle's agent, instead of ./sekisho.config.json
  --at TIME       when it was made, such as 2026-01-31T12:00:00Z; without, the bill names no time

It ends with exit code 1 where a package has no license, or one that docs/dependencies.md does not list.`;

const project = join(import.meta.dirname, "../../..");

function main(words: string[]): number {
  const { values } = parseArgs({
    args: words,
    options: {
      out: { type: "string" },
      bundle: { type: "string" },
      config: { type: "string" },
      at: { type: "string" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  if (values.out === undefined) throw new UsageError("--out is missing: the file to write.");
  const at = values.at || undefined;
  if (at !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(at)) {
    throw new UsageError("--at is no time, such as 2026-01-31T12:00:00Z.");
  }
  const name = values.bundle === undefined ? undefined : bundleNamed(values.bundle);
  const lock = readLockFile(project);
  const place = { directory: process.cwd(), file: values.config };
  const contents =
    name === undefined
      ? listProjectContents(lock)
      : listBundleContents({ lock, name, config: loadExecutionConfig(place), configDirectory: configDirectory(place) });
  const bill = createBill({ contents, lock, at });
  const file = resolve(values.out);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, formatBill(bill));
  process.stdout.write(`${file}   (${bill.components.length} packages)\n`);
  return 0;
}

function bundleNamed(text: string): BundleName {
  const name = bundleNames.find((one) => one === text);
  if (name === undefined) throw new UsageError(`There is no bundle "${text}": ${bundleNames.join(", ")}.`);
  return name;
}

runScript({ command: "node lib/cli/release/sbom.ts", main });
