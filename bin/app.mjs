#!/usr/bin/env node
/** The entry for the CDK command line. Plain JavaScript, because an old Node must be able to run it. */
import { runPinned } from "./pinned-node.mjs";

await runPinned({ file: import.meta.url, start: async () => (await import("./app.ts")).main() });
