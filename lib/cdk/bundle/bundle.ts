/** Makes the code asset of a function: the bundled handler, its configuration, and the agent if the function runs one. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";
import { listAgents, toAgentPath } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { bundledAgentFile } from "@sekisho/config/deployed.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";
import type { BuildOptions, Metafile } from "esbuild";
import {
  type BundleName,
  besideHttp1,
  configFileName,
  type Entry,
  entries,
  type LazyPackage,
  type WriteBundle,
} from "./entry.ts";
import { formatNotices, noticesFileName } from "./notices.ts";

export type Bundle = {
  /** The files by name. The first one is the handler, and one has the notices of third parties. */
  files: ReadonlyMap<string, Uint8Array>;
  /** esbuild's inputs and outputs of the handler and the agent. */
  metafile: Metafile;
};

type BundleSource = { name: BundleName; config: Config; configDirectory: string };

/**
 * `config` is the stage's own (`createStageConfig`). `configDirectory` is the folder to which the path of the agent is relative.
 * The same input gives the same bytes. Throws a ConfigError if the agent cannot be bundled.
 */
export function bundle({ name, config, configDirectory }: BundleSource): Bundle {
  const { target, cutConfig, runsAgent } = entries[name];
  const parts = [buildOwn(name)];
  const agents = runsAgent ? listAgents(config.execution) : [];
  parts.push(...agents.map((agent) => buildAgent({ ...agent, configDirectory, target })));
  const files = new Map(parts.flatMap((part) => [...part.files]));
  if (cutConfig !== undefined)
    files.set(configFileName, new TextEncoder().encode(JSON.stringify(cutConfig(config))));
  files.set(
    noticesFileName,
    Buffer.concat(parts.flatMap((part) => part.files.get(noticesFileName) ?? [])),
  );
  return { files, metafile: joinMetafiles(parts) };
}

function joinMetafiles(parts: readonly Pick<Bundle, "metafile">[]): Metafile {
  return {
    inputs: Object.assign({}, ...parts.map(({ metafile }) => metafile.inputs)),
    outputs: Object.assign({}, ...parts.map(({ metafile }) => metafile.outputs)),
  };
}

/**
 * What does not depend on the configuration. In the package it is built already, so that a bundler is needed only for a user's own agent.
 */
const prebuiltFolder = join(projectDirectory, "prebuilt");
const isPrebuilt = existsSync(prebuiltFolder);
const mainAgentFile = bundledAgentFile();
const builtInAgents = [
  "echo",
  "bedrock",
  "openai-compatible",
  "responses",
  "ag-ui",
  "http",
  "harness",
] as const;

/** Returns the files of the prebuilt folder by their paths: these bundles, and the built-in agents for their Node. */
export function prebuild(names: readonly BundleName[]): ReadonlyMap<string, Uint8Array> {
  const pathsOf = (folder: string, { files }: Bundle) =>
    [...files].map(([fileName, content]) => [join(folder, fileName), content] as const);
  const targets = new Set(
    names.filter((name) => entries[name].runsAgent).map((name) => entries[name].target),
  );
  const agents = [...targets].flatMap((target) =>
    builtInAgents.flatMap((kind) => pathsOf(join(target, kind), buildBuiltIn({ kind, target }))),
  );
  return new Map([...names.flatMap((name) => pathsOf(name, buildOwn(name))), ...agents]);
}

function readPrebuilt(folder: string, fileNames: readonly string[]): Bundle {
  const names = [...fileNames, noticesFileName];
  const files = new Map(
    names.map((name) => [name, readFileSync(join(prebuiltFolder, folder, name))]),
  );
  return { files, metafile: { inputs: {}, outputs: {} } };
}

/** Each is built once in a process, because Sekisho's own code does not change meanwhile. */
const ownBuilds = new Map<BundleName, Bundle>();

/** Builds the handler, and the packages beside it. */
function buildOwn(name: BundleName): Bundle {
  const ownBuild = ownBuilds.get(name);
  if (ownBuild !== undefined) return ownBuild;
  const { source, fileName, target, dropsDescriptions, lazy = [], leaveOut = {} } = entries[name];
  if (isPrebuilt) return readPrebuilt(name, [fileName, ...lazy.map((each) => each.fileName)]);
  const handler = build({
    ...ownEntry(source),
    ...besideHandler({ lazy, leaveOut }),
    target,
    outfile: fileName,
  });
  if (dropsDescriptions) handler.code = dropDescriptions(handler.code);
  const newBuild = withNotices([handler, ...lazy.map((each) => buildPackage({ ...each, target }))]);
  ownBuilds.set(name, newBuild);
  return newBuild;
}

/** A call of zod's `describe` with a text, as esbuild writes it. It returns the schema with the text, so without the call nothing else changes. */
const description = /\.describe\("(?:[^"\\]|\\.)*"\)/g;

