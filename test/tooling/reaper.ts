/** Ends all children with this process, however it ends. A frozen child could not end itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

let reaper: ChildProcess | undefined;

/** Kills `child` when this process ends. */
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
    // Ctrl-C in a terminal ends the whole process group. The reaper must outlive the children.
    detached: true,
  });
  child.unref();
  // The pipe must not keep this process alive.
  if (child.stdin !== null && "unref" in child.stdin && typeof child.stdin.unref === "function")
    child.stdin.unref();
  return child;
}
