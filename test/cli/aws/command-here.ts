/** Runs a command in the test's own process, which saves the start of a process. */
import { jest } from "@jest/globals";
import { main } from "../../../bin/sekisho.ts";
import type { Run } from "../../e2e/processes.ts";

/** The environment holds only the path and `env`. There is no terminal. */
export async function commandHere(words: string[], env: Record<string, string>): Promise<Run> {
  const written = { stdout: "", stderr: "" };
  const { isTTY } = process.stdin;
  process.stdin.isTTY = false;
  const environment = jest.replaceProperty(process, "env", { PATH: process.env.PATH, ...env });
  const streams = (["stdout", "stderr"] as const).map((stream) =>
    jest.spyOn(process[stream], "write").mockImplementation((text) => {
      written[stream] += text;
      return true;
    }),
  );
  try {
    const code = await main(words);
    return { code, ...written };
  } finally {
    environment.restore();
    for (const stream of streams) stream.mockRestore();
    process.stdin.isTTY = isTTY;
  }
}
