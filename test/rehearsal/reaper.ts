/** No child outlives this process, however it ends: one that stands still could not end itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

let reaper: ChildProcess | undefined;

/** `child` is ended with this process. */
export function endWithUs(child: ChildProcess): void {
  reaper ??= startReaper();
  const { stdin } = reaper;
  const { pid } = child;
  if (pid === undefined) return;
  stdin?.write(`${pid}\n`);
  child.once("exit", () => stdin?.write(`-${pid}\n`));
}

function startReaper(): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, "children/reap.cjs")], {
    stdio: ["pipe", "ignore", "ignore"],
    // Ctrl-C in a terminal reaches the whole group: it must not be gone before those that it ends.
    detached: true,
  });
  child.unref();
  // The pipe must not keep this process alive either.
  if (child.stdin !== null && "unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child;
}
