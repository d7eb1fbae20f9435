/** One step of a task as every page shows it. The local page has recorded steps, the operators' page the steps of the record. */
export type TimelineStep = {
  /** Milliseconds since 1970. */
  atMs: number;
  zone: string;
  title: string;
  /** The request and the response of a call have the same one. */
  call?: string | undefined;
  failed?: boolean | undefined;
  /** The task was refused or canceled. */
  stopped?: boolean | undefined;
  detail?: Readonly<Record<string, unknown>>;
  /** What went over the wire: a JSON-RPC request or response. */
  frame?: unknown;
};
