/** One step of a task's way, as every view of it shows it. */

export type PictureZone = "slack" | "verification" | "transport" | "execution" | "agent";

export type PictureStep = {
  /** When it happened or, of what took its time, when it began. */
  atMs: number;
  zone: PictureZone;
  title: string;
  /** Ids, kinds, sizes, durations in milliseconds; never texts. */
  detail: Record<string, string | number>;
  durationMs?: number;
  /** Something did not go as it should. */
  failed?: true;
  /** What went over the wire, secrets redacted and texts replaced by their lengths. */
  frame?: unknown;
};

/** `key`: steps of different sources with the same key, moments apart, are one and the same. */
export type SourceStep = { key?: string | undefined; step: PictureStep };

/** What is undefined is not shown. */
export function createDetail(values: Record<string, string | number | undefined>): PictureStep["detail"] {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}
