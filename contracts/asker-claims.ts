/** The claims of the asker's token (`asker.ts`), an access token of RFC 9068. docs/how-to/act-as-the-asker.md explains each. */
import * as z from "zod";

const text = z.string().min(1).max(1000);
const optionalText = text.optional();

/**
 * The claims. `sub` is the person, or the zone itself if no person is behind the call. Those that verifiers match are flat texts, because
 * AgentCore reaches no others. Unknown claims are ignored.
 */
export const askerClaimsSchema = z.object({
  iss: text,
  aud: text.describe("The destination. One text, never a list"),
  sub: text.describe("slack:TEAM:USER, or an opaque text that is the same for all calls"),
  client_id: text.describe("The zone that made the token"),
  act: z
    .object({ sub: text })
    .optional()
    .describe("RFC 8693, section 4.1: the zone acts for the person. Absent without a person"),
  jti: text,
  iat: z.int(),
  exp: z.int(),
  slack_team: optionalText.describe("The workspace of the installation (T…)"),
  slack_enterprise: optionalText.describe("The organization of the installation (E…)"),
  slack_user: optionalText,
  slack_channel: optionalText,
  slack_thread: optionalText.describe("The timestamp of the thread's first message"),
  request_id: optionalText.describe("The id of the execute_task request of the task"),
  email: optionalText.describe("Confirmed in Slack; only if it is configured"),
  body_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe("The SHA-256 of the bytes of the request's body, in tokens that are for one request"),
});
export type AskerClaims = z.infer<typeof askerClaimsSchema>;
