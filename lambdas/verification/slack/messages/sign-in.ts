/**
 * A question with a link to sign in. The thread only shows that it waits for the person who asked. The link, and the agent's words about
 * it, are in a modal that opens for that person alone.
 */
import type { AgentQuestion, Locale, Task } from "../../task/task.ts";
import type { MessageContent, ModalView, SlackBlock } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { buttons, context, section, slackDate } from "./blocks.ts";
import { createFrame, createQuestionFrame, plainText } from "./modal.ts";

type SignIn = { task: Task; question: AgentQuestion; locale: Locale };
type LocalizedText = Record<Locale, string>;

/** Without a word of the agent, which may contain the link. `end` says how the question ended. */
export function signInContent({
  task,
  question,
  locale,
  end,
}: SignIn & { end: string }): MessageContent {
  const waiting = waitingText[locale](`<@${escapeMrkdwn(task.message.user)}>`);
  if (end !== "") return { text: end, blocks: [section(end)] };
  const until = untilText[locale](slackDate({ atMs: question.expiresAtMs, locale }));
  const button = { type: "open_form", question: question.index } as const;
  return {
    text: `${waiting}\n\n${until}`,
    blocks: [
      section(waiting),
      buttons([{ requestId: task.id, button, label: signInLabel[locale], style: "primary" }]),
      context(until),
    ],
  };
}

/** `prompt` is mrkdwn. Undefined if the link is erased. */
export function buildSignInModal(request: SignIn & { prompt: string }): ModalView | undefined {
  const { task, question, prompt, locale } = request;
  const url = URL.parse(question.signIn?.url ?? "");
  if (url === null) return undefined;
  return {
    ...createQuestionFrame({ task, question, locale, title: signInLabel, submit: confirmLabel }),
    blocks: [
      section(prompt),
      section(hostText[locale](literalMrkdwn`*${url.host}*`)),
      ...(isInOtherScript(url) ? [section(scriptText[locale])] : []),
      linkButton({ url: url.href, label: openLabel[locale] }),
      context(
        [
          untilText[locale](slackDate({ atMs: question.expiresAtMs, locale })),
          onlyYouText[locale],
        ].join(" "),
      ),
    ],
  };
}

/** A modal that only says why there is no link any more. */
export function buildNoLinkModal({ text, locale }: { text: string; locale: Locale }): ModalView {
  return { ...createFrame({ title: signInLabel[locale], locale }), blocks: [section(text)] };
}

/** The host is shown in punycode, because a letter of another script may look like one of the letters that people expect. */
function isInOtherScript({ hostname }: URL): boolean {
  return hostname.split(".").some((label) => label.startsWith("xn--"));
}

/** Slack opens the address, and sends the click too. The app has nothing to do then, so the button carries no value. */
function linkButton({ url, label }: { url: string; label: string }): SlackBlock {
  const text = { ...plainText(label, 75), emoji: true };
  return {
    type: "actions",
    elements: [{ type: "button", action_id: "sekisho_link", text, url, style: "primary" }],
  };
}

const waitingText: Record<Locale, (asker: string) => string> = {
  en: (asker) => `Waiting for ${asker} to sign in.`,
  ja: (asker) => `${asker} さんのサインインを待っています。`,
};

const signInLabel: LocalizedText = { en: "Sign in", ja: "サインイン" };
const openLabel: LocalizedText = { en: "Open the sign-in page", ja: "サインインページを開く" };
const confirmLabel: LocalizedText = { en: "I have signed in", ja: "サインインしました" };

const untilText: Record<Locale, (date: string) => string> = {
  en: (date) => `The link works until ${date}.`,
  ja: (date) => `リンクの有効期限：${date}`,
};

const hostText: Record<Locale, (host: string) => string> = {
  en: (host) => `The link leads to ${host}. Go on only if you know this address.`,
  ja: (host) => `リンク先：${host}。知っているアドレスの場合だけ進んでください。`,
};

const scriptText: LocalizedText = {
  en: "⚠️ This address has letters of another script, which can look like an address that you know.",
  ja: "⚠️ このアドレスには別の文字体系の文字が含まれ、知っているアドレスに見えることがあります。",
};

const onlyYouText: LocalizedText = {
  en: "It is only for you: don't pass it on.",
  ja: "このリンクはあなた専用です。他の人に渡さないでください。",
};

export const signedInLabel: LocalizedText = { en: "Signed in", ja: "サインイン済み" };

export const nobodySignedIn: LocalizedText = {
  en: "⌛ Nobody signed in in time.",
  ja: "⌛ 期限までにサインインされませんでした。",
};

export const expiredLink: LocalizedText = {
  en: "This link has expired. Ask again to get a new one.",
  ja: "このリンクの有効期限は過ぎています。もう一度依頼すると、新しいリンクが届きます。",
};
