/** `npm run contracts`: rewrites `contracts/generated/`, the OpenRPC document and the JSON Schemas. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatedFiles } from "./generated-files.ts";

const folder = join(import.meta.dirname, "generated");
rmSync(folder, { recursive: true, force: true });
for (const [path, text] of generatedFiles()) {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
