/** The seam of what lies elsewhere than in the Verification zone's store: files, dead letters, the Execution zone's records. */

export type DataPart = {
  /** As a line of the listing begins. */
  what: string;
  /** How many there are of these request ids. Rejects with what to do where that cannot be found out. */
  count(request: { ids: ReadonlySet<string> }): Promise<number>;
  /** Repeated it finds nothing more. Resolves to how many it erased. */
  erase(request: { ids: ReadonlySet<string> }): Promise<number>;
};
