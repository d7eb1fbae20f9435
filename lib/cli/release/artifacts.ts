/** Makes all files of a release. The same commit gives the same bytes: every time in them is the commit's. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { contractVersion } from "../../../contracts/version.ts";
import { configDirectory, loadExecutionConfig } from "../../../lambdas/shared/config/load.ts";
import { bundleNames } from "../../cdk/bundle/entry.ts";
import {
  bundleContents,
  formatBill,
  type Installed,
  projectContents,
  toKebabCase,
} from "./bills.ts";
import { releaseNotes, type Section } from "./changelog.ts";
import { createGitArchive, readHead } from "./git.ts";
import { createTar } from "./tar.ts";

type Release = {
  directory: string;
  version: string;
  sections: readonly Section[];
  installed: Installed;
};

/** Returns the files by name, sorted by name. */
export function makeArtifacts({
  directory,
  version,
  sections,
  installed,
}: Release): ReadonlyMap<string, Uint8Array> {
  const { revision, at } = readHead(directory);
  const prefix = `sekisho-${version}`;
  const contract = createGitArchive({
    directory,
    prefix,
    path: `contracts/released/${contractVersion}`,
  });
  const files = new Map<string, Uint8Array>([
    [`${prefix}.tar.gz`, compress(createGitArchive({ directory, prefix }))],
    [`sekisho-contract-${contractVersion}.tar.gz`, compress(contract)],
    ["release-notes.md", encode(releaseNotes({ sections, version }))],
    [
      `${prefix}.cdx.json`,
      encode(formatBill({ installed, contents: projectContents(installed), at })),
    ],
  ]);
  const location = { directory };
  const config = loadExecutionConfig(location);
  const bundles = bundleNames.map((bundleName) => {
    const name = toKebabCase(bundleName);
    const contents = bundleContents({
      installed,
      name: bundleName,
      config,
      configDirectory: configDirectory(location),
    });
    const made = [...contents.bundle.files];
    files.set(
      `sekisho-${name}-${version}.cdx.json`,
      encode(formatBill({ installed, contents, at })),
    );
    if (bundleName === "container") {
      const folder = `sekisho-execution-${version}`;
      const inFolder = new Map(made.map(([file, content]) => [`${folder}/${file}`, content]));
      files.set(`${folder}.tar.gz`, compress(createTar({ files: inFolder, at: new Date(at) })));
    }
    const hashed = made.map(([file, content]) => ({
      name: file,
      bytes: content.byteLength,
      sha256: sha256(content),
    }));
    return { name, files: hashed };
  });
  // The versions that the bytes depend on, beside the commit.
  const tools = { node: process.version, npm: installed.bill.metadata.tools?.[0].version };
  const manifest = { version, contract: contractVersion, revision, at, ...tools, bundles };
  files.set("release.json", encode(`${JSON.stringify(manifest, null, 2)}\n`));
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  // `sha256sum -c` wants two spaces between hash and name.
  const sums = sorted.map(([name, content]) => `${sha256(content)}  ${name}\n`);
  return new Map([...sorted, ["SHA256SUMS", encode(sums.join(""))]]);
}

/** Byte 9 of the header names the operating system; 255 means "unknown" (RFC 1952). Node writes no time. */
function compress(content: Uint8Array): Uint8Array {
  const packed = gzipSync(content, { level: 9 });
  packed[9] = 255;
  return packed;
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
