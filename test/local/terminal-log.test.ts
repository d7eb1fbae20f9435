/** Log lines of the local commands: readable on a terminal, with colours unless NO_COLOR is set, and JSON elsewhere. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { formatLogLine } from "@sekisho/local/terminal-log.ts";
import { sekisho } from "../e2e/processes.ts";
import { folderOfTest } from "../tooling/cleanup.ts";

const controlSequence = "\u001b";

async function linesOf(env: Record<string, string>): Promise<string> {
  const cwd = folderOfTest();
  writeFileSync(
    join(cwd, "agent.mjs"),
    "export const agent = async () => { throw new Error('no key'); };\n",
  );
  writeFileSync(
    join(cwd, "sekisho.config.json"),
    JSON.stringify({ execution: { agent: "./agent.mjs" } }),
  );
  const process = sekisho({
    args: ["start", "--once", "hello"],
    cwd,
    env: { TERM: "xterm-256color", ...env },
  });
  return (await process.exited).stderr;
}

const onTerminal = {
  NODE_OPTIONS: `--import=${join(import.meta.dirname, "children/as-terminal.ts")}`,
};

describe("log lines", () => {
  it("prints readable, coloured log lines and agent errors on a terminal", async () => {
    const text = await linesOf(onTerminal);
    expect(text).toMatch(/\d\d:\d\d:\d\d.*warn.*execution.*agent_threw/);
    expect(text).toContain(`${controlSequence}[33mwarn `);
    expect(text).toContain(`${controlSequence}[31mThe agent failed`);
    expect(text).not.toContain('{"level"');
  });

  it("prints no colours when NO_COLOR is set", async () => {
    const text = await linesOf({ ...onTerminal, NO_COLOR: "1" });
    expect(text).toMatch(/^\d\d:\d\d:\d\d warn {2}execution {4}agent_threw request_id=/m);
    expect(text).toContain("agent.mjs:1:");
    expect(text).not.toContain(controlSequence);
  });

  it("prints JSON log lines without colours into a pipe, beside the errors of the agent", async () => {
    const text = await linesOf({});
    const [line = ""] = text.split("\n").filter((each) => each.startsWith("{"));
    expect(JSON.parse(line)).toMatchObject({ service: "execution", message: "agent_threw" });
    expect(text).toContain("agent.mjs:1:");
    expect(text).not.toContain(controlSequence);
  });
});

it("removes the characters that control a terminal from the fields of a line", () => {
  const json = {
    level: "warn",
    message: "odd",
    timestamp: "2026-01-02T03:04:05.000Z",
    service: "execution",
  };
  const line = JSON.stringify({
    ...json,
    reason: `a${controlSequence}[2Jb\nc`,
    trace_id: "t",
    attempt: 2,
  });
  const text = formatLogLine({ line, paint: (_format, values) => values });
  expect(text).toMatch(/warn {2}execution {4}odd reason=a\[2Jbc attempt=2$/);
});
