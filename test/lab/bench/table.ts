/** The tables of the bench as Markdown, and the page that holds them between its prose. Pure. */

/** A goal must be reached; an aim is what would be good. Of the ratio, or of the figure itself where there is no baseline. */
export type Goal = { atMost: number; aim?: number } | { atLeast: number; aim?: number };

/** `baseline` was measured in the same run and in the same unit. */
/** Beside another checkout. Two runs of one program differ by as much. */
export const noSlower: Goal = { atMost: 1.05 };
export const noFewer: Goal = { atLeast: 0.95 };

export type BenchRow = { name: string; ours: number; baseline?: number; unit: string; goal?: Goal };

/** `name` is that of its block in the page. The first row is the header. */
export type BenchTable = { name: string; cells: string[][] };

/** `baseline` is the head of the baseline's column. Without any baseline there are no ratios. */
export function ratioTable(request: {
  name: string;
  baseline: string;
  rows: readonly BenchRow[];
}): BenchTable {
  const { name, baseline: head, rows } = request;
  const lines = rows.map(({ name: what, unit, ours, baseline, goal }) => {
    const ratio = baseline === undefined ? undefined : ours / baseline;
    const figures = [formatFigure(ours), baseline === undefined ? "" : formatFigure(baseline)];
    return [
      `${what}, ${unit}`,
      ...figures,
      ratio?.toFixed(2) ?? "",
      formatGoal({ value: ratio ?? ours, goal }),
    ];
  });
  const cells = [["", "ours", head, "ratio", "goal"], ...lines];
  const isAlone = rows.every(({ baseline }) => baseline === undefined);
  return { name, cells: isAlone ? cells.map((line) => line.slice(0, 2)) : cells };
}

/** What was measured of a client and its server: the median of calls that are alone, and both under many calls. */
export type SideRow = {
  name: string;
  p50Ms: number;
  perSecond: number;
  /** The processor time of the server for each of many calls. */
  serverUs: number;
  goals?: { p50: Goal; perSecond: Goal } | undefined;
};

/** `baseline` is the first row. `together` is how many calls are under way. */
export function sidesTable(request: {
  name: string;
  together: number;
  baseline: SideRow;
  rows: readonly SideRow[];
}): BenchTable {
  const { name, together, baseline, rows } = request;
  const header = [
    "",
    "p50 alone, ms",
    "ratio",
    `calls/s, ${together} at a time`,
    "ratio",
    "server, µs a call",
    "ratio",
    "goal",
  ];
  const lines = [baseline, ...rows].map(({ name: what, goals, ...figures }) => {
    const cells = (["p50Ms", "perSecond", "serverUs"] as const).flatMap((figure) => [
      formatFigure(figures[figure]),
      (figures[figure] / baseline[figure]).toFixed(2),
    ]);
    const goal = goals && [
      `p50 ${formatGoal({ value: figures.p50Ms / baseline.p50Ms, goal: goals.p50 })}`,
      `calls/s ${formatGoal({ value: figures.perSecond / baseline.perSecond, goal: goals.perSecond })}`,
    ];
    return [what, ...cells, goal?.join("; ") ?? ""];
  });
  return { name, cells: [header, ...lines] };
}

/** Says whether the value reached its goal, as it is shown with two decimal places. */
export function formatGoal({ value, goal }: { value: number; goal: Goal | undefined }): string {
  if (goal === undefined) return "";
  const isLimit = "atMost" in goal;
  const bound = isLimit ? goal.atMost : goal.atLeast;
  const reaches = (limit: number) => {
    const shown = Number(value.toFixed(2));
    return isLimit ? shown <= limit : shown >= limit;
  };
  const aim =
    goal.aim === undefined ? "" : `, aim ${goal.aim}${reaches(goal.aim) ? "" : " (not reached)"}`;
  return `${isLimit ? "at most" : "at least"} ${bound}${reaches(bound) ? "" : ", **missed**"}${aim}`;
}

export function formatFigure(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

/** Aligned, so that it can be read on a terminal too. All columns but the first and a last one of goals hold numbers. */
export function formatTable({ cells }: BenchTable): string {
  const [header = [], ...lines] = cells;
  const isNumber = (column: number) => column > 0 && header[column] !== "goal";
  const widths = header.map((_, column) =>
    Math.max(3, ...cells.map((line) => line[column]?.length ?? 0)),
  );
  const toLine = (line: readonly string[]) => {
    const padded = line.map((cell, column) =>
      isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    return `| ${padded.join(" | ")} |\n`;
  };
  const rule = widths.map((width, column) =>
    isNumber(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [header, rule, ...lines].map(toLine).join("");
}

/** Puts each table into its block, with the line about its run. Throws if the page lacks a table's block, or has it twice. */
export function writeTables(request: {
  page: string;
  tables: readonly BenchTable[];
  about: string;
}): string {
  return request.tables.reduce((page, table) => {
    const { start, end } = blockOf(table.name);
    const parts = page.split(start);
    const [, newValue = ""] = parts;
    if (parts.length !== 2 || !newValue.includes(end))
      throw new Error(`The page needs one block ${start} … ${end}.`);
    const writtenText = `${start}\n\n${formatTable(table)}\n${request.about}\n${end}`;
    return `${parts[0]}${writtenText}${newValue.slice(newValue.indexOf(end) + end.length)}`;
  }, request.page);
}

function blockOf(name: string): { start: string; end: string } {
  return { start: `<!-- bench: ${name} -->`, end: `<!-- bench: end of ${name} -->` };
}
