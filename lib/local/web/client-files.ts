/** The web app as a browser loads it: one script and one style sheet. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { BuildOptions } from "esbuild";

export type ClientFiles = Readonly<Record<"app.js" | "app.css", Uint8Array>>;

const folder = new URL("./client/", import.meta.url);

/** Reads the built files of an installed package. A clone has only sources, and bundles them (about 0.1 s). */
export function readClientFiles(): ClientFiles {
  const [script, style] = [new URL("app.js", folder), new URL("app.css", folder)];
  if (!existsSync(script)) return buildClientFiles();
  return { "app.js": readFileSync(script), "app.css": readFileSync(style) };
}

/** Bundles the sources. `npm run package` writes the result into the package. */
export function buildClientFiles(): ClientFiles {
  const { buildSync }: typeof import("esbuild") = createRequire(import.meta.url)("esbuild");
  const options = {
    absWorkingDir: import.meta.dirname,
    entryPoints: ["client/app.tsx", "client/app.css"],
    outdir: "client",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    // The settings for Node are not the client's.
    tsconfigRaw: {},
    write: false,
    logLevel: "silent",
  } satisfies BuildOptions;
  const { outputFiles } = buildSync(options);
  const contentsOf = (name: string) => {
    const file = outputFiles.find(({ path }) => path.endsWith(name));
    if (file === undefined) throw new Error(`esbuild wrote no ${name}.`);
    return file.contents;
  };
  return { "app.js": contentsOf("app.js"), "app.css": contentsOf("app.css") };
}
