/** The notices of third parties for a bundle: the licenses of the packages whose code is in it, which must accompany every copy. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

export const noticesFileName = "THIRD-PARTY-NOTICES.txt";

/** The part of esbuild's metafile that says which files are in a bundle. */
type BundleMetafile = {
  outputs: Readonly<
    Record<string, { inputs: Readonly<Record<string, { bytesInOutput: number }>> }>
  >;
};

/** Paths as in the lock file, such as `node_modules/a/node_modules/b`. A package of which esbuild left nothing does not count. */
export function bundledPackages(metafile: BundleMetafile): string[] {
  const paths = packageFolders(metafile).map((folder) =>
    folder.slice(folder.indexOf("node_modules/")),
  );
  return [...new Set(paths)].sort();
}

function packageFolders({ outputs }: BundleMetafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  const folders = files.flatMap(
    (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [],
  );
  return [...new Set(folders)].sort();
}

type NoticeSource = {
  metafile: BundleMetafile;
  /** The folder to which the paths in the metafile are relative. */
  directory: string;
  /** The comments in the code that name a license or an author, as esbuild collects them. */
  comments: readonly string[];
};

/** Returns "" if there is no code of others. A license that several packages share word for word is there once. */
export function formatNotices({ metafile, directory, comments }: NoticeSource): string {
  const namesByText = new Map<string, Set<string>>();
  for (const folder of packageFolders(metafile)) {
    const { name, text } = readNotice(resolve(directory, folder));
    namesByText.set(text, (namesByText.get(text) ?? new Set()).add(name));
  }
  const sections = [...namesByText]
    .map(([text, names]) => `${[...names].sort().join("\n")}\n\n${text}`)
    .sort();
  const commentTexts = [...new Set(comments.map((each) => each.trim()))].filter(
    (each) => each !== "",
  );
  if (commentTexts.length > 0)
    sections.push(`Comments in the code\n\n${commentTexts.join("\n\n")}`);
  return sections.map((section) => `${"=".repeat(80)}\n${section}\n\n`).join("");
}

/** A license of the package itself and of what it has taken from others. */
const noticeFile = /^(?:licen[cs]e|copying|notice|third[-_ ]?party)/i;

function readNotice(folder: string): { name: string; text: string } {
  const manifest = join(folder, "package.json");
  const {
    name = basename(folder),
    version = "",
    license,
  } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")) : {};
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (file) => file.isFile() && noticeFile.test(file.name),
  );
  const texts = files.map((file) =>
    readFileSync(join(folder, file.name), "utf8").replaceAll("\r\n", "\n").trim(),
  );
  const licenseName = typeof license === "string" ? license : "no license in its package.json";
  const text = texts.length > 0 ? texts.join("\n\n") : "The package has no license file.";
  return { name: `${name} ${version} (${licenseName})`, text };
}