function dropDescriptions(code: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(code).toString().replace(description, ""));
}

function withNotices(outputs: readonly Output[]): Bundle {
  const files = new Map(outputs.map(({ fileName, code }) => [fileName, code]));
  const metafile = joinMetafiles(outputs);
  const comments = outputs.map((output) => output.comments);
  const notices = formatNotices({ metafile, directory: projectDirectory, comments });
  return { files: files.set(noticesFileName, new TextEncoder().encode(notices)), metafile };
}

/** Returns the total size of a bundle's files. */
export function bundleBytes({ files }: Pick<Bundle, "files">): number {
  return [...files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Returns the size of what a cold start loads: not the notices, the map of the agent's lines, and the packages that are loaded when needed. */
export function coldBytes({ name, files }: Pick<Bundle, "files"> & { name: BundleName }): number {
  const unloaded = new Set([
    noticesFileName,
    ...(entries[name].lazy ?? []).map(({ fileName }) => fileName),
  ]);
  const isLoaded = (file: string) => !unloaded.has(file) && !file.endsWith(mapEnding);
  return bundleBytes({ files: new Map([...files].filter(([file]) => isLoaded(file))) });
}

type BundleFolder = { config: Config; configDirectory: string; folder: string };

/** Writes each bundle at most once, below `folder`. */
export function createWriteBundle({ folder, ...options }: BundleFolder): WriteBundle {
  const writtenNames = new Set<BundleName>();
  return (name) => {
    const target = join(folder, name);
    if (!writtenNames.has(name)) writeFiles({ ...bundle({ name, ...options }), folder: target });
    writtenNames.add(name);
    return target;
  };
}

/**
 * Writes the files into `folder`, which is created if it is missing. Returns their paths. Every user can read them, whatever the umask is:
 * zips keep the modes of files, and Lambda runs the code as another user than their owner.
 */
export function writeFiles({
  files,
  folder,
}: Pick<Bundle, "files"> & { folder: string }): string[] {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return [...files].map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, 0o644);
    return path;
  });
}

/** Lets the handler load the lazy packages as files beside it. */
function besideHandler(
  options: Required<Pick<Entry, "lazy" | "leaveOut">>,
): NonNullable<Entry["leaveOut"]> {
  const { lazy, leaveOut } = options;
  const files = lazy.map(({ fileName }) => `./${fileName}`);
  const alias = Object.fromEntries(lazy.map(({ name }, index) => [name, files[index] ?? ""]));
  return {
    ...leaveOut,
    alias: { ...leaveOut.alias, ...alias },
    external: [...(leaveOut.external ?? []), ...files],
  };
}

function buildPackage({
  name,
  exports,
  fileName,
  target,
}: LazyPackage & { target: string }): Output {
  const contents = `export { ${exports.join(", ")} } from ${JSON.stringify(name)};\n`;
  const stdin = {
    contents,
    resolveDir: projectDirectory,
    sourcefile: `${fileName}.ts`,
    loader: "ts",
  } as const;
  return build({ stdin, tsconfigRaw: {}, target, outfile: fileName });
}

/** It leads from the lines of the bundled agent to those of its author, for log lines. Only an agent of one's own has it. */
const mapEnding = ".map";

type AgentSource = {
  agent: AgentConfig;
  /** The name in `execution.agents`. Undefined for the main agent. */
  name?: string;
  configDirectory: string;
  target: string;
};

/** The spread keeps esbuild from a warning about a file without `feedback`. */
const agentModule = (file: string) => `import { agent } from ${file};
import * as exported from ${file};
const { feedback } = { ...exported };
const run = (task, context) => agent(task, context);
export const createAgent = () => (typeof feedback === "function" ? Object.assign(run, { feedback }) : agent);
`;

/** Bundles the configured agent alone. A built-in agent is a file that exports `createAgent`. */
function buildAgent({ agent, name, configDirectory, target }: AgentSource): Bundle {
  const outfile = bundledAgentFile(name);
  if (agent === "echo" || typeof agent !== "string") {
    const kind = agent === "echo" ? agent : agent.type;
    const built = isPrebuilt
      ? readPrebuilt(join(target, kind), [mainAgentFile])
      : buildBuiltIn({ kind, target });
    return renameFile(built, { from: mainAgentFile, to: outfile });
  }
  const file = resolve(configDirectory, agent);
  if (!existsSync(file))
    throw new ConfigError("The agent", [
      `${file} does not exist; ${toAgentPath(name).join(".")} names it`,
    ]);
  const contents = agentModule(JSON.stringify(file));
  const sourcefile = "agent-module.ts";
  try {
    const stdin = { contents, resolveDir: projectDirectory, sourcefile, loader: "ts" } as const;
    const output = build({ stdin, target, outfile, sourcemap: "external", sourcesContent: false });
    const { files, metafile } = withNotices([output]);
    return {
      files: new Map([
        ...files,
        [
          `${outfile}${mapEnding}`,
          relateMap({ map: output.map, entry: sourcefile, configDirectory }),
        ],
      ]),
      metafile,
    };
  } catch (error) {
    const problems = problemsOf({ thrown: error, entry: sourcefile, agent });
    if (problems === undefined) throw error;
    throw new ConfigError(`The agent ${agent}`, problems, { cause: error });
  }
}

