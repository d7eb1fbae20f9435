/** Makes the code asset of a function: the bundled handler, its configuration, and the agent if the function runs one. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import { ConfigError } from "../../../lambdas/shared/config/config-error.ts";
import type { AgentConfig } from "../../../lambdas/shared/config/execution-schema.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import {
  agentFileName,
  type BundleName,
  configFileName,
  type Entry,
  entries,
  type LazyPackage,
  projectDirectory,
} from "./entry.ts";

export type Bundle = {
  /** The files by name. The first one is the handler. */
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
  const own = buildOwn(name);
  const files = new Map(own.map(({ fileName, code }) => [fileName, code]));
  const metafiles = own.map(({ metafile }) => metafile);
  if (cutConfig !== undefined) files.set(configFileName, new TextEncoder().encode(JSON.stringify(cutConfig(config))));
  if (runsAgent) {
    const agent = buildAgent({ agent: config.execution.agent, configDirectory, target });
    files.set(agentFileName, agent.code);
    metafiles.push(agent.metafile);
  }
  return {
    files,
    metafile: {
      inputs: Object.assign({}, ...metafiles.map(({ inputs }) => inputs)),
      outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)),
    },
  };
}

/** Each is built once in a process, because Sekisho's own code does not change meanwhile. */
const ownBuilds = new Map<BundleName, (Built & { fileName: string })[]>();

/** Builds what does not depend on the configuration: the handler, and the packages beside it. */
function buildOwn(name: BundleName): (Built & { fileName: string })[] {
  const known = ownBuilds.get(name);
  if (known !== undefined) return known;
  const { source, fileName, target, lazy = [], leaveOut = {} } = entries[name];
  const handler = build({ ...ownEntry(source), ...besideHandler({ lazy, leaveOut }), target, outfile: fileName });
  const packages = lazy.map((each) => ({ fileName: each.fileName, ...buildPackage({ ...each, target }) }));
  const built = [{ fileName, ...handler }, ...packages];
  ownBuilds.set(name, built);
  return built;
}

/** Returns the total size of a bundle's files. */
export function bundleBytes({ files }: Pick<Bundle, "files">): number {
  return [...files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Returns the size of what a cold start loads: all files but the packages that are loaded when they are needed. */
export function coldBytes({ name, files }: Pick<Bundle, "files"> & { name: BundleName }): number {
  const lazy = new Set(entries[name].lazy?.map(({ fileName }) => fileName));
  return bundleBytes({ files: new Map([...files].filter(([file]) => !lazy.has(file))) });
}

/** Writes a bundle and returns its folder, which CDK copies into the assembly. */
export type WriteBundle = (name: BundleName) => string;

type BundleFolder = { config: Config; configDirectory: string; folder: string };

/** Writes each bundle at most once, below `folder`. */
export function createWriteBundle({ folder, ...options }: BundleFolder): WriteBundle {
  const written = new Set<BundleName>();
  return (name) => {
    const target = join(folder, name);
    if (!written.has(name)) writeFiles({ ...bundle({ name, ...options }), folder: target });
    written.add(name);
    return target;
  };
}

/** Writes the files into `folder`, which is created if it is missing. Returns their paths. */
export function writeFiles({ files, folder }: Pick<Bundle, "files"> & { folder: string }): string[] {
  mkdirSync(folder, { recursive: true });
  return [...files].map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  });
}

/** Lets the handler load the lazy packages as files beside it. */
function besideHandler(options: Required<Pick<Entry, "lazy" | "leaveOut">>): NonNullable<Entry["leaveOut"]> {
  const { lazy, leaveOut } = options;
  const files = lazy.map(({ fileName }) => `./${fileName}`);
  const alias = Object.fromEntries(lazy.map(({ name }, index) => [name, files[index] ?? ""]));
  return { ...leaveOut, alias: { ...leaveOut.alias, ...alias }, external: [...(leaveOut.external ?? []), ...files] };
}

function buildPackage({ name, exports, fileName, target }: LazyPackage & { target: string }): Built {
  const contents = `export { ${exports.join(", ")} } from ${JSON.stringify(name)};\n`;
  const stdin = { contents, resolveDir: projectDirectory, sourcefile: `${fileName}.ts`, loader: "ts" } as const;
  return build({ stdin, tsconfigRaw: {}, target, outfile: fileName });
}

type AgentSource = { agent: AgentConfig; configDirectory: string; target: string };

/** The spread keeps esbuild from a warning about a file without `feedback`. */
const agentModule = (file: string) => `import { agent } from ${file};
import * as exported from ${file};
const { feedback } = { ...exported };
const run = (task, context) => agent(task, context);
export const createAgent = () => (typeof feedback === "function" ? Object.assign(run, { feedback }) : agent);
`;

/** Bundles the configured agent alone. A built-in agent is a file that exports `createAgent`. */
function buildAgent({ agent, configDirectory, target }: AgentSource): Built {
  const outfile = agentFileName;
  if (agent === "echo" || typeof agent !== "string") {
    const kind = agent === "echo" ? agent : agent.type;
    return build({ ...ownEntry(`lambdas/execution/agents/${kind}.ts`), target, outfile });
  }
  const file = resolve(configDirectory, agent);
  if (!existsSync(file)) throw new ConfigError("The agent", [`${file} does not exist; execution.agent names it`]);
  const contents = agentModule(JSON.stringify(file));
  const sourcefile = "agent-module.ts";
  try {
    return build({ stdin: { contents, resolveDir: projectDirectory, sourcefile, loader: "ts" }, target, outfile });
  } catch (thrown) {
    const problems = problemsOf({ thrown, entry: sourcefile, agent });
    if (problems === undefined) throw thrown;
    throw new ConfigError(`The agent ${agent}`, problems, { cause: thrown });
  }
}

/** An entry inside the project. It ignores tsconfig.json, so that the bytes are the same in an installed package. */
function ownEntry(source: string) {
  return { entryPoints: [join(projectDirectory, source)], tsconfigRaw: {} };
}

type Built = { code: Uint8Array; metafile: Metafile };

/**
 * Makes one CommonJS file without external packages. CommonJS starts faster, because it loads node:https lazily. Packages are
 * read as ES modules if they have them, because esbuild can drop unused code only from those.
 */
function build(
  options: Pick<BuildOptions, "entryPoints" | "stdin" | "tsconfigRaw" | "target" | "outfile"> & Entry["leaveOut"],
): Built {
  const { outputFiles, metafile } = buildSync({
    ...options,
    absWorkingDir: projectDirectory,
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    platform: "node",
    format: "cjs",
    mainFields: ["module", "main"],
    // Turns `import()` into `require`: importing node:https reads all of its exports, and with WebSocket loads all of undici.
    supported: { "dynamic-import": false },
    legalComments: "none",
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error("esbuild wrote no file.");
  return { code: output.contents, metafile };
}

/**
 * Returns esbuild's messages with file and line. A missing export is reworded, because the message of esbuild names a generated
 * file that the user does not know.
 */
function problemsOf({ thrown, entry, agent }: { thrown: unknown; entry: string; agent: string }): string[] | undefined {
  if (typeof thrown !== "object" || thrown === null || !("errors" in thrown)) return undefined;
  if (!Array.isArray(thrown.errors)) return undefined;
  return thrown.errors.map(({ text, location }) => {
    const position = location === null ? "" : ` (${String(location.file)}:${String(location.line)})`;
    const lacksExport = location?.file === entry && /^No matching export .* for import "agent"$/.test(String(text));
    return lacksExport ? `${agent} must export \`agent\`` : `${String(text)}${position}`;
  });
}
