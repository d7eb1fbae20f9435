/** One step of a task, as the timeline and the operators' page show it. */

export type PictureZone = "slack" | "verification" | "transport" | "execution" | "agent";

export type PictureStep = {
  /** The time at which it happened or, if it took a while, began. */
  atMs: number;
  zone: PictureZone;
  title: string;
  /** Ids, kinds, sizes, durations in milliseconds; never texts. */
  detail: Record<string, string | number>;
  durationMs?: number;
  failed?: true;
  /** The message on the wire, with secrets redacted and texts replaced by their lengths. */
  frame?: unknown;
};
