/** Makes the files of a function's asset: the bundled handler, its configuration, and the agent where it runs one. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type BuildOptions, buildSync, type Metafile } from "esbuild";
import { ConfigError } from "../../../lambdas/shared/config/load.ts";
import type { AgentConfig, Config } from "../../../lambdas/shared/config/schema.ts";
import { agentFileName, type BundleName, configFileName, entries, projectDirectory } from "./entry.ts";

export type Bundle = {
  /** By name. The first one is the handler. */
  files: ReadonlyMap<string, Uint8Array>;
  /** What the handler and the agent are made of. */
  metafile: Metafile;
};

/**
 * `config` is the stage's own (`createStageConfig`); a path of the agent counts from `configDirectory`. The same input gives the same
 * bytes. Throws a ConfigError where the configured agent cannot be bundled.
 */
export function bundle({
  name,
  config,
  configDirectory,
}: {
  name: BundleName;
  config: Config;
  configDirectory: string;
}): Bundle {
  const { source, fileName, target, cutConfig, runsAgent, unused = [] } = entries[name];
  const handler = build({ ...ownEntry(source), target, outfile: fileName, external: [...unused] });
  const files = new Map([[fileName, handler.code]]);
  const metafiles = [handler.metafile];
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

/** How large the files of a bundle are together. */
export function bundleBytes({ files }: Pick<Bundle, "files">): number {
  return [...files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Only the configured agent is bundled. An agent of the project's own is a file that exports `createAgent`. */
function buildAgent({
  agent,
  configDirectory,
  target,
}: {
  agent: AgentConfig;
  configDirectory: string;
  target: string;
}): Built {
  const outfile = agentFileName;
  if (agent === "echo" || typeof agent !== "string") {
    const kind = agent === "echo" ? agent : agent.type;
    return build({ ...ownEntry(`lambdas/execution/agents/${kind}.ts`), target, outfile });
  }
  const file = resolve(configDirectory, agent);
  if (!existsSync(file)) throw new ConfigError("The agent", [`${file} does not exist; execution.agent names it`]);
  const contents = `import { agent } from ${JSON.stringify(file)};\nexport const createAgent = () => agent;\n`;
  const sourcefile = "agent-module.ts";
  try {
    return build({ stdin: { contents, resolveDir: projectDirectory, sourcefile, loader: "ts" }, target, outfile });
  } catch (thrown) {
    const problems = problemsOf({ thrown, entry: sourcefile, agent });
    if (problems === undefined) throw thrown;
    throw new ConfigError(`The agent ${agent}`, problems, { cause: thrown });
  }
}

/** A file of the project. No tsconfig.json decides its bytes, so that they are the same where there is none. */
function ownEntry(source: string) {
  return { entryPoints: [join(projectDirectory, source)], tsconfigRaw: {} };
}

type Built = { code: Uint8Array; metafile: Metafile };

/**
 * One CommonJS file with nothing left outside. CommonJS, since it starts faster where node:https is involved; packages in their
 * ES module form, where they have one, since only that can be cut down to what is used.
 */
function build(
  options: Pick<BuildOptions, "entryPoints" | "stdin" | "tsconfigRaw" | "target" | "outfile" | "external">,
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
    // As `require`: an ES module's view of node:https reads all that it exports, and with WebSocket the whole of undici.
    supported: { "dynamic-import": false },
    legalComments: "none",
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error("esbuild wrote no file.");
  return { code: output.contents, metafile };
}

/** esbuild's own words, with the place; the entry is none that a person knows, and all that it wants is the agent. */
function problemsOf({ thrown, entry, agent }: { thrown: unknown; entry: string; agent: string }): string[] | undefined {
  if (typeof thrown !== "object" || thrown === null || !("errors" in thrown)) return undefined;
  if (!Array.isArray(thrown.errors)) return undefined;
  return thrown.errors.map(({ text, location }) => {
    const place = location === null ? "" : ` (${String(location.file)}:${String(location.line)})`;
    const lacksExport = location?.file === entry && /^No matching export .* for import "agent"$/.test(String(text));
    return lacksExport ? `${agent} must export \`agent\`` : `${String(text)}${place}`;
  });
}
