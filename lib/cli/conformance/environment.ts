/** Reads the tokens of the bundled conformance command, which are named on its command line. */

export function readVariable(name: string): string | undefined {
  return process.env[name];
}
