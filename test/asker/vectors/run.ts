/** Writes `examples/verify-asker/vectors.json` anew: `npm run vectors`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createVectorFile } from "./vectors.ts";

const path = join(import.meta.dirname, "../../../examples/verify-asker/vectors.json");
writeFileSync(path, `${JSON.stringify(createVectorFile(), null, 2)}\n`);
