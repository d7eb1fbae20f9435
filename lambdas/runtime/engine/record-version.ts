/** The version of stored records, and which of them this version reads. The rules are in docs/how-to/upgrade.md. */

/**
 * Semantic, like the contract's. A minor version adds members that may be absent, or values. A major version changes what is there. The
 * records of 1.0.0 are in `test/fixtures/1.0.0`, and every later version reads them.
 */
export const recordVersion = "1.0.0";

/**
 * A newer version has written the record, and this one cannot read it. The record is intact, so nothing may be done about it: the newer
 * version goes on with it.
 */
export class NewerRecordError extends Error {
  constructor(options?: ErrorOptions) {
    super("A newer version of Sekisho has written this record. Use that version.", options);
    this.name = "NewerRecordError";
  }
}

/** True if one of the errors that led to this one is a NewerRecordError. */
export function isNewerRecord(error: unknown): boolean {
  if (error instanceof NewerRecordError) return true;
  return error instanceof Error && isNewerRecord(error.cause);
}

type Comparison = "newer_major" | "newer" | "known";

/** Anything but a version is `known`, so that the record's own check refuses it. */
export function compareVersion(version: unknown): Comparison {
  const other = numbersIn(version);
  const own = numbersIn(recordVersion);
  const index = other.findIndex((number, place) => number !== own[place]);
  if (index < 0 || Number(other[index]) < Number(own[index])) return "known";
  return index === 0 ? "newer_major" : "newer";
}

function numbersIn(version: unknown): number[] {
  const [, ...numbers] = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(String(version)) ?? [];
  return numbers.map(Number);
}

/**
 * Checks the JSON and returns it as it is. Members that this version does not know stay, at every depth, so that they survive when this
 * version writes the record again.
 */
export function checkRecord<T>({
  schema,
  json,
}: {
  schema: { parse(json: unknown): T };
  json: unknown;
}): T {
  schema.parse(json);
  return json as T;
}
