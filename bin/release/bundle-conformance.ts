/** `npm run conformance:bundle -- FILE`: writes the conformance run as one file that needs only Node. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatNotices } from "@sekisho/cdk/bundle/notices.ts";
import { buildSync } from "esbuild";

const root = join(import.meta.dirname, "../..");

export function bundleConformance(outfile: string): void {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: root,
    entryPoints: [join(root, "lib/conformance/main.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node22",
    legalComments: "eof",
    metafile: true,
    write: false,
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
  const [output] = outputFiles;
  if (output === undefined) throw new Error("esbuild wrote no file.");
  // The licenses of the packages stand at the end, because the run is passed on as one file.
  const notices = formatNotices({ metafile, directory: root, comments: [] });
  writeFileSync(outfile, `${output.text}\n/*\n${notices.replaceAll("*/", "* /")}*/\n`);
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
