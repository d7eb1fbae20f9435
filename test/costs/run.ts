/** Writes the tables of docs/explanation/costs.md anew: `npm run costs`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withTables } from "./table.ts";

const path = join(import.meta.dirname, "../../docs/explanation/costs.md");
writeFileSync(path, withTables(readFileSync(path, "utf8")));
