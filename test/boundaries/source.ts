/** A source file as the boundary rules see it: its imports, and its code without types and comments. */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, posix } from "node:path";
import { transformSync } from "esbuild";
import { packages } from "./packages.ts";

const root = join(import.meta.dirname, "../..");

/** `target` is a path from the repository's root for a file of ours, and else the package or builtin. */
type Import = { target: string; specifier: string; typeOnly: boolean; statement: string };
export type Source = { path: string; text: string; code: string; imports: readonly Import[] };

const staticImport = /^[ \t]*(?:import|export)\s(?:[^"'`;]*?\bfrom\s*)?["']([^"']+)["']/gm;
const dynamicImport = /\bimport\(\s*["'`]([^"'`]+)["'`]/g;
/** In code without comments and line breaks, where a statement follows another. */
const staticImportInCode = /(?:^|[;}\n])(?:import|export)\b(?:[^"'`;()]*?\bfrom)?["']([^"']+)["']/g;

export function parseSource({ path, text }: { path: string; text: string }): Source {
  const { code } = transformSync(text, {
    loader: extname(path) === ".tsx" ? "tsx" : extname(path).endsWith("ts") ? "ts" : "js",
    format: "esm",
    legalComments: "none",
    // Without it some comments stay.
    minifyWhitespace: true,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const violationTexts = listImports({ path, text, patterns: [staticImport, dynamicImport] });
  const inCode = listImports({
    path,
    text: code,
    patterns: [staticImportInCode, dynamicImport],
  });
  // The text has the types, and the code what a comment or another statement hides in the text.
  const hidden = inCode.filter(
    (one) => !violationTexts.some(({ target }) => target === one.target),
  );
  return { path, text, code, imports: [...violationTexts, ...hidden] };
}

function listImports({
  path,
  text,
  patterns,
}: {
  path: string;
  text: string;
  patterns: readonly RegExp[];
}): readonly Import[] {
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([statement, specifier = ""]) => ({
      target: resolve(path, specifier),
      specifier,
      typeOnly: /^\s*(?:import|export)\s+type\s/.test(statement),
      statement: statement.trim(),
    })),
  );
}

function resolve(path: string, specifier: string): string {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  const own = packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
  if (own === undefined) return specifier;
  const { exports } = JSON.parse(readFileSync(join(root, own.folder, "package.json"), "utf8"));
  const subpath = `.${specifier.slice(own.name.length)}`;
  return posix.join(own.folder, exports[subpath] ?? subpath);
}

/** All sources below the folders, by paths from the root with forward slashes; a folder that is not there has none. */
export function readSources({
  root,
  folders,
}: {
  root: string;
  folders: readonly string[];
}): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.([cm]?ts|tsx|[cm]js)$/.test(name) && !/\bnode_modules\b/.test(name))
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
      .map((path) => parseSource({ path, text: readFileSync(join(root, path), "utf8") })),
  );
}

/** The files that match, and all that they load at run time, however indirectly. */
export function withAllTheyLoad(
  sources: readonly Source[],
  matches: (source: Source) => boolean,
): ReadonlySet<string> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const violationTexts = new Set<string>();
  const queue = sources.filter(matches).map((source) => source.path);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const source = byPath.get(path);
    if (source === undefined || violationTexts.has(path)) continue;
    violationTexts.add(path);
    queue.push(...source.imports.filter((one) => !one.typeOnly).map((one) => one.target));
  }
  return violationTexts;
}
