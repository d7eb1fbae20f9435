#!/usr/bin/env node
/** The entry of the `sekisho` command. Plain JavaScript: a Node that cannot run TypeScript files must get as far as this. */
import { runPinned } from "./pinned-node.mjs";

// Who reads the first lines only (`| head`) stops nothing by that: what is printed afterwards is for nobody.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

await runPinned({
  file: import.meta.url,
  start: async () => (await import("./sekisho.ts")).main(process.argv.slice(2)),
});
