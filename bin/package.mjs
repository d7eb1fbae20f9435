/** The entry of `npm run package`. Plain JavaScript, because an old Node must be able to run it. */
import { runPinned } from "./pinned-node.mjs";

await runPinned({
  file: import.meta.url,
  async start() {
    const { main } = await import("./release/package.ts");
    return main(process.argv.slice(2));
  },
});
