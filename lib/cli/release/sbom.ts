/** `node lib/cli/release/sbom.ts`: writes one bill of materials. The image's build calls it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { configDirectory, loadExecutionConfig } from "../../../lambdas/shared/config/load.ts";
import { bundleNames } from "../../cdk/bundle/entry.ts";
import { UsageError } from "../command.ts";
import { bundleContents, formatBill, projectContents, readInstalled } from "./bills.ts";
import { runScript } from "./run-script.ts";

const help = `node lib/cli/release/sbom.ts --out FILE [--bundle NAME] [--config FILE] [--at TIME]

Writes FILE: a bill of materials in CycloneDX (JSON), made by npm sbom, of all packages that the repository needs to run.
The same lock file, options and time give the same bytes.

  --bundle NAME   only the packages in one bundle: ${bundleNames.join(", ")}
  --config FILE   the configuration that names the bundle's agent, instead of ./sekisho.config.json
  --at TIME       the bill's time, such as 2026-01-31T12:00:00Z; without it, the bill has none

Exit code 1: a package has no license, or one that docs/reference/dependencies.md does not list.`;

function main(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: "string" },
      bundle: { type: "string" },
      config: { type: "string" },
      at: { type: "string" },
    },
  });
  if (values.out === undefined) throw new UsageError("--out is missing: the file to write.");
  const at = values.at || undefined;
  if (at !== undefined && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(at)) {
    throw new UsageError("--at is not a time such as 2026-01-31T12:00:00Z.");
  }
  const name = bundleNames.find((one) => one === values.bundle);
  if (name === undefined && values.bundle !== undefined) {
    throw new UsageError(`There is no bundle "${values.bundle}": ${bundleNames.join(", ")}.`);
  }
  const installed = readInstalled(join(import.meta.dirname, "../../.."));
  const location = { directory: process.cwd(), file: values.config };
  const contents =
    name === undefined
      ? projectContents(installed)
      : bundleContents({
          installed,
          name,
          config: loadExecutionConfig(location),
          configDirectory: configDirectory(location),
        });
  const file = resolve(values.out);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, formatBill({ installed, contents, at }));
  process.stdout.write(`${file}\n`);
  return 0;
}

runScript({ command: "node lib/cli/release/sbom.ts", help, main });
