/** The record of a token that was used, which makes it valid once. It lives beside the tasks in the Execution zone's store. */
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import { deriveId } from "./execution-task.ts";
import { createStoreGuard } from "./task-store.ts";

const usedTokenSchema = z.object({
  id: z.string(),
  revision: z.int(),
  state: z.literal("used_token"),
  expiresAtMs: z.number(),
});
export type UsedToken = z.infer<typeof usedTokenSchema>;

export type UsedTokenStore = Pick<TaskStore<UsedToken>, "create">;

/** Throws if the stored JSON is not such a record. */
export function parseUsedToken(json: unknown): UsedToken {
  return checkRecord({ schema: usedTokenSchema, json });
}

/** Resolves to true for the first use of a token in all processes that share the store. Rejects with `unavailable` if the store is. */
export type ClaimToken = (token: {
  issuer: string;
  jti: string;
  expiresAtMs: number;
}) => Promise<boolean>;

/** The clocks of the processes that share the store may differ. */
const clockDifferenceMs = 60_000;

export function createClaimToken(options: {
  store: UsedTokenStore;
  timeoutMs: number;
  log: Log;
}): ClaimToken {
  const { store } = options;
  const guard = createStoreGuard(options);
  return async ({ issuer, jti, expiresAtMs: tokenEndMs }) => {
    const id = deriveId(["used token", issuer, jti]);
    const expiresAtMs = tokenEndMs + clockDifferenceMs;
    const item = { id, revision: 1, state: "used_token" as const, expiresAtMs };
    const work = store.create({ item });
    return (await guard({ work, operation: "used_token_write" })) !== undefined;
  };
}
