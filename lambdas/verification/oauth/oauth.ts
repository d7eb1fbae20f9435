/** Installs the app in further workspaces by Slack's OAuth flow (https://docs.slack.dev/authentication/installing-with-oauth). */
import { randomBytes } from "node:crypto";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { readResponseBody } from "@sekisho/runtime/http/read-body.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import * as z from "zod";
import type { Installations, StoredInstallation } from "../installations/installations.ts";
import type { InstallLedger } from "./ledger.ts";
import { type InstallSituation, pageResponse, readLocale, safeHeaders } from "./page.ts";
import { browserCookie, issueState, noBrowserCookie, readBrowserId, verifyState } from "./state.ts";

export type Oauth = (request: Request) => Promise<Response>;

const installPath = "/slack/install";
const redirectPath = "/slack/oauth_redirect";

/** Slack's codes are shorter. Longer ones are rejected without asking Slack. */
const maxCodeLength = 1000;
const timeoutMs = 8000;

/**
 * Serves the install page and the redirect URL of the app's manifest. Never rejects. Reads only the path, the query and the
 * headers of a request. `scopes` are those of the manifest. `teams` lists the workspaces and organizations that may install
 * the app; without it, all may. A state is used up by the first request that presents it, even if the installation fails.
 */
export function createOauth(options: {
  clientId: string;
  clientSecret: () => Promise<string>;
  scopes: readonly string[];
  installations: Pick<Installations, "put">;
  ledger: InstallLedger;
  teams?: readonly string[] | undefined;
  /** States that were issued with another salt are invalid. */
  stateSalt?: string;
  apiUrl: string;
  log: Log;
  now?: () => number;
}): Oauth {
  const { clientId, clientSecret, scopes, installations, ledger, teams, stateSalt, apiUrl, log } =
    options;
  const { now = Date.now } = options;
  async function begin(): Promise<Response> {
    const browser = randomBytes(32).toString("base64url");
    const state = await issueState({
      clientSecret: await secret(),
      salt: stateSalt,
      browser,
      nowMs: now(),
    });
    const target = new URL("/oauth/v2/authorize", apiUrl);
    target.search = new URLSearchParams({
      client_id: clientId,
      scope: scopes.join(","),
      state,
    }).toString();
    const headers = { ...safeHeaders, location: target.href, "set-cookie": browserCookie(browser) };
    return new Response(null, { status: 302, headers });
  }

  async function finish({
    query,
    cookies,
  }: {
    query: URLSearchParams;
    cookies: string | null;
  }): Promise<InstallOutcome> {
    const { state = "", code = "", error } = Object.fromEntries(query);
    const browser = readBrowserId(cookies);
    const key = await secret();
    const proof = { clientSecret: key, salt: stateSalt, state, nowMs: now() };
    const verifiedState =
      browser === undefined ? undefined : await verifyState({ ...proof, browser });
    if (verifiedState === undefined) return { situation: "bad_state" };
    if (!(await ledger.useState(verifiedState))) return { situation: "bad_state" };
    if (error !== undefined) return { situation: error === "access_denied" ? "denied" : "refused" };
    if (code === "" || code.length > maxCodeLength) return { situation: "bad_code" };
    const exchangeResult = await exchangeCode({
      code,
      clientId,
      clientSecret: key,
      apiUrl,
      nowMs: now(),
    });
    if (exchangeResult.type === "unavailable") return { situation: "unavailable" };
    if (exchangeResult.type !== "granted")
      return { situation: exchangeResult.type, slackError: exchangeResult.slackError };
    const { id, name, installation } = exchangeResult;
    const ids = [installation.team, installation.enterprise];
    if (teams !== undefined && !ids.some((id) => id !== undefined && teams.includes(id)))
      return { situation: "not_listed", team: id };
    // Counted only after Slack has granted access, so that invalid codes cannot use up the daily limit.
    if (!(await ledger.countInstallation())) return { situation: "too_many", team: id };
    await installations.put({ id, installation });
    return { situation: "installed", team: id, name };
  }

  async function secret(): Promise<string> {
    const value = await clientSecret();
    if (value === "") throw new Error("The client secret is empty.");
    return value;
  }

  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const locale = readLocale(request.headers.get("accept-language"));
    if (request.method !== "GET" || (pathname !== installPath && pathname !== redirectPath))
      return pageResponse({ situation: "not_found", locale });
    try {
      if (pathname === installPath) return await begin();
      const outcome = await finish({ query: searchParams, cookies: request.headers.get("cookie") });
      const { situation, slackError, team, name } = outcome;
      if (situation === "installed") log.info("app_installed", { team });
      else log.warn("app_not_installed", { reason: situation, slack_error: slackError, team });
      return pageResponse({ situation, locale, name, headers: { "set-cookie": noBrowserCookie } });
    } catch (error) {
      log.error("app_not_installed", { reason: "unavailable", cause_kind: errorKind(error) });
      return pageResponse({ situation: "unavailable", locale });
    }
  };
}

