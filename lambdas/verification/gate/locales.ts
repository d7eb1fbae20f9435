/** In which language a person reads: the workspace's, by the configuration, or their own, as Slack knows it. */
import type { Config } from "../../shared/config/schema.ts";
import type { Locale } from "../slack/failure-words.ts";
import { type SlackApi, SlackError } from "../slack/slack.ts";
import type { Gate } from "./gate.ts";
import { createKeptValues } from "./kept-values.ts";

const keepMs = 24 * 3600_000;
/** Where Slack does not say, it is not asked for every message again. */
const keepUnknownMs = 60_000;
/** Whoever waits for an answer waits for it, not for its language. */
const longestWaitMs = 3000;
const maxUsers = 5000;

/** Never rejects: who cannot be found out about reads English. */
export function createLocales({
  setting,
  slack,
  now,
  mostWaitMs = longestWaitMs,
}: {
  setting: Config["slack"]["locale"];
  slack: Pick<SlackApi, "person">;
  now: () => number;
  mostWaitMs?: number;
}): Gate["localeOf"] {
  const kept = createKeptValues<Locale>({ now, maxEntries: maxUsers });
  return async ({ installation, user, requestId, signal }) => {
    if (setting !== "user") return setting;
    const { team, enterprise = "" } = installation;
    const read = async (reading: AbortSignal) => {
      try {
        const { locale } = await slack.person({ installation, user, requestId, signal: reading });
        return { value: languageOf(locale), keepMs };
      } catch (thrown) {
        if (reading.aborted || !(thrown instanceof SlackError)) throw thrown;
        return { value: "en" as const, keepMs: keepUnknownMs };
      }
    };
    const waiting = AbortSignal.any([signal, AbortSignal.timeout(mostWaitMs)]);
    return kept.get({ key: JSON.stringify([enterprise, team, user]), signal: waiting, read }).catch(() => "en");
  };
}

/** `ja` and `ja-JP` are Japanese; everything else reads English. */
function languageOf(locale: string | undefined): Locale {
  return /^ja\b/i.test(locale ?? "") ? "ja" : "en";
}
