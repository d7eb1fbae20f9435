#!/usr/bin/env node
/** The entry of the `sekisho` command. Plain JavaScript, because an old Node must be able to run it. */
import { runPinned } from "./pinned-node.mjs";

// `| head` closes the pipe early. The command must still finish, so the error of the closed pipe is ignored.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

await runPinned({
  file: import.meta.url,
  start: async () => (await import("./sekisho.ts")).main(process.argv.slice(2)),
});
