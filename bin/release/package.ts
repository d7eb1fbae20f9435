/** `npm run package -- FOLDER`: packs the packages as people install them, one file each. It publishes nothing. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, posix, resolve } from "node:path";
import { prebuild } from "@sekisho/cdk/bundle/bundle.ts";
import { buildClientFiles } from "@sekisho/local/web/client-files.ts";
import { buildSync } from "esbuild";
import { type Published, publishedPackages } from "./published.ts";

const root = join(import.meta.dirname, "../..");

type Manifest = {
  name: string;
  version: string;
  description: string;
  engines: Record<string, string>;
  dependencies: Record<string, string>;
};

const { workspaces }: { workspaces: string[] } = readJson("package.json");
const ours = workspaces.map((folder) => {
  const manifest: Manifest = readJson(`${folder}/package.json`);
  return { folder, ...manifest };
});

/** The one package that the others do not compile in but install, because the class of its errors must exist once. */
const contracts = "@sekisho/contracts";

/** Writes the packages into `folder` as `npm pack` makes them, and returns their paths. */
function packPackages(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  const temporary = mkdtempSync(join(tmpdir(), "sekisho-packages-"));
  try {
    return writePackages(temporary).map((path) => join(folder, packFolder(path, folder)));
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** Packs the package at `path` into `folder`, and returns the name of the file there. */
export function packFolder(path: string, folder: string): string {
  const args = ["pack", "--silent", "--pack-destination", folder];
  return execFileSync("npm", args, { cwd: path, encoding: "utf8" }).trim();
}

/** Writes each package into a folder of its own below `folder`, and returns these folders. */
export function writePackages(folder: string): string[] {
  return publishedPackages.map((pack) => {
    const target = join(folder, basename(pack.name));
    if (existsSync(target)) throw new Error(`${target} exists already.`);
    writePackage(pack, target);
    return target;
  });
}

/** The files lie in the folders of the clone. Packages that nobody installs are compiled in. */
function writePackage(pack: Published, target: string): void {
  mkdirSync(target, { recursive: true });
  compile(pack, target);
  for (const path of ["LICENSE", ...(pack.copied ?? [])]) {
    const isSource = (name: string) => name.endsWith(path === "examples" ? ".pyc" : ".ts");
    cpSync(join(root, path), join(target, path), {
      recursive: true,
      filter: (name) => !isSource(name),
    });
  }
  cpSync(join(root, pack.folder, "README.md"), join(target, "README.md"));
  for (const [name, content] of prebuild(pack.prebuilt ?? [])) {
    const path = join(target, "prebuilt", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
  if (pack.hasWebApp === true) {
    const path = join(target, "lib/local/web/client");
    // The sources of the app are bundled, and nobody needs them.
    rmSync(path, { recursive: true });
    mkdirSync(path);
    for (const [name, content] of Object.entries(buildClientFiles()))
      writeFileSync(join(path, name), content);
  }
  const text = JSON.stringify(createManifest(pack, target), null, 2);
  writeFileSync(join(target, "package.json"), `${text}\n`);
}

function compile(pack: Published, target: string): void {
  const settings = mkdtempSync(join(tmpdir(), "sekisho-tsc-"));
  try {
    const file = join(settings, "tsconfig.json");
    writeFileSync(file, JSON.stringify(createTypescriptSettings(pack, target)));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, "-p", file], { encoding: "utf8" });
    // The compiler leaves imports by name as they are, and warns. They are rewritten below.
    const lines = [...stdout.split("\n"), ...stderr.split("\n")];
    const problems = lines.filter((line) => line !== "" && !line.includes("TS2877"));
    if (problems.length > 0)
      throw new Error(`The sources of ${pack.name} do not compile:\n${problems.join("\n")}`);
  } finally {
    rmSync(settings, { recursive: true });
  }
  for (const path of listFiles(target)) {
    if (!/\.(js|mjs|d\.ts)$/.test(path)) continue;
    const file = join(target, path);
    writeFileSync(file, rewriteImports({ pack, path, text: readFileSync(file, "utf8") }));
  }
}

function createTypescriptSettings(pack: Published, target: string): object {
  const inside = ours.filter(({ name }) => name !== contracts || pack.name === contracts);
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: pack.entries !== undefined,
      rewriteRelativeImportExtensions: true,
      allowJs: true,
      rootDir: root,
      outDir: target,
      typeRoots: [join(root, "node_modules/@types")],
      // By name they would count as packages of others, of which nothing is compiled.
      paths: Object.fromEntries(
        inside.flatMap(({ name, folder }) => [
          [name, [join(root, folder, "index.ts")]],
          [`${name}/*`, [join(root, folder, "*")]],
        ]),
      ),
    },
    include: [],
    files: [...listEntryFiles(pack), "lambdas/runtime/http/undici.d.ts"].map((path) =>
      join(root, path),
    ),
  };
}

