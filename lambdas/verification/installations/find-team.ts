/** Asks Slack which workspace a token belongs to (https://docs.slack.dev/reference/methods/auth.test). */

import { type CachedValue, createCachedValue } from "@sekisho/runtime/async/cache.ts";
import * as z from "zod";
import { SlackError } from "../slack/api/slack.ts";
import { callWebApi, toSlackError } from "../slack/api/web-call.ts";
import type { FindTeam } from "./installations.ts";

/** The limit for one call to Slack. */
const timeoutMs = 3000;
const askAgainMs = 60_000;

const answerSchema = z.object({
  team_id: z.string(),
  enterprise_id: z.string().nullish(),
  is_enterprise_install: z.boolean().nullish(),
});

/**
 * Asks Slack once per token, because the owner of a token never changes. Asks again after a minute about a token that Slack refused,
 * because a workspace may restore the access. Rejects with a SlackError if Slack gives no clear answer.
 */
export function createFindTeam({
  apiUrl,
  now = Date.now,
}: {
  apiUrl: string;
  now?: () => number;
}): FindTeam {
  let knownTeam: { token: string; team: CachedValue<Awaited<ReturnType<FindTeam>>> } | undefined;

  async function ask(token: string): ReturnType<FindTeam> {
    try {
      const call = { apiUrl, method: "auth.test", args: {}, timeoutMs };
      const { data } = answerSchema.safeParse(
        await callWebApi({ token: async () => token, ...call }),
      );
      if (data === undefined) throw new SlackError("ambiguous");
      const isOrganizationWide =
        data.is_enterprise_install === true && typeof data.enterprise_id === "string";
      return {
        team: data.team_id,
        ...(isOrganizationWide ? { enterprise: data.enterprise_id ?? undefined } : {}),
      };
    } catch (cause) {
      const error = toSlackError(cause);
      if (error.kind === "gone") return undefined;
      throw error;
    }
  }

  function createTeam(token: string) {
    async function load() {
      const value = await ask(token);
      return { value, keepMs: value === undefined ? askAgainMs : Number.POSITIVE_INFINITY };
    }
    return createCachedValue({ load, now });
  }

  return async (token) => {
    if (knownTeam?.token !== token) knownTeam = { token, team: createTeam(token) };
    return knownTeam.team.get();
  };
}
