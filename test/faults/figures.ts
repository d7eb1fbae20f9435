/** What has been searched so far, counted. */
import type { Run } from "./run-plan.ts";
import { realMs } from "./virtual-time.ts";

export type Figures = {
  count(run: Run): void;
  /** One line for each story and engine, and one for all. */
  text(): string;
  failed(): number;
};

type Row = { runs: number; faults: number; exempt: number; failed: number };

export function createFigures(): Figures {
  const startMs = realMs();
  const rows = new Map<string, Row>();

  function sum(): Row {
    const total = { runs: 0, faults: 0, exempt: 0, failed: 0 };
    for (const row of rows.values()) {
      total.runs += row.runs;
      total.faults += row.faults;
      total.exempt += row.exempt;
      total.failed += row.failed;
    }
    return total;
  }

  return {
    count({ plan, violations, isExempt }) {
      const key = `${plan.story} on ${plan.engine}`;
      const row = rows.get(key) ?? { runs: 0, faults: 0, exempt: 0, failed: 0 };
      rows.set(key, row);
      row.runs += 1;
      row.faults += plan.faults.length;
      if (isExempt) row.exempt += 1;
      if (violations.length > 0) row.failed += 1;
    },
    text() {
      const total = sum();
      const seconds = (realMs() - startMs) / 1000;
      const lines = [...rows].map(([name, row]) => `${name.padEnd(20)} ${describe(row)}`);
      const speed = `in ${seconds.toFixed(1)} s, ${((1000 * seconds) / Math.max(1, total.runs)).toFixed(2)} ms each`;
      return [...lines, `${"all".padEnd(20)} ${describe(total)}, ${speed}`].join("\n");
    },
    failed: () => sum().failed,
  };
}

function describe({ runs, faults, exempt, failed }: Row): string {
  return `${runs} runs, ${faults} faults, ${exempt} exempt, ${failed} failures`;
}
