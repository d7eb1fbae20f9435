/** `node bin/release/sbom.ts CONFIG FILE`: writes the bill of materials of the Execution zone as files: the packages whose code is in them. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "@sekisho/cdk/bundle/bundle.ts";
import { bundledPackages } from "@sekisho/cdk/bundle/notices.ts";
import { configDirectory, loadExecutionConfig } from "@sekisho/config/load.ts";

type Bill = {
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

const root = join(import.meta.dirname, "../..");

/** Returns CycloneDX as `npm sbom` makes it of the lock file, cut to the packages in the bundle of this configuration. */
export function createBill({ directory, file }: { directory: string; file: string }): Bill {
  const location = { directory, file };
  const config = loadExecutionConfig(location);
  const { metafile } = bundle({
    name: "container",
    config,
    configDirectory: configDirectory(location),
  });
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const references = new Set(
    bundledPackages(metafile).map((path) => {
      const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      return `${name}@${packages[path].version}`;
    }),
  );
  const args = [
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
  ];
  const bill: Bill = JSON.parse(
    execFileSync("npm", args, { cwd: root, maxBuffer: 2 ** 26 }).toString(),
  );
  return {
    ...bill,
    components: bill.components.filter((one) => references.has(one["bom-ref"])),
    dependencies: bill.dependencies
      .filter(({ ref }) => references.has(ref))
      .map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: dependsOn.filter((one) => references.has(one)),
      })),
  };
}

if (import.meta.main) {
  const [config, file] = process.argv.slice(2);
  if (config === undefined || file === undefined)
    throw new Error("Name the configuration, and the file to write.");
  const bill = createBill({ directory: process.cwd(), file: config });
  writeFileSync(file, JSON.stringify(bill, null, 2));
}
