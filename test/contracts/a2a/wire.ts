/** Values as they cross a wire, and what a schema has against them. */
import type * as z from "zod";

/** A value as it is after it was written as JSON and read again. */
export function wire(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

export function issuesOf(read: z.ZodSafeParseResult<unknown>): { path: string; message: string }[] {
  return read.error?.issues.map(({ path, message }) => ({ path: path.join("."), message })) ?? [];
}
