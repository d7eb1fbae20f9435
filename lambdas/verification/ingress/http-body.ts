/** The body of a signed request of Slack, by the three forms that it has. */
import { urlVerificationSchema } from "./payload.ts";
import type { VerifiedPayload } from "./understand.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The Events API posts JSON; slash commands post a form (https://docs.slack.dev/interactivity/implementing-slash-commands), and
 * buttons a form whose `payload` is JSON (https://docs.slack.dev/interactivity/handling-user-interaction). What the bytes are
 * decides, not the content type. Undefined where they are none of it.
 */
export function parseBody(body: Uint8Array): VerifiedPayload | { challenge: string } | undefined {
  try {
    const text = strictUtf8.decode(body);
    return text.startsWith("{") ? ofJson(JSON.parse(text)) : ofForm(new URLSearchParams(text));
  } catch {
    return undefined;
  }
}

function ofJson(payload: unknown): VerifiedPayload | { challenge: string } {
  const { data } = urlVerificationSchema.safeParse(payload);
  return data === undefined ? { type: "events_api", payload } : { challenge: data.challenge };
}

function ofForm(form: URLSearchParams): VerifiedPayload | undefined {
  const interaction = form.get("payload");
  if (interaction !== null) return { type: "interactive", payload: JSON.parse(interaction) };
  return form.has("command") ? { type: "slash_commands", payload: Object.fromEntries(form) } : undefined;
}
