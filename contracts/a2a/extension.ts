/** What Sekisho adds to A2A under URIs of its own, in `metadata` where the protocol leaves room (A2A 1.0, section 4.6). */

/** In a message's metadata: of which Slack message it is made (`channel`, `thread_ts`, `team_id`, `user_id`, `correlation_id`, `history`). */
export const slackMessageKey = "urn:sekisho:slack-message:v1";

/** In the metadata of a status message that asks: what can be chosen (`options`), and in the one that answers: what was (`option_id`). */
export const questionKey = "urn:sekisho:question:v1";

/**
 * In a task's metadata: how soon to look again (`poll_after_ms`), how far it is (`percent`), how it failed (`reason`, `lost`). In
 * those of the message that begins a task: how much time it has (`timeout_ms`).
 */
export const taskKey = "urn:sekisho:task:v1";
