/** Checks the sources that its argument names. A process of its own, because the parser is an ES module. */
import { checkRegexps } from "../check.ts";

process.stdout.write(JSON.stringify(await checkRegexps(JSON.parse(process.argv[2] ?? ""))));
