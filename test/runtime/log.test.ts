/** Log lines: JSON, with nothing in them but what the allowlist names. */

import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createLog, isDebugged, type LogFields, type LogLevel } from "@sekisho/runtime/log.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";

function logToArray(level?: LogLevel) {
  const writtenLines: string[] = [];
  const log = createLog({
    service: "verification",
    write: (line) => writtenLines.push(line),
    now: () => Date.UTC(2026, 10, 1, 12),
    ...(level === undefined ? {} : { level }),
  });
  return { log, written: writtenLines, lines: () => writtenLines.map((line) => JSON.parse(line)) };
}

describe("a log line", () => {
  it("writes one JSON object with level, message, timestamp and service before the other fields", () => {
    const { log, written: writtenLines, lines } = logToArray();
    log.info("task_claimed", { request_id: "r-1", duration_ms: 3, drop: false });
    expect(writtenLines).toHaveLength(1);
    expect(writtenLines[0]).toMatch(/^\{.*\}\n$/);
    expect(lines()).toEqual([
      {
        level: "info",
        message: "task_claimed",
        timestamp: "2026-11-01T12:00:00.000Z",
        service: "verification",
        request_id: "r-1",
        duration_ms: 3,
        drop: false,
      },
    ]);
  });

  it("drops every field that is not on the allowlist", () => {
    const knownFields = ["level", "message", "timestamp", "service", "request_id"];
    forAll(fc.dictionary(fc.string(), fc.string())).hold((extra) => {
      const { log, lines } = logToArray();
      const own = Object.fromEntries(
        Object.entries(extra).map(([name, value]) => [`x${name}`, value]),
      );
      const fields: Record<string, string> = {
        ...own,
        text: "secret",
        token: "secret",
        request_id: "r",
      };
      log.info("event", fields as LogFields);
      expect(Object.keys(lines()[0]).sort()).toEqual(knownFields.sort());
    });
  });

  it("cuts a long value and leaves out an undefined one", () => {
    const { log, lines } = logToArray();
    log.warn("event", { address: "a".repeat(1000), task_id: undefined });
    expect(lines()[0].address).toBe("a".repeat(200));
    expect("task_id" in lines()[0]).toBe(false);
  });

  it("writes one line whatever a value contains", () => {
    forAll(fc.string({ unit: "binary" })).hold((state) => {
      const { log, written: writtenLines } = logToArray();
      log.error("event", { state: `${state}\n{"level":"forged"}` });
      expect(writtenLines.join("").trimEnd().split("\n")).toHaveLength(1);
    });
  });
});

describe("a log", () => {
  it.each<[LogLevel, LogLevel[]]>([
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
  ])("a log of level %s writes %j", (level, writtenText) => {
    const { log, lines } = logToArray(level);
    for (const each of ["debug", "info", "warn", "error"] as const) log[each]("event");
    expect(lines().map((line) => line.level)).toEqual(writtenText);
  });

  it("starts at info if no level is given", () => {
    const { log, lines } = logToArray();
    log.debug("event");
    log.info("event");
    expect(lines().map((line) => line.level)).toEqual(["info"]);
  });

  it("adds bound fields to every line, keeps the level, and prefers the fields of the line", () => {
    const { log, lines } = logToArray("warn");
    const boundLog = log.with({ request_id: "r-1", attempt: 1 }).with({ task_id: "t-1" });
    boundLog.info("event");
    boundLog.warn("event", { attempt: 2 });
    log.warn("event");
    expect(lines()).toMatchObject([{ request_id: "r-1", task_id: "t-1", attempt: 2 }, {}]);
    expect("request_id" in lines()[1]).toBe(false);
  });
});

const ratio = fc.double({ min: 0, max: 1, noNaN: true });

describe("a task with debug lines", () => {
  it("chooses at a higher ratio every task that it chooses at a lower one", () => {
    forAll(fc.uuid(), ratio, ratio).hold((requestId, one, other) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      expect(
        isDebugged({ requestId, ratio: less }) && !isDebugged({ requestId, ratio: more }),
      ).toBe(false);
    });
  });

  it("chooses the same tasks in both zones, whatever the letter case of their ids", () => {
    forAll(fc.uuid(), ratio).hold((requestId, share) => {
      const other = isDebugged({ requestId: requestId.toUpperCase(), ratio: share });
      expect(isDebugged({ requestId, ratio: share })).toBe(other);
    });
  });

  it.each([0.02, 0.1, 0.5, 0.9])("selects a share of about %s of all tasks", (share) => {
    const count = 10_000;
    const debuggedIds = Array.from({ length: count }, () => randomUUID()).filter((id) =>
      isDebugged({ requestId: id, ratio: share }),
    );
    // Six standard deviations: one run in hundreds of millions lies outside.
    const tolerance = 6 * Math.sqrt((share * (1 - share)) / count);
    expect(Math.abs(debuggedIds.length / count - share)).toBeLessThan(tolerance);
  });

  it("selects every task at the ratio 1 and no task at 0", () => {
    forAll(fc.string()).hold((requestId) => {
      expect([isDebugged({ requestId, ratio: 0 }), isDebugged({ requestId, ratio: 1 })]).toEqual([
        false,
        true,
      ]);
    });
  });
});

describe("a log with a debug ratio", () => {
  const half = 0.5;
  const ids = Array.from({ length: 50 }, () => randomUUID());
  const [debuggedId = "", other = ""] = [true, false].map(
    (isWanted) =>
      ids.find((requestId) => isDebugged({ requestId, ratio: half }) === isWanted) ?? "",
  );

  function logToArray() {
    const lines: string[] = [];
    const settings = { level: "error", debugRatio: half } as const;
    const log = createLog({ service: "execution", ...settings, write: (line) => lines.push(line) });
    return { log, messages: () => lines.map((line) => JSON.parse(line).message) };
  }

  it("writes every line of a chosen task, whether the id is on the line or bound", () => {
    const { log, messages } = logToArray();
    log.debug("own", { request_id: debuggedId });
    log.with({ request_id: debuggedId }).with({ attempt: 1 }).info("bound");
    expect(messages()).toEqual(["own", "bound"]);
  });

  it("applies the level to all other tasks and to lines without a task", () => {
    const { log, messages } = logToArray();
    log.warn("below", { request_id: other });
    log.warn("below");
    log.error("above", { request_id: other });
    log.error("above");
    expect(messages()).toEqual(["above", "above"]);
  });
});
