/** What the checkout knows of itself, by git. */
import { execFileSync } from "node:child_process";

/** Throws with git's own words where it fails. */
function git(directory: string, words: readonly string[]): Buffer {
  return execFileSync("git", [...words], {
    cwd: directory,
    maxBuffer: 256 * 1024 * 1024,
    timeout: 60_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

export type Commit = { revision: string /** RFC 3339, in UTC, to the second. */; at: string };

export function readHead(directory: string): Commit {
  const [revision = "", seconds = ""] = git(directory, ["log", "-1", "--format=%H %ct"]).toString().trim().split(" ");
  return { revision, at: new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z") };
}

/** Paths that are changed, or not known to git and not ignored. */
export function changedPaths(directory: string): string[] {
  const lines = git(directory, ["status", "--porcelain"]).toString().split("\n");
  return lines.filter((line) => line !== "").map((line) => line.slice(3));
}

/** The files of the last commit as a tar archive with the commit's time, below the folder `prefix`. Of `path` alone, where it is given. */
export function createGitArchive({
  directory,
  prefix,
  path,
}: {
  directory: string;
  prefix: string;
  path?: string;
}): Buffer {
  const words = ["-c", "tar.umask=0022", "archive", "--format=tar", `--prefix=${prefix}/`, "HEAD"];
  return git(directory, path === undefined ? words : [...words, "--", path]);
}
