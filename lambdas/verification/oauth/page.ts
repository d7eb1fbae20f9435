/** The page on which an installation ends: a few words, no script, nothing from elsewhere. */
import { createHash } from "node:crypto";
import { safeLine } from "../../shared/safe-characters.ts";
import type { Locale } from "../task/task.ts";
import { beginAgainText, installWords, type Situation } from "./page-text.ts";

const statuses: Record<Situation, number> = {
  installed: 200,
  denied: 200,
  bad_state: 400,
  bad_code: 400,
  not_listed: 403,
  too_many: 429,
  refused: 502,
  unavailable: 503,
  not_found: 404,
};

const style =
  "body{font:1.1rem/1.6 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1.5rem}h1{font-size:1.4rem}";
const styleHash = createHash("sha256").update(style).digest("base64");

/** Of what happened nothing may be kept: not the page, and not the address, which held a code. */
export const safeHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** `name` is that of the workspace or organization, as Slack says it. */
export function pageResponse({
  situation,
  locale,
  name,
  headers = {},
}: {
  situation: Situation;
  locale: Locale;
  name?: string | undefined;
  headers?: Record<string, string>;
}): Response {
  const { happened, todo } = installWords({ situation, locale });
  const html = [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">',
    `<title>Sekisho</title><style>${style}</style></head><body><main>`,
    `<h1>${happened}</h1>`,
    name === undefined ? "" : `<p><strong>${escapeHtml(name)}</strong></p>`,
    `<p>${todo}</p>`,
    situation === "installed" ? "" : `<p><a href="/slack/install">${beginAgainText(locale)}</a></p>`,
    "</main></body></html>\n",
  ].join("");
  return new Response(html, {
    status: statuses[situation],
    headers: { ...safeHeaders, "content-type": "text/html; charset=utf-8", "content-language": locale, ...headers },
  });
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escapeHtml(text: string): string {
  return safeLine(text)
    .slice(0, 100)
    .replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
