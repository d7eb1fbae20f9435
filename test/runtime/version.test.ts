/** The version in the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { version } from "@sekisho/runtime/version.ts";

it("exports the version of package.json", () => {
  const manifest = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  expect(JSON.parse(manifest).version).toBe(version);
});
