/** A record of the Verification zone's store as it is, whatever it is of: a task, its entry in the usage history, a quota. */
import * as z from "zod";

const recordSchema = z.looseObject({
  id: z.string(),
  revision: z.int(),
  state: z.string(),
  thread: z.string().optional(),
  principal: z.string().optional(),
  listedAtMs: z.int().optional(),
  expiresAtMs: z.int(),
});
export type StoredRecord = z.infer<typeof recordSchema>;

export function parseRecord(json: unknown): StoredRecord {
  return recordSchema.parse(json);
}
