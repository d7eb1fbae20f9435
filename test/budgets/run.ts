/** Writes `test/budgets.json` anew: `npm run budgets`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { measureFigures } from "./measured.ts";

const path = join(import.meta.dirname, "../budgets.json");
const { bundles } = JSON.parse(readFileSync(path, "utf8"));
writeFileSync(path, `${JSON.stringify({ bundles, ...(await measureFigures()) }, null, 2)}\n`);
