/** `npm run docs`: rewrites the generated parts of the reference of commands and configuration. */
import { readFileSync, writeFileSync } from "node:fs";
import { referencePages } from "./pages.ts";

const root = new URL("../../", import.meta.url);
const pages = await referencePages((path) => readFileSync(new URL(path, root), "utf8"));
for (const [path, text] of pages) writeFileSync(new URL(path, root), text);
