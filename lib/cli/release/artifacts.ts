/** All files of a release. The same commit gives the same bytes: their times are the commit's, and so is their order. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { contractVersion } from "../../../contracts/version.ts";
import { configDirectory, loadExecutionConfig } from "../../../lambdas/shared/config/load.ts";
import { bundleNames } from "../../cdk/bundle/entry.ts";
import { releaseNotes, type Section } from "./changelog.ts";
import { createGitArchive, readHead } from "./git.ts";
import {
  createBill,
  formatBill,
  listBundleContents,
  listProjectContents,
  readLockFile,
  toKebabCase,
} from "./sbom/bills.ts";
import { createTar } from "./tar.ts";

/** By name, in the order of their names. */
export type Artifacts = ReadonlyMap<string, Uint8Array>;

export function makeArtifacts({
  directory,
  version,
  sections,
}: {
  directory: string;
  version: string;
  sections: readonly Section[];
}): Artifacts {
  const { revision, at } = readHead(directory);
  const prefix = `sekisho-${version}`;
  const files = new Map<string, Uint8Array>([
    [`${prefix}.tar.gz`, compress(createGitArchive({ directory, prefix }))],
    [`sekisho-contract-${contractVersion}.tar.gz`, compress(contractArchive({ directory, prefix }))],
    ["release-notes.md", text(releaseNotes({ sections, version }))],
  ]);
  const lock = readLockFile(directory);
  const project = listProjectContents(lock);
  files.set(`${prefix}.cdx.json`, text(formatBill(createBill({ contents: project, lock, at }))));
  const place = { directory };
  const config = loadExecutionConfig(place);
  const bundles = bundleNames.map((name) => {
    const contents = listBundleContents({ lock, name, config, configDirectory: configDirectory(place) });
    const made = contents.bundle.files;
    files.set(`sekisho-${toKebabCase(name)}-${version}.cdx.json`, text(formatBill(createBill({ contents, lock, at }))));
    if (name === "container") {
      const folder = `sekisho-execution-${version}`;
      const inFolder = new Map([...made].map(([file, content]) => [`${folder}/${file}`, content]));
      files.set(`${folder}.tar.gz`, compress(createTar({ files: inFolder, at: new Date(at) })));
    }
    const hashes = [...made].map(([file, content]) => ({
      name: file,
      bytes: content.byteLength,
      sha256: sha256(content),
    }));
    return { name: toKebabCase(name), files: hashes };
  });
  const manifest = { version, contract: contractVersion, revision, at, node: process.version, bundles };
  files.set("release.json", text(`${JSON.stringify(manifest, null, 2)}\n`));
  const named = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  // As `sha256sum -c` reads it: two spaces between hash and name.
  const sums = named.map(([name, content]) => `${sha256(content)}  ${name}\n`);
  return new Map([...named, ["SHA256SUMS", text(sums.join(""))]]);
}

function contractArchive({ directory, prefix }: { directory: string; prefix: string }): Buffer {
  return createGitArchive({ directory, prefix, path: `contracts/released/${contractVersion}` });
}

/** Byte 9 of the head names the operating system: 255 is "unknown" (RFC 1952). Node writes no time. */
function compress(content: Uint8Array): Uint8Array {
  const packed = gzipSync(content, { level: 9 });
  packed[9] = 255;
  return packed;
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}
