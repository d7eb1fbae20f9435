/** Checks Slack's secrets on this machine before a zone starts: which are missing, and which variable holds the wrong one. */
import type { Config } from "@sekisho/config/schema.ts";
import { formatSecretName, hasSecret, readVariable } from "@sekisho/config/secrets.ts";
import { UsageError } from "./command.ts";

/** Slack's kinds of secrets, by their form (https://docs.slack.dev/authentication/tokens). `xoxe.` begins a token that expires. */
const kinds = [
  { name: "bot token", text: "a bot token (xoxb-…)", pattern: /^(xoxe\.)?xoxb-/ },
  { name: "app token", text: "an app token (xapp-…)", pattern: /^xapp-/ },
  { name: "user token", text: "a user token (xoxp-…)", pattern: /^(xoxe\.)?xoxp-/ },
  {
    name: "signing secret",
    text: "32 hexadecimal digits, as a signing secret has",
    pattern: /^[0-9a-f]{32}$/i,
  },
] as const;

type KindName = (typeof kinds)[number]["name"];

function kindOf(value: string): (typeof kinds)[number] | undefined {
  return kinds.find(({ pattern }) => pattern.test(value));
}

/** Throws a UsageError if a secret that the real Slack needs is missing, or is another one. `advice` ends the text on missing ones. */
export function requireSlackSecrets(
  config: Config,
  advice = "They are in the settings of your app at https://api.slack.com/apps.",
): void {
  const wrong = wrongSecrets(config.slack);
  if (wrong.length > 0) throw new UsageError(wrong.join("\n"));
  const missing = missingSecretsText(config);
  if (missing !== undefined) throw new UsageError(`${missing}\n${advice}`);
}

/** What the value seems to be, without the value. Undefined if it looks like none of Slack's secrets. */
export function describeHeldSecret(value: string): string | undefined {
  return kindOf(value)?.text;
}

const expectedTexts = {
  "bot token": "the bot token (xoxb-…)",
  "app token": "the app token (xapp-…)",
  "signing secret": "the signing secret (32 hexadecimal digits)",
} as const;

const whereFrom = {
  "bot token": "Slack shows it under Install App.",
  "app token": "Slack makes it under Basic Information, App-Level Tokens.",
  "signing secret": "Slack shows it under Basic Information.",
} as const;

/** True for what examples show in place of a secret: an ellipsis, brackets, x in a row, the words "your" and "placeholder". */
export function isPlaceholder(value: string): boolean {
  return /…|\.\.\.|[<>*]|\bx{3,}\b|\byour\b|placeholder|^(xoxb|xapp)-?$/i.test(value);
}

/**
 * A line for each variable that holds another kind of secret, without its value. A signing secret of an unknown form passes, because only
 * Slack knows its form. Secrets in Secrets Manager are not read.
 */
function wrongSecrets({ appToken, botToken, signingSecret }: Config["slack"]): string[] {
  const uses = [
    { kind: "app token", reference: appToken },
    { kind: "bot token", reference: botToken },
    { kind: "signing secret", reference: signingSecret },
  ] as const;
  const placeOf = (kind: KindName) => uses.find((use) => use.kind === kind);
  return uses.flatMap(({ kind, reference }) => {
    const value = readVariable(reference);
    if (!value) return [];
    if (isPlaceholder(value))
      return [
        `${formatSecretName(reference)} is still the placeholder of an example. Replace it by ${expectedTexts[kind]} of your app. ${whereFrom[kind]}`,
      ];
    const heldKind = kindOf(value);
    if (heldKind?.name === kind || (heldKind === undefined && kind === "signing secret")) return [];
    const name = formatSecretName(reference);
    const right = heldKind && placeOf(heldKind.name);
    const belongs =
      right === undefined ? "" : ` It belongs in ${formatSecretName(right.reference)}.`;
    const holds = heldKind === undefined ? "it has another form" : `it holds ${heldKind.text}`;
    return [`${name} must be ${expectedTexts[kind]}, but ${holds}.${belongs}`];
  });
}

/** Undefined if the real Slack can be used. Otherwise says which secrets are missing, and which way needs which. */
function missingSecretsText({ slack }: Config): string | undefined {
  const { appToken, botToken, signingSecret, install } = slack;
  const [app, signing] = [formatSecretName(appToken), formatSecretName(signingSecret)];
  // Workspaces that install the app bring their own bot tokens.
  const other = install?.clientSecret ?? botToken;
  const otherName = formatSecretName(other);
  const missing = [
    ...(hasSecret(appToken) || hasSecret(signingSecret)
      ? []
      : [`Neither ${app} nor ${signing} is set.`]),
    ...(hasSecret(other) ? [] : [`${otherName} is not set.`]),
  ];
  if (missing.length === 0) return undefined;
  const otherText = install === undefined ? `${otherName} (xoxb-…)` : otherName;
  return [
    missing.join(" "),
    `Socket Mode needs ${app} (xapp-…) and ${otherText}. It needs no tunnel.`,
    `HTTP through a tunnel needs ${signing} (32 hexadecimal digits) and ${otherText}.`,
  ].join("\n");
}
