/** Loaded before a watched command: tells the process that watches which files of the author are loaded, and ends with that process. */
import { registerHooks } from "node:module";
import { toPath } from "@sekisho/runtime/stack-frames.ts";
import { isAuthorsFile } from "../author/source-place.ts";

/** A command that was asked to stop gets this long. */
const stopMs = 10_000;

const reportedFiles = new Set<string>();

function report(url: string): void {
  if (!url.startsWith("file:")) return;
  const agentFile = toPath(url);
  if (reportedFiles.has(agentFile) || !isAuthorsFile(agentFile)) return;
  reportedFiles.add(agentFile);
  process.send?.({ agentFile });
}

registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      // The file may be written later.
      const isRelative = /^\.{1,2}\//.test(specifier);
      if (isRelative && context.parentURL !== undefined)
        report(new URL(specifier, context.parentURL).href);
      throw error;
    }
  },
  load(url, context, next) {
    report(url);
    return next(url, context);
  },
});

process.once("disconnect", () => {
  setTimeout(() => process.exit(143), stopMs).unref();
  process.kill(process.pid, "SIGTERM");
});
// The channel alone must not keep the command alive.
process.channel?.unref();
