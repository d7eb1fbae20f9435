import { describe, expect, it } from "@jest/globals";
import { formatGoal, formatTable, ratioTable, sidesTable, writeTables } from "./table.ts";

describe("a goal", () => {
  const atMost = { atMost: 2.4, aim: 2 };
  const atLeast = { atLeast: 0.32, aim: 0.42 };
  it.each([
    [{ value: 1.9, goal: atMost }, "at most 2.4, aim 2"],
    [{ value: 2.2, goal: atMost }, "at most 2.4, aim 2 (not reached)"],
    [{ value: 2.5, goal: atMost }, "at most 2.4, **missed**, aim 2 (not reached)"],
    [{ value: 0.5, goal: atLeast }, "at least 0.32, aim 0.42"],
    [{ value: 0.4, goal: atLeast }, "at least 0.32, aim 0.42 (not reached)"],
    [{ value: 0.3, goal: atLeast }, "at least 0.32, **missed**, aim 0.42 (not reached)"],
    [{ value: 1.304, goal: { atMost: 1.3 } }, "at most 1.3"],
    [{ value: 1.306, goal: { atMost: 1.3 } }, "at most 1.3, **missed**"],
    [{ value: 1, goal: undefined }, ""],
  ])("formats the goal %j as %j", (values, text) => {
    expect(formatGoal(values)).toBe(text);
  });
});

describe("a table", () => {
  it("shows each figure beside its baseline and their ratio", () => {
    const rows = [{ name: "a task", unit: "ms", ours: 1.5, baseline: 2, goal: { atMost: 0.5 } }];
    const table = ratioTable({ name: "task", baseline: "before", rows });
    expect(formatTable(table)).toBe(
      [
        "|            | ours | before | ratio | goal                    |",
        "| ---------- | ---: | -----: | ----: | ----------------------- |",
        "| a task, ms | 1.50 |   2.00 |  0.75 | at most 0.5, **missed** |",
        "",
      ].join("\n"),
    );
  });

  it("omits ratios and goals without a baseline", () => {
    const rows = [{ name: "a task", unit: "ms", ours: 1.5, goal: { atMost: 0.5 } }];
    const { cells } = ratioTable({ name: "task", baseline: "before", rows });
    expect(cells).toEqual([
      ["", "ours"],
      ["a task, ms", "1.50"],
    ]);
  });

  it("shows the ratios to the first row", () => {
    const goals = { p50: { atMost: 1.5 }, perSecond: { atLeast: 0.6 } };
    const { cells } = sidesTable({
      name: "transport",
      together: 64,
      baseline: { name: "an echo", p50Ms: 0.1, perSecond: 20_000, serverUs: 20 },
      rows: [{ name: "our host", p50Ms: 0.2, perSecond: 15_000, serverUs: 50, goals }],
    });
    expect(cells.slice(1)).toEqual([
      ["an echo", "0.100", "1.00", "20,000", "1.00", "20.0", "1.00", ""],
      [
        ...["our host", "0.200", "2.00", "15,000", "0.75", "50.0", "2.50"],
        "p50 at most 1.5, **missed**; calls/s at least 0.6",
      ],
    ]);
  });
});

describe("the page", () => {
  const table = (name: string, text: string) => ({ name, cells: [[""], [text]] });
  const page = [
    "Before.",
    "<!-- bench: task -->",
    "old",
    "<!-- bench: end of task -->",
    "Between.",
    "<!-- bench: cold -->",
    "<!-- bench: end of cold -->",
    "After.",
  ].join("\n");

  it("keeps the prose and the tables that were not measured", () => {
    expect(writeTables({ page, tables: [table("task", "new")], about: "Node 24." })).toBe(
      page.replace("old", "|     |\n| --- |\n| new |\n\nNode 24.").replace("-->\n|", "-->\n\n|"),
    );
  });

  it("does not change the page when the same tables are written again", () => {
    const tables = [table("task", "new"), table("cold", "$& too")];
    const writtenText = writeTables({ page, tables, about: "Node 24." });
    expect(writtenText).toContain("| $& too |");
    expect(writeTables({ page: writtenText, tables, about: "Node 24." })).toBe(writtenText);
  });

  it.each([
    ["lacks the table's block", page.replace("bench: task", "bench: other")],
    ["lacks the end of the block", page.replace("bench: end of task", "bench: end of other")],
    ["has the block twice", `${page}\n${page}`],
  ])("refuses to write a page that %s", (_what, spoilt) => {
    expect(() =>
      writeTables({ page: spoilt, tables: [table("task", "new")], about: "Node 24." }),
    ).toThrow("needs one block");
  });
});
