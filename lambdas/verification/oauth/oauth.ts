/** Slack's OAuth flow (https://docs.slack.dev/authentication/installing-with-oauth): how the app gets into further workspaces. */
import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Installations, StoredInstallation } from "../installations/installations.ts";
import { boundedFetch } from "../slack/api/call.ts";
import type { InstallLedger } from "./ledger.ts";
import { type InstallSituation, pageResponse, readLocale, safeHeaders } from "./page.ts";
import { browserCookie, issueState, noBrowserCookie, readBrowserId, verifyState } from "./state.ts";

export type Oauth = (request: Request) => Promise<Response>;

const installPath = "/slack/install";
const redirectPath = "/slack/oauth_redirect";

/** No code of Slack's is longer; what is does not get to Slack. */
const maxCodeLength = 1000;

/**
 * Serves the two addresses; never rejects. Only path, query and headers of the request count. Where a browser is sent back to is
 * the redirect URL of the app's manifest. `scopes` are the manifest's. `teams` are the workspaces and organizations that may
 * install; without it all may. A state is used once, whatever comes of it.
 */
export function createOauth({
  clientId,
  clientSecret,
  scopes,
  installations,
  ledger,
  teams,
  stateSalt,
  apiUrl,
  log,
  now = Date.now,
  newNonce = () => randomBytes(32).toString("base64url"),
  timeoutMs = 8000,
}: {
  clientId: string;
  clientSecret: () => Promise<string>;
  scopes: readonly string[];
  installations: Pick<Installations, "put">;
  ledger: InstallLedger;
  teams?: readonly string[] | undefined;
  /** States of another salt are void. */
  stateSalt?: string;
  apiUrl: string;
  log: Log;
  now?: () => number;
  newNonce?: () => string;
  timeoutMs?: number;
}): Oauth {
  async function begin(): Promise<Response> {
    const browser = newNonce();
    const state = await issueState({ clientSecret: await secret(), salt: stateSalt, browser, nowMs: now() });
    const target = new URL("/oauth/v2/authorize", apiUrl);
    target.search = new URLSearchParams({ client_id: clientId, scope: scopes.join(","), state }).toString();
    const headers = { ...safeHeaders, location: target.href, "set-cookie": browserCookie(browser) };
    return new Response(null, { status: 302, headers });
  }

  async function finish({ query, cookies }: { query: URLSearchParams; cookies: string | null }): Promise<Ended> {
    const { state = "", code = "", error } = Object.fromEntries(query);
    const browser = readBrowserId(cookies);
    const key = await secret();
    const proof = { clientSecret: key, salt: stateSalt, state, nowMs: now() };
    const verified = browser === undefined ? undefined : await verifyState({ ...proof, browser });
    if (verified === undefined) return { situation: "bad_state" };
    if (!(await ledger.useState(verified))) return { situation: "bad_state" };
    if (error !== undefined) return { situation: error === "access_denied" ? "denied" : "refused" };
    if (code === "" || code.length > maxCodeLength) return { situation: "bad_code" };
    const exchanged = await exchangeCode({ code, clientId, clientSecret: key, apiUrl, nowMs: now(), timeoutMs });
    if (exchanged.type === "unavailable") return { situation: "unavailable" };
    if (exchanged.type !== "granted") return { situation: exchanged.type, slackError: exchanged.slackError };
    const { id, name, installation } = exchanged;
    const ids = [installation.team, installation.enterprise];
    if (teams !== undefined && !ids.some((id) => id !== undefined && teams.includes(id)))
      return { situation: "not_listed", team: id };
    // Only what Slack granted counts, so that nobody uses up the day with codes that are none.
    if (!(await ledger.countInstallation())) return { situation: "too_many", team: id };
    await installations.put({ id, installation });
    return { situation: "installed", team: id, name };
  }

  async function secret(): Promise<string> {
    const value = await clientSecret();
    if (value === "") throw new Error("There is no client secret.");
    return value;
  }

  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const locale = readLocale(request.headers.get("accept-language"));
    if (request.method !== "GET" || (pathname !== installPath && pathname !== redirectPath))
      return pageResponse({ situation: "not_found", locale });
    try {
      if (pathname === installPath) return await begin();
      const ended = await finish({ query: searchParams, cookies: request.headers.get("cookie") });
      const { situation, slackError, team, name } = ended;
      if (situation === "installed") log.info("app_installed", { team });
      else log.warn("app_not_installed", { reason: situation, slack_error: slackError, team });
      return pageResponse({ situation, locale, name, headers: { "set-cookie": noBrowserCookie } });
    } catch (thrown) {
      log.error("app_not_installed", { reason: "unavailable", cause_kind: errorKind(thrown) });
      return pageResponse({ situation: "unavailable", locale });
    }
  };
}

type Ended = { situation: InstallSituation; slackError?: string; team?: string; name?: string | undefined };

const maxAnswerBytes = 64 * 1024;

const idSchema = (letter: string) => z.string().regex(new RegExp(`^${letter}[A-Z0-9]{1,63}$`));
const ownerSchema = (letter: string) => z.object({ id: idSchema(letter), name: z.string().optional() }).nullish();

const grantedSchema = z.object({
  ok: z.literal(true),
  access_token: z.string().regex(/^xoxb-/),
  refresh_token: z.string().optional(),
  bot_user_id: z.string(),
  scope: z.string(),
  team: ownerSchema("T"),
  enterprise: ownerSchema("E"),
  is_enterprise_install: z.boolean().nullish(),
});
const refusedSchema = z.object({ ok: z.literal(false), error: z.string().regex(/^[a-z_]{1,80}$/) });

type ExchangeResult =
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
async function exchangeCode({
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
}): Promise<ExchangeResult> {
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

function readGranted({ granted, nowMs }: { granted: z.infer<typeof grantedSchema>; nowMs: number }): ExchangeResult {
  const { team, enterprise, is_enterprise_install: isOfAll, refresh_token: rotates } = granted;
  // A token that ends after twelve hours would need somebody to renew it.
  if (rotates !== undefined) return { type: "refused", slackError: "token_rotation_is_on" };
  const owner = isOfAll === true ? enterprise : team;
  if (owner === null || owner === undefined) return { type: "unavailable" };
  const installation = {
    botToken: granted.access_token,
    ...(isOfAll === true ? {} : { team: owner.id }),
    ...(enterprise === null || enterprise === undefined ? {} : { enterprise: enterprise.id }),
    botUser: granted.bot_user_id,
    installedAtMs: nowMs,
    scopes: granted.scope.split(",").filter((scope) => scope !== ""),
  };
  return { type: "granted", id: owner.id, name: owner.name, installation };
}
