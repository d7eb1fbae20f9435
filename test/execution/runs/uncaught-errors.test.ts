/** Errors that nothing catches: whose they are, and what becomes of the process. Real processes, because the listeners are process-wide. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, it } from "@jest/globals";
import { withLine, withoutLine } from "../children/uncaught-agent.ts";

const script = join(import.meta.dirname, "../children/uncaught-error.ts");

async function leave(...args: string[]) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  const [code, stdout, stderr] = await Promise.all([
    exit,
    readText(child.stdout),
    readText(child.stderr),
  ]);
  expect(stderr).not.toContain("secret");
  const lines = stderr.trimEnd().split("\n").filter(Boolean);
  return { code, goesOn: stdout === "goes on\n", lines: lines.map((line) => JSON.parse(line)) };
}

const inAgent = expect.stringMatching(/uncaught-agent\.ts:\d+:\d+$/);

describe("an uncaught error of an agent", () => {
  it.each(Object.keys(withoutLine))(
    "logs an agent's error with the ids of its run and keeps running: %s",
    async (name) => {
      const { code, goesOn, lines } = await leave("agent", name);
      expect({ code, goesOn }).toEqual({ code: 0, goesOn: true });
      const line = lines.find(({ message }) => message === "agent_error_uncaught");
      expect(line).toMatchObject({ level: "error", request_id: "r1" });
    },
  );

  it.each(Object.keys(withLine))(
    "logs an agent's error with the line of the agent and keeps running: %s",
    async (name) => {
      const { code, goesOn, lines } = await leave("agent", name);
      expect({ code, goesOn }).toEqual({ code: 0, goesOn: true });
      expect(lines).toEqual([
        expect.objectContaining({
          message: "agent_error_uncaught",
          request_id: "r1",
          cause_kind: "TypeError",
          source_line: inAgent,
        }),
      ]);
    },
  );

  it("recognizes an agent's error outside a run by its stack", async () => {
    const { code, goesOn, lines } = await leave("agent", "outside");
    expect({ code, goesOn }).toEqual({ code: 0, goesOn: true });
    expect(lines).toEqual([
      expect.objectContaining({ message: "agent_error_uncaught", source_line: inAgent }),
    ]);
  });

  it("logs a line that throws repeatedly once", async () => {
    const { goesOn, lines } = await leave("agent", "often");
    expect([goesOn, lines.length]).toEqual([true, 1]);
  });

  it.each(["an empty rejection", "a throw in a timer"])(
    "keeps an agent's error from the listeners of Lambda: %s",
    async (name) => {
      const { code, goesOn } = await leave("lambda", "agent", name);
      expect({ code, goesOn }).toEqual({ code: 0, goesOn: true });
    },
  );
});

describe("an uncaught error of the host", () => {
  it.each([
    "a throw in a timer",
    "a rejection",
    "an empty rejection",
    "a throw in a timer of its work for an agent",
  ])("exits with 1 and one log line: %s", async (name) => {
    const { code, goesOn, lines } = await leave("host", name);
    expect({ code, goesOn }).toEqual({ code: 1, goesOn: false });
    expect(lines).toEqual([
      expect.objectContaining({ level: "error", message: "host_error_uncaught" }),
    ]);
  });

  it("logs a host error with its kind and its line", async () => {
    const { lines } = await leave("host", "a throw in a timer");
    const source_line = expect.stringMatching(/uncaught-error\.ts:\d+:\d+$/);
    expect(lines).toEqual([expect.objectContaining({ cause_kind: "RangeError", source_line })]);
  });
});
