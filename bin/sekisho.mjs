#!/usr/bin/env node
/** The entry of the `sekisho` command. Plain JavaScript: a Node that cannot run TypeScript files must get as far as this. */
import { runPinned } from "./pinned-node.mjs";

await runPinned({
  file: import.meta.url,
  start: async () => (await import("./sekisho.ts")).main(process.argv.slice(2)),
});
