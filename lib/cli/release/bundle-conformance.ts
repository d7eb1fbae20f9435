/** `npm run conformance:bundle -- FILE`: writes the conformance run as one file that needs only Node. */
import { join } from "node:path";
import { buildSync } from "esbuild";

const root = join(import.meta.dirname, "../../..");

export function bundleConformance(outfile: string): void {
  buildSync({
    entryPoints: [join(root, "lib/cli/conformance/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node22",
    // The packages' own licenses stand at the end of the file.
    legalComments: "eof",
    logLevel: "warning",
    // An older Node would break down at the first function that it does not have.
    banner: {
      js: `if (Number(process.versions.node.split(".")[0]) < 22) {
  console.error("This needs Node 22 or newer; this is " + process.versions.node + ".");
  process.exit(2);
}`,
    },
    tsconfigRaw: {},
  });
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) {
    process.stderr.write("npm run conformance:bundle -- FILE\n");
    process.exitCode = 2;
  } else {
    bundleConformance(file);
    process.stdout.write(`${file} needs only Node: node ${file} URL --auth bearer:ENV_NAME\n`);
  }
}
