#!/usr/bin/env node
/** What the CDK command line runs. Plain JavaScript: a Node that cannot run TypeScript files must get as far as this. */
import { runPinned } from "./pinned-node.mjs";

await runPinned({ file: import.meta.url, start: async () => (await import("./app.ts")).main() });
