/** Slack's OAuth flow (https://docs.slack.dev/authentication/installing-with-oauth): how the app gets into further workspaces. */

import { randomBytes } from "node:crypto";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Installations } from "../installations/installations.ts";
import { exchangeCode } from "./exchange-code.ts";
import { browserCookie, browserOf, type InstallLedger, noBrowserCookie } from "./ledger.ts";
import { pageResponse, safeHeaders } from "./page.ts";
import { localeOf, type Situation } from "./page-text.ts";
import { issueState, verifyState } from "./state.ts";

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
    const browser = browserOf(cookies);
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
    const places = [installation.team, installation.enterprise];
    if (teams !== undefined && !places.some((place) => place !== undefined && teams.includes(place)))
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
    const locale = localeOf(request.headers.get("accept-language"));
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

type Ended = { situation: Situation; slackError?: string; team?: string; name?: string | undefined };
