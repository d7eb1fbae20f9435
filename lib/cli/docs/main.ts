/** `npm run docs`: the documents as a site that needs no server. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { buildSite } from "./build-site.ts";

const help = `
npm run docs [-- --out DIR]

Turns README.md and docs/ into a static site in DIR (default: site). Nothing is fetched, and the site needs no
server: open DIR/index.html. DIR must be empty, missing, or a site that this command has made.
Exit code 0: built; 1: a document leads to something that there is not, or DIR cannot be written; 2: bad usage.
`;

process.exitCode = main(process.argv.slice(2));

function main(words: string[]): number {
  let out = "site";
  try {
    const { values } = parseArgs({
      args: words,
      options: { out: { type: "string", default: "site" }, help: { type: "boolean", short: "h", default: false } },
    });
    if (values.help) {
      process.stdout.write(`${help.trim()}\n`);
      return 0;
    }
    out = resolve(values.out);
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\nnpm run docs -- --help says more.\n`);
    return 2;
  }
  if (!mayReplace(out)) {
    process.stderr.write(`${out} holds something else than a site of this command. Name another folder by --out.\n`);
    return 2;
  }
  try {
    rmSync(out, { recursive: true, force: true });
    const { pages } = buildSite({ root: resolve(import.meta.dirname, "../../.."), out });
    process.stdout.write(`${pages.length} pages: ${pathToFileURL(join(out, "index.html")).href}\n`);
    return 0;
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\n`);
    return 1;
  }
}

function messageOf(thrown: unknown): string {
  // marked adds to every error that it should be told of it.
  return thrown instanceof Error ? thrown.message.replace(/\nPlease report this to .*/, "") : "unknown error";
}

/** So that `--out ..` deletes nothing. */
function mayReplace(folder: string): boolean {
  if (!existsSync(folder)) return true;
  try {
    return readdirSync(folder).length === 0 || existsSync(join(folder, "assets/search.js"));
  } catch {
    return false;
  }
}
