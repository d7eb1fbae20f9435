/** What an agent yields, checked like everything that crosses a boundary: an agent may be plain JavaScript. */
import * as z from "zod";
import { artifactSchema, optionIdSchema, questionOptionSchema } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";

const maxPromptLength = 10_000;
const maxOptions = 20;
const maxLabelLength = 200;

const updateSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("progress"),
    text: z.string().optional(),
    percent: z.number().optional(),
    partial: z.string().optional(),
  }),
  z.object({ type: z.literal("artifact"), artifact: artifactSchema }),
  z.object({
    type: z.literal("answer"),
    text: z.string(),
    usage: z.looseObject({}).optional(),
    direct: z.boolean().optional(),
  }),
  z.object({
    type: z.literal("question"),
    prompt: z.string().min(1).max(maxPromptLength),
    options: z
      .array(questionOptionSchema.extend({ id: optionIdSchema, label: z.string().min(1).max(maxLabelLength) }))
      .min(1)
      .max(maxOptions)
      .optional(),
    kind: z.literal("auth").optional(),
  }),
  z.object({ type: z.literal("failure"), reason: z.enum(["execution_failed", "plan_error", "budget_exceeded"]) }),
]);
type Update = z.infer<typeof updateSchema>;

/** Undefined for what is no update; the log says what is wrong at which place (`options.0.id: too_big`), and no value. */
export function readUpdate({ yielded, log }: { yielded: unknown; log: Log }): Update | undefined {
  const { data, error } = updateSchema.safeParse(yielded);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data;
  const cause_kind = `${["update", ...issue.path].join(".")}: ${issue.code}`;
  log.warn("agent_update_refused", { reason: "execution_failed", cause_kind });
  return undefined;
}