type MapSource = { map: string; entry: string; configDirectory: string };

/** Makes the paths of a source map relative to the configuration, so that they are the same on every machine. */
function relateMap({ map, entry, configDirectory }: MapSource): Uint8Array {
  const { sources, ...parts }: { sources: string[] } = JSON.parse(map);
  const relate = (source: string) => relative(configDirectory, resolve(projectDirectory, source));
  const relatedSources = sources.map((source) => (source === entry ? source : relate(source)));
  return new TextEncoder().encode(JSON.stringify({ ...parts, sources: relatedSources }));
}

function renameFile(built: Bundle, { from, to }: { from: string; to: string }): Bundle {
  const files = [...built.files].map(([name, content]) => [name === from ? to : name, content]);
  return { ...built, files: new Map(files as [string, Uint8Array][]) };
}

function buildBuiltIn({
  kind,
  target,
}: {
  kind: (typeof builtInAgents)[number];
  target: string;
}): Bundle {
  return withNotices([
    build({
      ...ownEntry(`lambdas/execution/agents/${kind}.ts`),
      ...besideHttp1,
      target,
      outfile: mainAgentFile,
    }),
  ]);
}

/** An entry inside the project. It ignores tsconfig.json, so that the bytes are the same in an installed package. */
function ownEntry(source: string) {
  return { entryPoints: [join(projectDirectory, source)], tsconfigRaw: {} };
}

type Output = {
  fileName: string;
  code: Uint8Array;
  metafile: Metafile;
  /** Those of packages that name a license or an author. */
  comments: string;
  /** The source map as JSON. Empty unless it was asked for. */
  map: string;
};

/**
 * Makes one CommonJS file without external packages. CommonJS starts faster, because it loads node:https lazily. Packages are
 * read as ES modules if they have them, because esbuild can drop unused code only from those.
 */
function build(
  options: Pick<
    BuildOptions,
    "entryPoints" | "stdin" | "tsconfigRaw" | "target" | "sourcemap" | "sourcesContent"
  > & {
    outfile: string;
  } & Entry["leaveOut"],
): Output {
  const { outputFiles, metafile } = loadEsbuild().buildSync({
    ...options,
    absWorkingDir: projectDirectory,
    bundle: true,
    write: false,
    minify: true,
    // Otherwise each Japanese character takes six bytes.
    charset: "utf8",
    metafile: true,
    platform: "node",
    format: "cjs",
    mainFields: ["module", "main"],
    // Turns `import()` into `require`: importing node:https reads all of its exports, and with WebSocket loads all of undici.
    supported: { "dynamic-import": false },
    // A file of their own, which becomes a part of the notices.
    legalComments: "external",
    logLevel: "silent",
  });
  const find = (ending: string) =>
    outputFiles.find(({ path }) => path.endsWith(`${options.outfile}${ending}`));
  const output = find("");
  if (output === undefined) throw new Error("esbuild wrote no file.");
  const comments = find(".LEGAL.txt")?.text ?? "";
  return {
    fileName: options.outfile,
    code: output.contents,
    metafile,
    comments,
    map: find(".map")?.text ?? "",
  };
}

/** Throws a ConfigError if it is not installed, which it need not be without an agent of one's own. */
function loadEsbuild(): Pick<typeof import("esbuild"), "buildSync"> {
  try {
    return createRequire(import.meta.url)("esbuild");
  } catch (cause) {
    const remedy =
      "esbuild, which bundles your agent, is not installed. Run npm install --save-dev esbuild";
    throw new ConfigError("The agent", [remedy], { cause });
  }
}

/**
 * Returns esbuild's messages with file and line. A missing export is reworded, because the message of esbuild names a generated
 * file that the user does not know.
 */
function problemsOf({
  thrown: error,
  entry,
  agent,
}: {
  thrown: unknown;
  entry: string;
  agent: string;
}): string[] | undefined {
  if (typeof error !== "object" || error === null || !("errors" in error)) return undefined;
  if (!Array.isArray(error.errors)) return undefined;
  return error.errors.map(({ text, location }) => {
    const position =
      location === null ? "" : ` (${String(location.file)}:${String(location.line)})`;
    const lacksExport =
      location?.file === entry && /^No matching export .* for import "agent"$/.test(String(text));
    return lacksExport ? `${agent} must export \`agent\`` : `${String(text)}${position}`;
  });
}
