/** The check that Slack takes what Sekisho posts (https://docs.slack.dev/reference/methods/blocks.validate). Nothing is posted. */
import * as z from "zod";
import { formatSecretName } from "../../../lambdas/shared/config/secrets.ts";
import { toPrintable } from "../../../lambdas/verification/checks/health-requests.ts";
import { encodeForm, post } from "../../../lambdas/verification/slack/api/web-call.ts";
import { type Finding, failed, need, ok, skipped, warning } from "./check.ts";
import { createSlackSamples, type SlackSample } from "./sample-messages.ts";
import { requireSecret } from "./slack.ts";
import type { Machine } from "./targets.ts";

const maxAnswerBytes = 1024 * 1024;

const answerSchema = z.object({
  ok: z.boolean(),
  error: z.string().default("no reason").catch("no reason"),
  errors: z
    .array(z.object({ pointer: z.string().catch(""), code: z.string().catch("") }))
    .default([])
    .catch([]),
});

export async function checkBlocks({ config, bot, readSecret, signal }: Machine): Promise<Finding> {
  const { slack } = config;
  const unusable = `${formatSecretName(slack.botToken)} cannot be used here, so this was not checked.`;
  const { state } = await need(bot(), unusable);
  const token = await need(requireSecret(slack.botToken, readSecret), unusable);
  if (state !== "accepted")
    return skipped("Slack does not accept the bot token, so this was not checked.");
  const locale = slack.locale === "ja" ? "ja" : "en";
  const samples = createSlackSamples({ slack, locale, nowMs: Date.now() });
  const problems: string[] = [];
  for (const [count, sample] of samples.entries()) {
    const answer = await validate({ apiUrl: slack.apiUrl, token, sample, signal });
    if (answer === undefined || answer.error === "ratelimited")
      return warning(
        `Slack answered for ${count} of ${samples.length} samples, and then stopped answering.`,
        "Try again in a minute.",
      );
    if (answer.error === "unknown_method")
      return skipped("Slack does not have blocks.validate there, so this was not checked.");
    const { error, errors } = answer;
    const at = errors.slice(0, 1).map(({ pointer, code }) => ` at ${pointer || "/"}: ${code}`);
    if (!answer.ok) problems.push(`${sample.kind} (${toPrintable(`${error}${at}`)})`);
  }
  return problems.length === 0
    ? ok(`Slack accepts all ${samples.length} kinds of messages and views.`)
    : failed(`Slack refuses: ${problems.join("; ")}.`);
}

type Validation = { apiUrl: string; token: string; sample: SlackSample; signal: AbortSignal };

/** Undefined without an answer of Slack. */
async function validate({ apiUrl, token, sample: { blocks, isView }, signal }: Validation) {
  const url = new URL("blocks.validate", apiUrl.endsWith("/") ? apiUrl : `${apiUrl}/`);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/x-www-form-urlencoded",
  };
  const body = encodeForm(isView ? { view: { type: "home", blocks } } : { blocks });
  try {
    const answer = await post({ url, headers, body, maxBytes: maxAnswerBytes, signal });
    return answerSchema.safeParse(JSON.parse(Buffer.from(answer.body).toString())).data;
  } catch {
    return undefined;
  }
}
