/** The code of Slack's redirect exchanged for a bot token (https://docs.slack.dev/reference/methods/oauth.v2.access). */
import * as z from "zod";
import type { StoredInstallation } from "../installations/installations.ts";
import { boundedFetch } from "../slack/api/bounded-fetch.ts";

const maxAnswerBytes = 64 * 1024;

const idSchema = (letter: string) => z.string().regex(new RegExp(`^${letter}[A-Z0-9]{1,63}$`));
const placeSchema = (letter: string) => z.object({ id: idSchema(letter), name: z.string().optional() }).nullish();

const grantedSchema = z.object({
  ok: z.literal(true),
  access_token: z.string().regex(/^xoxb-/),
  refresh_token: z.string().optional(),
  bot_user_id: z.string(),
  scope: z.string(),
  team: placeSchema("T"),
  enterprise: placeSchema("E"),
  is_enterprise_install: z.boolean().nullish(),
});
const refusedSchema = z.object({ ok: z.literal(false), error: z.string().regex(/^[a-z_]{1,80}$/) });

export type Exchanged =
  | { type: "granted"; id: string; name: string | undefined; installation: StoredInstallation }
  /** The code is none, or was used already. */
  | { type: "bad_code"; slackError: string }
  /** Slack refuses it for a reason that only whoever runs the app can do something about. */
  | { type: "refused"; slackError: string }
  /** Nobody knows; a code can be used only once, so all has to begin again. */
  | { type: "unavailable" };

const badCode: readonly string[] = ["invalid_code", "code_already_used", "code_expired"];
const passing: readonly string[] = [
  "ratelimited",
  "fatal_error",
  "internal_error",
  "service_unavailable",
  "request_timeout",
];

/** Never rejects, and gives nothing of what Slack said but names of errors. */
export async function exchangeCode({
  code,
  clientId,
  clientSecret,
  apiUrl,
  nowMs,
  timeoutMs,
}: {
  code: string;
  clientId: string;
  clientSecret: string;
  apiUrl: string;
  nowMs: number;
  timeoutMs: number;
}): Promise<Exchanged> {
  const answer = await post({ code, clientId, clientSecret, apiUrl, timeoutMs }).catch(() => undefined);
  const refused = refusedSchema.safeParse(answer).data;
  if (refused !== undefined) {
    const { error: slackError } = refused;
    if (badCode.includes(slackError)) return { type: "bad_code", slackError };
    return passing.includes(slackError) ? { type: "unavailable" } : { type: "refused", slackError };
  }
  const granted = grantedSchema.safeParse(answer).data;
  return granted === undefined ? { type: "unavailable" } : readGranted({ granted, nowMs });
}

async function post({
  code,
  clientId,
  clientSecret,
  apiUrl,
  timeoutMs,
}: Pick<Parameters<typeof exchangeCode>[0], "code" | "clientId" | "clientSecret" | "apiUrl" | "timeoutMs">) {
  const send = boundedFetch({ signal: AbortSignal.timeout(timeoutMs), maxBytes: maxAnswerBytes });
  const response = await send(new URL("oauth.v2.access", apiUrl), {
    method: "POST",
    redirect: "manual",
    headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}` },
    body: new URLSearchParams({ code }),
  });
  const json: unknown = await response.json();
  return json;
}

function readGranted({ granted, nowMs }: { granted: z.infer<typeof grantedSchema>; nowMs: number }): Exchanged {
  const { team, enterprise, is_enterprise_install: isOfAll, refresh_token: rotates } = granted;
  // A token that ends after twelve hours would need somebody to renew it.
  if (rotates !== undefined) return { type: "refused", slackError: "token_rotation_is_on" };
  const place = isOfAll === true ? enterprise : team;
  if (place === null || place === undefined) return { type: "unavailable" };
  const installation = {
    botToken: granted.access_token,
    ...(isOfAll === true ? {} : { team: place.id }),
    ...(enterprise === null || enterprise === undefined ? {} : { enterprise: enterprise.id }),
    botUser: granted.bot_user_id,
    installedAtMs: nowMs,
    scopes: granted.scope.split(",").filter((scope) => scope !== ""),
  };
  return { type: "granted", id: place.id, name: place.name, installation };
}
