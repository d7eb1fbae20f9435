#!/usr/bin/env node
/** The entry of the `sekisho` command in a clone. Plain JavaScript, because an old Node must be able to run it. */
import { runPinned } from "./pinned-node.mjs";

await runPinned({
  file: import.meta.url,
  async start() {
    await import("@sekisho/sekisho/entry.mjs");
    return process.exitCode;
  },
});
