/** Values after a trip through JSON, and the issues that a schema finds in them. */
import type * as z from "zod";

/** Writes a value as JSON and reads it back. */
export function wire(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

export function issuesOf(read: z.ZodSafeParseResult<unknown>): { path: string; message: string }[] {
  return read.error?.issues.map(({ path, message }) => ({ path: path.join("."), message })) ?? [];
}
