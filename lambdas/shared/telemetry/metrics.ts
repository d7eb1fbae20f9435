/** The metrics seam: what is counted and measured, by names and labels of which there are finitely many (metric-table.ts). */
import type { LabelsOf, MetricName } from "./metric-table.ts";

export type Metrics = {
  /** Counts `by` (1) more. */
  add<N extends MetricName<"counter">>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** One measured value, in the unit that the name ends with. */
  observe<N extends MetricName<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** What it is now. */
  set<N extends MetricName<"gauge">>(name: N, labels: LabelsOf<N>, value: number): void;
};

export const noMetrics: Metrics = { add() {}, observe() {}, set() {} };
