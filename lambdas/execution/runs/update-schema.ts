/** The shape of what an agent yields. */

import {
  answerersSchema,
  approvalsSchema,
  findRuleProblem,
} from "@sekisho/contracts/answer-rules.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { optionIdSchema, questionOptionSchema, stepSchema } from "@sekisho/contracts/methods.ts";
import { boundedMembers, optionalField } from "@sekisho/contracts/optional-field.ts";
import { questionFieldsSchema } from "@sekisho/contracts/question-fields.ts";
import { signInUrlSchema } from "@sekisho/contracts/sign-in.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import * as z from "zod";
import { yieldedArtifactSchema } from "./artifacts.ts";

/** The latest steps are read. Several may have one id, so these are more than a progress shows. */
const maxReadSteps = 1000;
/** More than the token counts of any model API. */
const maxUsageMembers = 100;
const maxPromptLength = 10_000;
const maxStateBytes = 64 * 1024;
const maxOptions = 20;
const maxLabelLength = 200;

const visibleText = (maxLength: number) =>
  z.string().min(1).max(maxLength).refine(isVisible, "must have a visible character");

/** An agent's update, checked. The messages are for the author of the agent. */
export const updateSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("progress"),
    text: z.string().optional(),
    percent: z.number().optional(),
    partial: z.string().optional(),
    steps: z
      .preprocess(
        (steps) => (Array.isArray(steps) ? steps.slice(-maxReadSteps) : steps),
        z.array(stepSchema.extend({ title: z.string().min(1) })),
      )
      .optional(),
  }),
  z.object({ type: z.literal("artifact"), artifact: yieldedArtifactSchema }),
  z.object({
    type: z.literal("answer"),
    text: z.string(),
    usage: optionalField(boundedMembers(z.looseObject({}), maxUsageMembers)),
    direct: z.boolean().optional(),
  }),
  z
    .object({
      type: z.literal("question"),
      prompt: visibleText(maxPromptLength),
      options: z
        .array(
          questionOptionSchema.extend({ id: optionIdSchema, label: visibleText(maxLabelLength) }),
        )
        .min(1)
        .max(maxOptions)
        .refine(
          (options) => new Set(options.map(({ id }) => id)).size === options.length,
          "two options have one id",
        )
        .optional(),
      fields: questionFieldsSchema.optional(),
      kind: z.literal("auth").optional(),
      url: signInUrlSchema.optional(),
      answerers: answerersSchema.optional(),
      approvals: approvalsSchema.optional(),
      state: z
        .unknown()
        .refine((value) => isJsonWithin({ value, maxBytes: maxStateBytes }), "more than 64 KiB")
        .optional(),
    })
    .refine(
      ({ options, fields, kind }) =>
        fields === undefined || (options === undefined && kind === undefined),
      {
        path: ["fields"],
        message: "cannot be used together with `options` or `kind`",
      },
    )
    .refine(({ url, options }) => url === undefined || options === undefined, {
      path: ["options"],
      message: "cannot be used together with `url`",
    })
    .superRefine((question, context) => {
      const problem = findRuleProblem(question);
      if (problem !== undefined)
        context.addIssue({ code: "custom", path: [problem.path], message: problem.message });
    }),
  z.object({
    type: z.literal("failure"),
    reason: z.enum(["execution_failed", "plan_error", "budget_exceeded"]),
    lost: z.boolean().optional(),
  }),
]);
export type Update = z.infer<typeof updateSchema>;
