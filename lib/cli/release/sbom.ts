/** `node lib/cli/release/sbom.ts FILE`: writes the bill of materials of all packages that the repository needs to run. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

type Component = { "bom-ref": string; properties?: { name: string }[] };
type Dependency = { ref: string; dependsOn: string[] };
type Bill = { components: Component[]; dependencies: Dependency[] };

/** Returns CycloneDX as `npm sbom` makes it of the lock file. npm's own `--omit=dev` also omits packages that development tools share. */
export function createBill(): Bill {
  const args = [
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
  ];
  const json = execFileSync("npm", args, {
    cwd: join(import.meta.dirname, "../../.."),
    maxBuffer: 2 ** 26,
  });
  const bill: Bill = JSON.parse(json.toString());
  const development = new Set(bill.components.filter(isDevelopment).map((one) => one["bom-ref"]));
  const isNeeded = (reference: string) => !development.has(reference);
  return {
    ...bill,
    components: bill.components.filter((one) => !isDevelopment(one)),
    dependencies: bill.dependencies
      .filter(({ ref }) => isNeeded(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isNeeded) })),
  };
}

function isDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name }) => name === "cdx:npm:package:development");
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error("Name the file to write.");
  writeFileSync(file, JSON.stringify(createBill(), null, 2));
}
