/**
 * The requests of an operator to the deployed worker, made by invoking the alias `operator` of its function, and the answers. Only
 * a principal with lambda:InvokeFunction on the alias can ask. Answers hold no secret, no token and no text of a message.
 */
import * as z from "zod";

const requestSchema = z.discriminatedUnion("operator", [
  /** All destinations of the stage where `names` is absent. */
  z.strictObject({
    operator: z.literal("check_destinations"),
    names: z.array(z.string().min(1).max(200)).max(500).exactOptional(),
  }),
  z.strictObject({ operator: z.literal("check_worker") }),
]);
export type OperatorRequest = z.infer<typeof requestSchema>;

/** Undefined where the event is not exactly such a request. */
export function readOperatorRequest(event: unknown): OperatorRequest | undefined {
  return requestSchema.safeParse(event).data;
}

const checkedSchema = z.strictObject({
  name: z.string(),
  address: z.string(),
  health: z.enum(["healthy", "unhealthy", "unreachable"]),
  words: z.string(),
  methods: z.array(z.string()).exactOptional(),
  firstMs: z.number().exactOptional(),
  secondMs: z.number().exactOptional(),
});

export const destinationsAnswerSchema = z.strictObject({
  checked: z.array(checkedSchema),
  /** Names that the stage does not have. */
  unknown: z.array(z.string()),
});
export type DestinationsAnswer = z.infer<typeof destinationsAnswerSchema>;

/** `error` is the name of an error, such as `AccessDeniedException`. */
const reachSchema = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true) }),
  z.strictObject({ ok: z.literal(false), error: z.string() }),
]);
export type Reach = z.infer<typeof reachSchema>;

/** Slack's answer to the worker's bot token (auth.test). */
const botSchema = z.discriminatedUnion("state", [
  /** The secret cannot be read, or holds nothing. */
  z.strictObject({ state: z.literal("unreadable"), error: z.string() }),
  z.strictObject({ state: z.literal("unreachable"), error: z.string() }),
  /** `error` is Slack's own name of it. */
  z.strictObject({ state: z.literal("refused"), error: z.string() }),
  z.strictObject({
    state: z.literal("accepted"),
    user: z.string(),
    team: z.string(),
    teamId: z.string(),
    /** Undefined where Slack does not say. */
    scopes: z.array(z.string()).exactOptional(),
  }),
]);
export type BotAnswer = z.infer<typeof botSchema>;

export const workerAnswerSchema = z.strictObject({
  /** `refused`: they were read, and do not fit what was deployed. */
  liveSettings: z.enum(["read", "unreadable", "refused"]),
  store: reachSchema,
  queue: reachSchema,
  bot: botSchema,
});
export type WorkerAnswer = z.infer<typeof workerAnswerSchema>;