type InstallOutcome = {
  situation: InstallSituation;
  slackError?: string;
  team?: string;
  name?: string | undefined;
};

const maxAnswerBytes = 64 * 1024;

const idSchema = (letter: string) => z.string().regex(new RegExp(`^${letter}[A-Z0-9]{1,63}$`));
const ownerSchema = (letter: string) =>
  z.object({ id: idSchema(letter), name: z.string().optional() }).nullish();

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
  /** The code is invalid, expired or already used. */
  | { type: "bad_code"; slackError: string }
  /** Slack refuses for a reason that only the operator of the app can fix. */
  | { type: "refused"; slackError: string }
  /** The outcome is unknown. A code works only once, so the user has to start again. */
  | { type: "unavailable" };

const badCode: readonly string[] = ["invalid_code", "code_already_used", "code_expired"];
const transientErrors: readonly string[] = [
  "ratelimited",
  "fatal_error",
  "internal_error",
  "service_unavailable",
  "request_timeout",
];

type CodeExchange = { code: string; clientId: string; clientSecret: string; apiUrl: string };

/** Never rejects. For a refusal, the result holds only the name of Slack's error. */
async function exchangeCode({
  nowMs,
  ...exchange
}: CodeExchange & { nowMs: number }): Promise<ExchangeResult> {
  const answer = await postCode(exchange).catch(() => undefined);
  const refusal = refusedSchema.safeParse(answer).data;
  if (refusal !== undefined) {
    const { error: slackError } = refusal;
    if (badCode.includes(slackError)) return { type: "bad_code", slackError };
    return transientErrors.includes(slackError)
      ? { type: "unavailable" }
      : { type: "refused", slackError };
  }
  const grant = grantedSchema.safeParse(answer).data;
  return grant === undefined ? { type: "unavailable" } : readGranted({ grant, nowMs });
}

/** Uses `fetch`, because the function that installs the app is not asked often enough to load another client. */
async function postCode({ code, clientId, clientSecret, apiUrl }: CodeExchange): Promise<unknown> {
  const { signal, end } = createDeadline({ timeoutMs });
  try {
    const response = await fetch(new URL("oauth.v2.access", apiUrl), {
      method: "POST",
      redirect: "manual",
      headers: {
        authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`,
      },
      body: new URLSearchParams({ code }),
      signal,
    });
    const body = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    return body === "too_large" ? undefined : JSON.parse(body.toString());
  } finally {
    end();
  }
}

function readGranted({
  grant,
  nowMs,
}: {
  grant: z.infer<typeof grantedSchema>;
  nowMs: number;
}): ExchangeResult {
  const {
    team,
    enterprise,
    is_enterprise_install: isOrganizationWide,
    refresh_token: refreshToken,
  } = grant;
  // Rotating tokens expire after twelve hours, and nothing here renews them.
  if (refreshToken !== undefined) return { type: "refused", slackError: "token_rotation_is_on" };
  const owner = isOrganizationWide === true ? enterprise : team;
  if (owner === null || owner === undefined) return { type: "unavailable" };
  const installation = {
    botToken: grant.access_token,
    ...(isOrganizationWide === true ? {} : { team: owner.id }),
    ...(enterprise === null || enterprise === undefined ? {} : { enterprise: enterprise.id }),
    botUser: grant.bot_user_id,
    installedAtMs: nowMs,
    scopes: grant.scope.split(",").filter((scope) => scope !== ""),
  };
  return { type: "granted", id: owner.id, name: owner.name, installation };
}
