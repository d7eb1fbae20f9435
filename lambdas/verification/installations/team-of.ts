/** Whose a bot token is, as Slack says (https://docs.slack.dev/reference/methods/auth.test). */
import * as z from "zod";
import { callWebApi } from "../slack/api/call.ts";
import { SlackError } from "../slack/api/slack.ts";
import { toSlackError } from "../slack/api/to-slack-error.ts";
import type { TeamOf } from "./tokens.ts";

const answerSchema = z.object({
  team_id: z.string(),
  enterprise_id: z.string().nullish(),
  is_enterprise_install: z.boolean().nullish(),
});

/** A token is always the same one's, so Slack is asked once for it. Rejects with a SlackError where Slack does not say. */
export function createTeamOf({ apiUrl, timeoutMs = 3000 }: { apiUrl: string; timeoutMs?: number }): TeamOf {
  let known: { token: string; team: Awaited<ReturnType<TeamOf>> } | undefined;

  async function ask(token: string): ReturnType<TeamOf> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const call = { apiUrl, method: "auth.test", args: {}, timeoutMs, signal };
      const { data } = answerSchema.safeParse(await callWebApi({ token: async () => token, ...call }));
      if (data === undefined) throw new SlackError("ambiguous");
      const isOfAll = data.is_enterprise_install === true && typeof data.enterprise_id === "string";
      return { team: data.team_id, ...(isOfAll ? { enterprise: data.enterprise_id ?? undefined } : {}) };
    } catch (thrown) {
      const error = toSlackError(thrown);
      if (error.kind === "gone") return undefined;
      throw error;
    }
  }

  return async (token) => {
    if (known?.token !== token) known = { token, team: await ask(token) };
    return known.team;
  };
}
