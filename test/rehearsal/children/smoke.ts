/** `sekisho smoke` with the settings of the first argument. */
import { createSmoke } from "../../../bin/commands/smoke.ts";

const [, , settings = "", ...words] = process.argv;
const stop = new AbortController();
process.on("SIGINT", () => stop.abort());
const print = (text: string) => process.stdout.write(`${text}\n`);
try {
  process.exitCode = await createSmoke(JSON.parse(settings)).run({
    args: words,
    directory: process.cwd(),
    signal: stop.signal,
    print,
    note: (text) => process.stderr.write(`${text}\n`),
  });
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = stop.signal.aborted ? 130 : 1;
}
