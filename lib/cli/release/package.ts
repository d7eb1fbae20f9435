/** `npm run package -- FOLDER`: writes the package as people install it, ready for `npm pack`. It publishes nothing. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { prebuild } from "../../cdk/bundle/bundle.ts";
import { packageName } from "../package-name.ts";

const root = join(import.meta.dirname, "../../..");

/** The entries, and the files behind them. */
const entries = {
  agent: "lib/package/agent",
  execution: "lib/package/execution",
  contracts: "lib/package/contracts",
  conformance: "lib/package/conformance",
  cdk: "lib/package/cdk",
} as const;

/** Files that are used as they are. */
const copied = [
  ...[
    "README.md",
    "docs",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "cdk.json",
    "sekisho.config.schema.json",
  ],
  ...["contracts/generated", "lib/local/web", "lib/local/page/client", "lib/local/console/page"],
];

/** Needed by `./cdk` alone, or by an agent file of one's own in a deployed zone. Whoever uses them has them in a version of their own. */
const optionalPeers = {
  "aws-cdk-lib": "^2.276.0",
  constructs: "^10.8.1",
  esbuild: ">=0.25.0",
} as const;

/** Writes the package into `folder`, which must be empty or missing. */
export function writePackage(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Error(`${folder} is not empty.`);
  mkdirSync(folder, { recursive: true });
  compile(folder);
  for (const path of copied) {
    cpSync(join(root, path), join(folder, path), {
      recursive: true,
      filter: (name) => !name.endsWith(".ts"),
    });
  }
  cpSync(join(root, "examples"), join(folder, "examples"), {
    recursive: true,
    filter: (name) => !name.endsWith(".pyc"),
  });
  cpSync(join(root, "bin/package-entry.mjs"), join(folder, "bin/sekisho.mjs"));
  for (const [name, content] of prebuild()) {
    const path = join(folder, "prebuilt", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
}

function compile(folder: string): void {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const args = [tsc, "-p", join(root, "tsconfig.package.json"), "--outDir", folder];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: root });
  if (status !== 0) throw new Error(`The sources do not compile:\n${stdout}`);
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".d.ts")) continue;
    // The compiler rewrites the extensions of imports in code only.
    const file = join(folder, path);
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(/(["'])(\.{1,2}\/[^"']+)\.ts\1/g, "$1$2.js$1"),
    );
  }
}

function manifest() {
  const { version, description, engines, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const paths = Object.entries(entries).map(([name, path]) => {
    return [`./${name}`, { types: `./${path}.d.ts`, default: `./${path}.js` }] as const;
  });
  return {
    name: packageName,
    version,
    description,
    license: "Apache-2.0",
    type: "module",
    engines,
    bin: { sekisho: "bin/sekisho.mjs" },
    exports: {
      ...Object.fromEntries(paths),
      "./contracts/openrpc.json": "./contracts/generated/openrpc.json",
      "./contracts/schemas/*": "./contracts/generated/schemas/*",
      "./sekisho.config.schema.json": "./sekisho.config.schema.json",
      "./package.json": "./package.json",
    },
    dependencies,
    peerDependencies: optionalPeers,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optionalPeers).map((name) => [name, { optional: true }]),
    ),
  };
}

if (import.meta.main) {
  const [folder, ...more] = process.argv.slice(2);
  if (folder === undefined || folder.startsWith("-") || more.length > 0) {
    process.stderr.write("npm run package -- FOLDER   (empty or missing; then npm pack FOLDER)\n");
    process.exitCode = 2;
  } else {
    writePackage(resolve(folder));
    process.stdout.write(`${folder} holds ${packageName}. Pack it with npm pack ${folder}\n`);
  }
}
