/** Is this Node one that is tested? */
import { type Check, failed, ok, warning } from "../check.ts";

const install = "Install Node 24 (https://nodejs.org), or run npm ci on Linux, which brings a pinned one along.";

/** `version` is as `process.versions.node` has it. */
export function nodeVersion({ version }: { version: string }): Check {
  return {
    name: "Node",
    async run() {
      const [major = 0, minor = 0] = version.split(".").map(Number);
      if (major < 22 || (major === 22 && minor < 18)) return failed(`${version} is too old: 22.18 is needed.`, install);
      if (major % 2 === 1) return warning(`${version} is no release with long-term support.`, install);
      return ok(version);
    },
  };
}
