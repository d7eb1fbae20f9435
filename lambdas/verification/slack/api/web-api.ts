/** Implements the Slack interface with the Web API (https://docs.slack.dev/reference/methods). */

import * as z from "zod";
import { isSecureUrl } from "../../../../contracts/loopback.ts";
import type { Log } from "../../../shared/log.ts";
import { noTelemetry, type Telemetry } from "../../../shared/telemetry/telemetry.ts";
import { createRepeatCall, createSlackCall, type SlackCall } from "./call.ts";
import { createFileCalls } from "./files.ts";
import { createMessageReads } from "./messages.ts";
import { createAssistant, createPosts, createStreams, createViews, parseAnswer } from "./posts.ts";
import type { BotTokens, SlackApi } from "./slack.ts";

/**
 * Every call reads the token again, so that a rotated one takes effect. If Slack rejects it, the call is made once more with a
 * newer token. `timeoutMs` bounds each exchange and each wait before a retry, and `uploadTimeoutMs` the transfer of a file's
 * bytes. The caller's signal bounds everything together. `apiUrl` must be https, or http on loopback.
 */
export function createSlackApi(options: {
  tokens: BotTokens;
  apiUrl?: string;
  log: Log;
  telemetry?: Telemetry | undefined;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  random?: () => number;
  timeoutMs?: number;
  uploadTimeoutMs?: number;
}): SlackApi {
  const { tokens, apiUrl = "https://slack.com/api/", log, telemetry = noTelemetry, sleep, random } = options;
  const { timeoutMs = 10_000, uploadTimeoutMs = 60_000 } = options;
  requireSafeUrl(apiUrl);
  const repeating = createRepeatCall({ log, telemetry, maxDelayMs: timeoutMs, sleep, random });
  const call = createSlackCall({ tokens, apiUrl, timeoutMs, repeating });
  return {
    ...createPosts(call),
    ...createMessageReads(call),
    ...createPeople(call),
    ...createStreams(call),
    ...createFileCalls({ call, repeating, apiUrl, uploadTimeoutMs }),
    ...createAssistant(call),
    ...createViews(call),
  };
}

function requireSafeUrl(apiUrl: string): void {
  const url = URL.parse(apiUrl);
  if (url !== null && isSecureUrl(url)) return;
  throw new Error("The Slack API URL must be https (http only on loopback).");
}

const openedSchema = z.object({ channel: z.object({ id: z.string() }) });
/** https://docs.slack.dev/reference/objects/user-object */
const personSchema = z.object({
  user: z.object({
    locale: z.string().optional().catch(undefined),
    team_id: z.string().optional().catch(undefined),
    enterprise_user: z
      .object({ enterprise_id: z.string(), teams: z.array(z.string()).default([]) })
      .optional()
      .catch(undefined),
  }),
});
const membersSchema = z.object({ users: z.array(z.string()) });

/** Looks up users and groups, opens direct messages, and publishes the App Home. */
export function createPeople(
  call: SlackCall,
): Pick<SlackApi, "openDirect" | "publishHome" | "person" | "groupMembers"> {
  return {
    async openDirect({ user, ...common }) {
      const args = { users: user };
      const answer = await call({ method: "conversations.open", args, ...common, repeatable: true });
      return { channel: parseAnswer(openedSchema, answer).channel.id };
    },
    async publishHome({ user, blocks, ...common }) {
      const args = { user_id: user, view: { type: "home", blocks } };
      await call({ method: "views.publish", args, ...common, repeatable: true });
    },
    async person({ user, ...common }) {
      const args = { user, include_locale: true };
      const answer = await call({ method: "users.info", args, ...common, repeatable: true });
      const { locale, team_id: team, enterprise_user: colleague } = parseAnswer(personSchema, answer).user;
      const workspaces = [...new Set([...(team === undefined ? [] : [team]), ...(colleague?.teams ?? [])])];
      return { locale, workspaces, organization: colleague?.enterprise_id };
    },
    async groupMembers({ group, ...common }) {
      const { team, enterprise } = common.installation;
      // A group belongs to one workspace, and the token of an organization is valid in all of them.
      const args = { usergroup: group, ...(enterprise === undefined ? {} : { team_id: team }) };
      const answer = await call({ method: "usergroups.users.list", args, ...common, repeatable: true });
      return parseAnswer(membersSchema, answer).users;
    },
  };
}
