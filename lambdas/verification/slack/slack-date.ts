/** Moments and spans as people read them. Pure. */
import type { Locale } from "./failure-words.ts";

/**
 * A moment in the reader's own time zone (https://docs.slack.dev/messaging/formatting-message-text, "Date formatting");
 * for mrkdwn. What follows the bar stands where a client cannot show it.
 */
export function slackDate({ atMs, locale }: { atMs: number; locale: Locale }): string {
  const between = locale === "ja" ? " " : " at ";
  const fallback = `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `<!date^${Math.floor(atMs / 1000)}^{date_short_pretty}${between}{time}|${fallback}>`;
}

type Unit = "second" | "minute" | "hour" | "day";
const units: readonly [Unit, number][] = [
  ["day", 24 * 3600_000],
  ["hour", 3600_000],
  ["minute", 60_000],
];
const japanese: Record<Unit, string> = { second: "秒", minute: "分", hour: "時間", day: "日" };

/** Rounded up, so that it is over when the reader's time is: `5 minutes`, `5分`. */
export function spanWords({ spanMs, locale }: { spanMs: number; locale: Locale }): string {
  const [unit, unitMs] = units.find(([, ms]) => spanMs > ms) ?? (["second", 1000] as const);
  const count = Math.max(1, Math.ceil(spanMs / unitMs));
  return locale === "ja" ? `${count}${japanese[unit]}` : `${count} ${unit}${count === 1 ? "" : "s"}`;
}
