/** Runs an entry with this Node if it is new enough, otherwise with the Node in node_modules. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** `file` is the entry's URL. `start` resolves to the exit code. */
export async function runPinned({ file, start }) {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(fileURLToPath(new URL("../node_modules", import.meta.url)))) {
    console.error("The packages of sekisho are not installed yet. Run npm ci first.");
    process.exitCode = 2;
  } else if (major > 22 || (major === 22 && minor >= 19)) {
    process.exitCode = await start();
  } else if (existsSync(pinned)) {
    const child = spawn(pinned, [fileURLToPath(file), ...process.argv.slice(2)], { stdio: "inherit" });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
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
