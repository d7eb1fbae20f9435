/** Bundles a function into one CommonJS file with esbuild: the same bytes for the same input, and nothing left outside. */
import { buildSync, type Metafile } from "esbuild";
import { ConfigError } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { type BundleName, entrySource, projectDirectory } from "./entry.ts";

/** AgentCore runs no newer Node than 22. */
const targets: Record<BundleName, string> = {
  ingress: "node24",
  worker: "node24",
  deadLetters: "node24",
  installFlow: "node24",
  executionUrl: "node24",
  executionWorker: "node24",
  agentcore: "node22",
  container: "node24",
};

export type Bundle = { code: Uint8Array; metafile: Metafile };

/**
 * CommonJS, since it starts faster where node:https is involved; packages in their ES module form, where they have one, since
 * only that can be cut down to what is used. Throws a ConfigError where the configured agent cannot be bundled.
 */
export function bundle(request: { name: BundleName; config: Config; configDirectory: string }): Bundle {
  const { name, config } = request;
  try {
    const { outputFiles, metafile } = buildSync({
      stdin: { contents: entrySource(request), resolveDir: projectDirectory, sourcefile: `${name}.ts`, loader: "ts" },
      absWorkingDir: projectDirectory,
      bundle: true,
      write: false,
      minify: true,
      metafile: true,
      platform: "node",
      format: "cjs",
      mainFields: ["module", "main"],
      target: targets[name],
      // As `require`: an ES module's view of node:https reads all that it exports, and with WebSocket the whole of undici.
      supported: { "dynamic-import": false },
      legalComments: "none",
      logLevel: "silent",
      outfile: "index.js",
    });
    const [output] = outputFiles;
    if (output === undefined) throw new Error(`esbuild made nothing of ${name}.`);
    return { code: output.contents, metafile };
  } catch (thrown) {
    const { agent } = config.execution;
    if (typeof agent !== "string" || agent === "echo") throw thrown;
    const problems = problemsOf({ thrown, entry: `${name}.ts`, agent });
    if (problems === undefined) throw thrown;
    throw new ConfigError(`The agent ${agent}`, problems, { cause: thrown });
  }
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
