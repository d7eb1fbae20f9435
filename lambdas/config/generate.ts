/** Writes `sekisho.config.schema.json`; part of `npm run contracts`. */
import { writeFileSync } from "node:fs";
import { configJsonSchema, schemaFileName } from "./json-schema.ts";

writeFileSync(new URL(`../../${schemaFileName}`, import.meta.url), configJsonSchema());
