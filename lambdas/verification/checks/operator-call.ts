/**
 * The requests of an operator to the deployed worker, and the worker's answers. Operators invoke the function's alias `operator`, which
 * requires lambda:InvokeFunction on the alias. Answers never contain a secret, a token or the text of a message.
 */
import * as z from "zod";

const requestSchema = z.discriminatedUnion("operator", [
  /** Without `names`, checks all destinations of the stage. */
  z.strictObject({
    operator: z.literal("check_destinations"),
    names: z.array(z.string().min(1).max(200)).max(500).exactOptional(),
  }),
  z.strictObject({ operator: z.literal("check_worker") }),
]);
export type OperatorRequest = z.infer<typeof requestSchema>;

/** Returns undefined for any other event, such as a batch of queue messages. */
export function readOperatorRequest(event: unknown): OperatorRequest | undefined {
  return requestSchema.safeParse(event).data;
}

/** A worker of another version may say more. */
const checkedSchema = z.object({
  name: z.string(),
  address: z.string(),
  health: z.enum(["healthy", "unhealthy", "unreachable"]),
  summary: z.string(),
  firstMs: z.number().exactOptional(),
  secondMs: z.number().exactOptional(),
});

export const destinationsAnswerSchema = z.object({ checked: z.array(checkedSchema) });
export type DestinationsAnswer = z.infer<typeof destinationsAnswerSchema>;

/** `error` is an error name such as `AccessDeniedException`. */
const reachSchema = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({ ok: z.literal(false), error: z.string() }),
]);
export type Reach = z.infer<typeof reachSchema>;

/** Slack's answer to the worker's bot token (auth.test). */
const botSchema = z.discriminatedUnion("state", [
  /** The secret cannot be read or is empty. */
  z.strictObject({ state: z.literal("unreadable"), error: z.string() }),
  z.strictObject({ state: z.literal("unreachable"), error: z.string() }),
  /** `error` is Slack's own error name. */
  z.strictObject({ state: z.literal("refused"), error: z.string() }),
  z.strictObject({
    state: z.literal("accepted"),
    user: z.string(),
    team: z.string(),
    teamId: z.string(),
    /** Absent if Slack does not list them. */
    scopes: z.array(z.string()).exactOptional(),
  }),
]);
export type BotAnswer = z.infer<typeof botSchema>;

export const workerAnswerSchema = z.strictObject({
  /** `refused` means that they were read but do not fit the deployed stage. */
  liveSettings: z.enum(["read", "unreadable", "refused"]),
  store: reachSchema,
  queue: reachSchema,
  bot: botSchema,
});
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;
