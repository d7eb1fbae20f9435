/** Runs a command in the test's own process, which saves the start of a process. */
import { expect, jest } from "@jest/globals";
import { main } from "@sekisho/sekisho/main.ts";
import type { Run } from "../../e2e/processes.ts";

/** The environment holds only the path and `env`. There is no terminal. */
export async function commandHere(args: string[], env: Record<string, string>): Promise<Run> {
  const output = { stdout: "", stderr: "" };
  const { isTTY } = process.stdin;
  process.stdin.isTTY = false;
  const environment = jest.replaceProperty(process, "env", { PATH: process.env.PATH, ...env });
  const streams = (["stdout", "stderr"] as const).map((stream) =>
    jest.spyOn(process[stream], "write").mockImplementation((text) => {
      output[stream] += text;
      return true;
    }),
  );
  try {
    const code = await main(args);
    return { code, ...output };
  } finally {
    environment.restore();
    for (const stream of streams) stream.mockRestore();
    process.stdin.isTTY = isTTY;
  }
}

/** How a command ends that fails with that exit code and says `text`. */
export function failing(code: number, text: string) {
  return { code, stderr: expect.stringContaining(text) };
}

/** How a command ends that fails so and prints nothing. */
export function refusing(code: number, text: string) {
  return { ...failing(code, text), stdout: "" };
}

/** How a command ends that succeeds and prints `text`. */
export function printing(text: string) {
  return { code: 0, stdout: expect.stringContaining(text) };
}
