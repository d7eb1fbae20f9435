/** `sekisho doctor` with the settings of the first argument for `--send`. */
import { createDoctor } from "@sekisho/sekisho/doctor/command.ts";

const [, , settings = "", ...args] = process.argv;
const print = (text: string) => process.stdout.write(`${text}\n`);
process.exitCode = await createDoctor(JSON.parse(settings)).run({
  args,
  directory: process.cwd(),
  signal: new AbortController().signal,
  print,
  note: (text) => process.stderr.write(`${text}\n`),
});