function listEntryFiles({ entries = {}, commands = {}, loadedByPath = [] }: Published): string[] {
  const others = loadedByPath.flatMap((pattern) => globSync(pattern, { cwd: root }));
  return [...new Set([...Object.values(entries), ...Object.values(commands), ...others])].filter(
    (path) => !path.endsWith("/generate.ts"),
  );
}

/** Rewrites imports of our packages: to paths within this package, or to the compiled files of the package that is installed beside it. */
function rewriteImports({ pack, path, text }: { pack: Published; path: string; text: string }) {
  return text.replace(
    /\b(from |import |import\()(["'])((?:\.|@sekisho\/)[^"'\n]+)\2/g,
    (statement: string, keyword: string, quote: string, specifier: string) => {
      const own = ours.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
      // Templates of files for a project import packages by their public names.
      const isPublic = own !== undefined && !specifier.endsWith(".ts");
      const compiledSpecifier = specifier.replace(/\.ts$/, ".js");
      if (isPublic) return statement;
      if (own === undefined || (own.name === contracts && pack.name !== contracts))
        return `${keyword}${quote}${compiledSpecifier}${quote}`;
      const file = posix.join(own.folder, compiledSpecifier.slice(own.name.length + 1));
      const relative = posix.relative(posix.dirname(path), file);
      return `${keyword}${quote}${relative.startsWith(".") ? relative : `./${relative}`}${quote}`;
    },
  );
}

function createManifest(pack: Published, target: string) {
  const own = ours.find(({ name }) => name === pack.name);
  if (own === undefined) throw new Error(`${pack.name} is no package of this repository.`);
  const { version, description, engines } = own;
  const {
    entries = {},
    commands = {},
    peers = {},
    optionalPeers = {},
    optionalImports = [],
  } = pack;
  const usedPackages = listDependencies(pack, target).filter(
    (name) => !(name in { ...peers, ...optionalPeers }),
  );
  const isOptional = (name: string) => optionalImports.some((start) => name.startsWith(start));
  const optional: Record<string, string> = {
    ...optionalPeers,
    ...Object.fromEntries(
      usedPackages.filter(isOptional).map((name) => [name, `^${versionOf(name)}`]),
    ),
  };
  return {
    name: pack.name,
    version,
    description,
    license: "Apache-2.0",
    type: "module",
    engines,
    bin: mapValues(commands, (path) => compiledFile(path)),
    exports: {
      ...mapValues(entries, (path) => {
        const file = compiledFile(path);
        return { types: `./${file.replace(/\.js$/, ".d.ts")}`, default: `./${file}` };
      }),
      ...pack.exports,
      "./package.json": "./package.json",
    },
    dependencies: Object.fromEntries(
      usedPackages.filter((name) => !isOptional(name)).map((name) => [name, versionOf(name)]),
    ),
    peerDependencies: { ...peers, ...optional },
    peerDependenciesMeta: mapValues(optional, () => ({ optional: true })),
  };
}

function compiledFile(path: string): string {
  return path.replace(/\.ts$/, ".js");
}

/** The packages of others that the compiled code loads, and that its types name. */
function listDependencies(pack: Published, target: string): string[] {
  const { metafile } = buildSync({
    absWorkingDir: target,
    entryPoints: listEntryFiles(pack).map(compiledFile),
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    outdir: "unused",
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const loadedModules = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  );
  const namedModules = listFiles(target)
    .filter((path) => path.endsWith(".d.ts"))
    .flatMap((path) => [
      ...readFileSync(join(target, path), "utf8").matchAll(
        /\b(?:from |import\()["']([^."'][^"']*)/g,
      ),
    ])
    .map(([, specifier = ""]) => specifier);
  const modules = [...loadedModules, ...namedModules].filter((name) => !/^(node:|\.)/.test(name));
  const names = modules.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
  return [...new Set(names)].sort();
}

/** Every package of ours that uses another's names the same version. */
function versionOf(name: string): string {
  const own = ours.find((one) => one.name === name);
  if (own !== undefined) return own.version;
  const version = ours.find(({ dependencies }) => name in dependencies)?.dependencies[name];
  if (version === undefined) throw new Error(`No package.json of this repository names ${name}.`);
  return version;
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" });
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

/** Returns the exit code. */
export function main([folder, ...more]: string[]): number {
  if (folder === undefined || folder.startsWith("-") || more.length > 0) {
    process.stderr.write("npm run package -- FOLDER   (which gets one .tgz for each package)\n");
    return 2;
  }
  const files = packPackages(resolve(folder));
  process.stdout.write(`${files.join("\n")}\nInstall them with npm install.\n`);
  return 0;
}
