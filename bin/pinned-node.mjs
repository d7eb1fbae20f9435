/** Runs an entry with this Node if it is new enough, otherwise with the Node in node_modules. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The variable that tells the pinned Node which process started it. */
const wrapperVariable = "SEKISHO_WRAPPER_PID";
const checkMs = 500;
/** A command that was asked to stop gets this long. */
const stopMs = 10_000;

/** `file` is the entry's URL. `start` resolves to the exit code. */
export async function runPinned({ file, start }) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(fileURLToPath(new URL("../node_modules", import.meta.url)))) {
    console.error("The packages of sekisho are not installed yet. Run npm ci first.");
    process.exitCode = 2;
  } else if (major > 22 || (major === 22 && minor >= 19)) {
    endWithWrapper();
    process.exitCode = await start().catch(explainMissingPackage);
  } else if (existsSync(pinned)) {
    const child = spawn(pinned, [fileURLToPath(file), ...process.argv.slice(2)], {
      stdio: "inherit",
      env: { ...process.env, [wrapperVariable]: String(process.pid) },
    });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
      process.on(signal, () => child.kill(signal));
    child.on("exit", (code, signal) => {
      process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
    });
  } else {
    console.error(
      `sekisho needs Node 22.19 or newer; this is ${process.versions.node}. Install Node 24 (https://nodejs.org).`,
    );
    process.exitCode = 2;
  }
}

/** Packages are missing after an installation that was interrupted, or that left out those for development. */
function explainMissingPackage(error) {
  const [, name] = /^Cannot find package '([^']+)'/.exec(error?.message ?? "") ?? [];
  if (error?.code !== "ERR_MODULE_NOT_FOUND" || name === undefined) throw error;
  console.error(`The package ${name} is not installed. Run npm ci first.`);
  return 2;
}

/**
 * The wrapper cannot become this process, because an old Node has no `exec`, and it cannot pass on a SIGKILL. So this process looks at its
 * parent, and stops when that has changed.
 */
function endWithWrapper() {
  const wrapper = Number(process.env[wrapperVariable] ?? 0);
  // Programs that this one starts are not the wrapper's.
  delete process.env[wrapperVariable];
  if (wrapper === 0) return;
  const timer = setInterval(() => {
    if (process.ppid === wrapper) return;
    clearInterval(timer);
    setTimeout(() => process.exit(143), stopMs).unref();
    process.kill(process.pid, "SIGTERM");
  }, checkMs).unref();
}
