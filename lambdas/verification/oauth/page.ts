/** The page at the end of an installation: what happened and what to do next. It has no scripts and loads nothing. */
import { createHash } from "node:crypto";
import { sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import type { Notice } from "../slack/messages/failure-text.ts";
import type { Locale } from "../task/task.ts";

const statuses: Record<InstallSituation, number> = {
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

/** Keep browsers and proxies from storing the page, from passing on its URL, which may hold a code, and from asking without TLS. */
export const safeHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000",
  "x-content-type-options": "nosniff",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
};

/** `name` is the name of the workspace or organization. It comes from Slack, so it is escaped here. */
export function pageResponse(request: {
  situation: InstallSituation;
  locale: Locale;
  name?: string | undefined;
  headers?: Record<string, string>;
}): Response {
  const { situation, locale, name, headers = {} } = request;
  const { happened: headline, todo } = installText[situation][locale];
  const html = [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">',
    `<title>Sekisho</title><style>${style}</style></head><body><main>`,
    `<h1>${headline}</h1>`,
    name === undefined ? "" : `<p><strong>${escapeHtml(name)}</strong></p>`,
    `<p>${todo}</p>`,
    situation === "installed"
      ? ""
      : `<p><a href="/slack/install">${installLinkText[locale]}</a></p>`,
    "</main></body></html>\n",
  ].join("");
  return new Response(html, {
    status: statuses[situation],
    headers: {
      ...safeHeaders,
      "content-type": "text/html; charset=utf-8",
      "content-language": locale,
      ...headers,
    },
  });
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return sanitizeLine(text)
    .slice(0, 100)
    .replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

export type InstallSituation =
  | "installed"
  | "denied"
  | "bad_state"
  | "bad_code"
  | "not_listed"
  | "too_many"
  | "refused"
  | "unavailable"
  | "not_found";

export const installText: Record<InstallSituation, Record<Locale, Notice>> = {
  installed: {
    en: {
      happened: "The app is installed.",
      todo: "Go back to Slack, invite the app to a channel, and mention it.",
    },
    ja: {
      happened: "アプリをインストールしました。",
      todo: "Slackに戻り、アプリをチャンネルに追加して、メンションしてみてください。",
    },
  },
  denied: {
    en: {
      happened: "The installation was canceled.",
      todo: "Nothing was installed. You can start again at any time.",
    },
    ja: {
      happened: "インストールをキャンセルしました。",
      todo: "アプリはインストールされていません。いつでもやり直せます。",
    },
  },
  bad_state: {
    en: {
      happened: "This installation link is no longer valid.",
      todo: "Start again, and finish within ten minutes in this browser, with cookies allowed.",
    },
    ja: {
      happened: "このインストール用リンクは無効です。",
      todo: "このブラウザーでCookieを許可し、最初からやり直してください。10分以内に完了する必要があります。",
    },
  },
  bad_code: {
    en: {
      happened: "Your approval in Slack has expired or was already used.",
      todo: "Nothing was installed. Start again.",
    },
    ja: {
      happened: "Slackでの許可の有効期限が切れているか、すでに使用済みです。",
      todo: "インストールは完了していません。もう一度お試しください。",
    },
  },
  not_listed: {
    en: {
      happened: "This app isn't available for your workspace.",
      todo: "Nothing was installed. Ask the people who run the app to add your workspace. You can remove the app in Slack.",
    },
    ja: {
      happened: "このアプリは、お使いのワークスペースでは利用できません。",
      todo: "インストールは完了していません。アプリの運用担当者に、ワークスペースの追加を依頼してください。Slackに表示されているアプリは削除してかまいません。",
    },
  },
  too_many: {
    en: {
      happened: "The app was installed too many times today.",
      todo: "Nothing was installed. Try again tomorrow, or tell the people who run the app.",
    },
    ja: {
      happened: "本日のインストール数が上限に達しました。",
      todo: "インストールは完了していません。明日もう一度お試しいただくか、アプリの運用担当者にお知らせください。",
    },
  },
  refused: {
    en: {
      happened: "Slack didn't accept this app's settings.",
      todo: "Nothing was installed. Tell the people who run the app.",
    },
    ja: {
      happened: "アプリの設定がSlackに受け付けられませんでした。",
      todo: "インストールは完了していません。アプリの運用担当者にお知らせください。",
    },
  },
  unavailable: {
    en: { happened: "The app can't be installed right now.", todo: "Try again in a few minutes." },
    ja: {
      happened: "現在、アプリをインストールできません。",
      todo: "数分後にもう一度お試しください。",
    },
  },
  not_found: {
    en: { happened: "There's nothing on this page.", todo: "You can install the app from here." },
    ja: {
      happened: "ページが見つかりません。",
      todo: "アプリは下のリンクからインストールできます。",
    },
  },
};

const installLinkText: Record<Locale, string> = {
  en: "Install the app",
  ja: "アプリをインストールする",
};

/** Picks the language that the browser prefers (RFC 9110, section 12.5.4). Defaults to English. */
export function readLocale(acceptLanguage: string | null): Locale {
  const wantedLanguages = (acceptLanguage ?? "")
    .slice(0, 500)
    .split(",")
    .flatMap((part) => {
      const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
      const quality = parameters
        .map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1])
        .find(Boolean);
      const locale = (["en", "ja"] as const).find(
        (one) => tag === one || tag.startsWith(`${one}-`),
      );
      return locale === undefined ? [] : [{ locale, quality: Number(quality ?? 1) }];
    });
  const [best] = wantedLanguages
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality);
  return best?.locale ?? "en";
}
