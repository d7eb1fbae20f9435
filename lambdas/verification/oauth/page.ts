/** The page at the end of an installation: what happened and what to do next. It has no scripts and loads nothing. */
import { createHash } from "node:crypto";
import { sanitizeLine } from "../../shared/untrusted-input.ts";
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

/** Keep browsers and proxies from storing the page, and from passing on its URL, which may hold a code. */
export const safeHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
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
  const { happened, todo } = installText[situation][locale];
  const html = [
    `<!doctype html><html lang="${locale}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">',
    `<title>Sekisho</title><style>${style}</style></head><body><main>`,
    `<h1>${happened}</h1>`,
    name === undefined ? "" : `<p><strong>${escapeHtml(name)}</strong></p>`,
    `<p>${todo}</p>`,
    situation === "installed" ? "" : `<p><a href="/slack/install">${restartText[locale]}</a></p>`,
    "</main></body></html>\n",
  ].join("");
  return new Response(html, {
    status: statuses[situation],
    headers: { ...safeHeaders, "content-type": "text/html; charset=utf-8", "content-language": locale, ...headers },
  });
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

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

const installText: Record<InstallSituation, Record<Locale, Notice>> = {
  installed: {
    en: { happened: "The app is installed.", todo: "Go back to Slack, invite it to a channel, and mention it." },
    ja: {
      happened: "アプリをインストールしました。",
      todo: "Slackに戻り、チャンネルに招待してからメンションしてください。",
    },
  },
  denied: {
    en: {
      happened: "Nothing was installed: you did not allow it.",
      todo: "If that was not what you wanted, begin again.",
    },
    ja: {
      happened: "許可されなかったため、インストールしませんでした。",
      todo: "意図したことでなければ、最初からやり直してください。",
    },
  },
  bad_state: {
    en: {
      happened:
        "Nothing was installed: this browser did not begin here, it took longer than ten minutes, or it was done already.",
      todo: "Begin again, and go through to the end in this browser, with cookies allowed.",
    },
    ja: {
      happened:
        "このブラウザーで始められていないか、十分以上たったか、すでに完了しているため、インストールしませんでした。",
      todo: "Cookieを許可し、このブラウザーで最初から最後まで行ってください。",
    },
  },
  bad_code: {
    en: {
      happened: "Nothing was installed: Slack's permission was used already, or is too old.",
      todo: "Begin again.",
    },
    ja: {
      happened: "Slackの許可がすでに使われたか、期限が切れたため、インストールしませんでした。",
      todo: "最初からやり直してください。",
    },
  },
  not_listed: {
    en: {
      happened: "Nothing was installed: this app is not for your workspace.",
      todo: "Ask whoever runs it to list your workspace. In Slack the app can be removed again.",
    },
    ja: {
      happened: "このワークスペースは対象外のため、インストールしませんでした。",
      todo: "運用担当者に追加を依頼してください。Slack側のアプリは削除できます。",
    },
  },
  too_many: {
    en: {
      happened: "Nothing was installed: there were too many installations today.",
      todo: "Begin again tomorrow, or tell whoever runs the app.",
    },
    ja: {
      happened: "本日のインストール数が上限に達したため、インストールしませんでした。",
      todo: "明日やり直すか、運用担当者に知らせてください。",
    },
  },
  refused: {
    en: {
      happened: "Nothing was installed: Slack does not accept how this app is set up.",
      todo: "Tell whoever runs it; the log of this function names the reason.",
    },
    ja: {
      happened: "アプリの設定がSlackに受け付けられなかったため、インストールしませんでした。",
      todo: "運用担当者に知らせてください。理由はこの機能のログにあります。",
    },
  },
  unavailable: {
    en: {
      happened: "Nothing was installed: something that is needed for it cannot be reached.",
      todo: "Begin again in a few minutes.",
    },
    ja: {
      happened: "必要なものに接続できないため、インストールしませんでした。",
      todo: "数分後に最初からやり直してください。",
    },
  },
  not_found: {
    en: { happened: "There is nothing here.", todo: "To install the app, begin here." },
    ja: { happened: "ここには何もありません。", todo: "アプリをインストールするには、ここから始めてください。" },
  },
};

const restartText: Record<Locale, string> = { en: "Begin again", ja: "最初からやり直す" };

/** Picks the language that the browser prefers (RFC 9110, section 12.5.4). Defaults to English. */
export function readLocale(acceptLanguage: string | null): Locale {
  const wanted = (acceptLanguage ?? "")
    .slice(0, 500)
    .split(",")
    .flatMap((part) => {
      const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
      const quality = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      const locale = (["en", "ja"] as const).find((one) => tag === one || tag.startsWith(`${one}-`));
      return locale === undefined ? [] : [{ locale, quality: Number(quality ?? 1) }];
    });
  const [best] = wanted.filter(({ quality }) => quality > 0).sort((a, b) => b.quality - a.quality);
  return best?.locale ?? "en";
}
