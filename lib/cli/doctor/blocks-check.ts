/** The check that Slack takes what Sekisho posts (https://docs.slack.dev/reference/methods/blocks.validate). Nothing is posted. */
import * as z from "zod";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { formatSecretName } from "../../../lambdas/shared/config/secrets.ts";
import { toPrintable } from "../../../lambdas/verification/checks/health-requests.ts";
import type { BotAnswer } from "../../../lambdas/verification/checks/operator-call.ts";
import { encodeForm, post } from "../../../lambdas/verification/slack/api/web-call.ts";
import { type Check, failed, need, ok, row, skipped, warning } from "./check.ts";
import { createSlackSamples, type SlackSample } from "./sample-messages.ts";
import { type ReadSecret, requireSecret } from "./slack.ts";

const maxAnswerBytes = 1024 * 1024;

const answerSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional().catch(undefined),
  errors: z
    .array(z.object({ pointer: z.string().catch(""), code: z.string().catch("") }))
    .optional()
    .catch(undefined),
});
type Answer = z.infer<typeof answerSchema>;

type BlocksCheck = {
  config: Config;
  identity: () => Promise<BotAnswer>;
  readSecret: ReadSecret;
  now?: () => number;
};

/** `identity` rejects with a CheckEnded where Slack was not asked. */
export function blocksCheck({
  config: { slack },
  identity,
  readSecret,
  now = Date.now,
}: BlocksCheck): Check {
  const refused = "Slack does not accept the bot token, so this was not checked.";
  const ask = async () => ({
    bot: await identity(),
    token: await requireSecret(slack.botToken, readSecret),
  });
  const needs = need(
    ask,
    `${formatSecretName(slack.botToken)} cannot be used here, so this was not checked.`,
  );
  return row({
    name: "blocks of messages",
    needs,
    async check({ bot, token }, signal) {
      if (bot.state !== "accepted") return skipped(refused);
      const locale = slack.locale === "ja" ? "ja" : "en";
      const samples = createSlackSamples({ slack, locale, nowMs: now() });
      const problems: string[] = [];
      for (const [count, sample] of samples.entries()) {
        const answer = await validate({ apiUrl: slack.apiUrl, token, sample, signal });
        if (answer === undefined || answer.error === "ratelimited") {
          const done = `Slack answered for ${count} of ${samples.length} samples, and then stopped answering.`;
          return warning(done, "Try again in a minute.");
        }
        if (answer.error === "unknown_method") {
          return skipped("Slack does not have blocks.validate there, so this was not checked.");
        }
        if (!answer.ok) problems.push(`${sample.kind} (${describe(answer)})`);
      }
      if (problems.length === 0)
        return ok(`Slack accepts all ${samples.length} kinds of messages and views.`);
      const remedy =
        "Please report it. Until it is fixed, people see these messages without buttons and formatting, or not at all.";
      return failed(`Slack refuses: ${problems.join("; ")}.`, remedy);
    },
  });
}

/** Undefined without an answer of Slack. */
async function validate(request: {
  apiUrl: string;
  token: string;
  sample: SlackSample;
  signal: AbortSignal;
}): Promise<Answer | undefined> {
  const { apiUrl, token, sample, signal } = request;
  const { blocks, isView } = sample;
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

/** Slack's own name, and where in the sample. */
function describe({ error = "no reason", errors = [] }: Answer): string {
  const [first] = errors;
  const where =
    first === undefined ? "" : ` at ${first.pointer || "/"}${first.code && `: ${first.code}`}`;
  return toPrintable(`${error}${where}`);
}
