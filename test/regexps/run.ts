/** Entry of `npm run regexps`: checks every regular expression of the sources. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { checkRegexps } from "./check.ts";

const root = join(import.meta.dirname, "../..");
const allowedSchema = z.array(
  z.strictObject({ file: z.string(), pattern: z.string(), bound: z.string().min(10) }),
);

const listed = execFileSync("git", ["ls-files", "-z", "bin", "contracts", "lambdas", "lib"], {
  cwd: root,
});
const files = listed.toString("utf8").split("\0");
const sources = files
  .filter((file) => /\.(?:[cm]?js|ts)$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
const allowed = allowedSchema.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "allowed.json"), "utf8")),
);
const { problems, count } = await checkRegexps({ sources, allowed });
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${count} regular expressions, ${problems.length} problems\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
