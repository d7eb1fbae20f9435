#!/usr/bin/env node
/** The entry of the `sekisho` command. Plain JavaScript, because an old Node must be able to run it. */
import { runPinned } from "./pinned-node.mjs";

// A reader of the first lines only (`| head`) closes the pipe. The command goes on, and nobody sees the rest.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

await runPinned({
  file: import.meta.url,
  start: async () => (await import("./sekisho.ts")).main(process.argv.slice(2)),
});
