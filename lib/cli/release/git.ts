/** Reads the checkout's commit, its changes and its files with git. */
import { execFileSync } from "node:child_process";

function git(directory: string, args: readonly string[]): Buffer {
  return execFileSync("git", [...args], {
    cwd: directory,
    maxBuffer: 256 * 1024 * 1024,
    timeout: 60_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** `at` is the commit's time: RFC 3339, in UTC, to the second. */
export function readHead(directory: string): { revision: string; at: string } {
  const [revision = "", seconds = ""] = git(directory, ["log", "-1", "--format=%H %ct"])
    .toString()
    .trim()
    .split(" ");
  return { revision, at: new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z") };
}

/** Includes untracked files that are not ignored. */
export function changedPaths(directory: string): string[] {
  const lines = git(directory, ["status", "--porcelain"]).toString().split("\n");
  return lines.filter((line) => line !== "").map((line) => line.slice(3));
}

type Archive = { directory: string; prefix: string; path?: string };

/** Packs the files of the last commit, or those below `path`, into a tar archive with the commit's time, in the folder `prefix`. */
export function createGitArchive({ directory, prefix, path }: Archive): Buffer {
  const args = ["-c", "tar.umask=0022", "archive", "--format=tar", `--prefix=${prefix}/`, "HEAD"];
  return git(directory, path === undefined ? args : [...args, "--", path]);
}
