/** The keys of the fields that extensions add to the `metadata` of A2A (A2A 1.0, section 4.6): Sekisho's own, and one of kagent. */

/**
 * On a message: the Slack message that it comes from (`channel`, `thread_ts`, `team_id`, `user_id`, `correlation_id`, `history`,
 * `context`).
 */
export const slackMessageKey = "urn:sekisho:slack-message:v1";

/**
 * On a status message that asks: the choices (`options`), who may answer (`answerers`, `approvals`), and where the person who asked signs
 * in (`url`). On the message that answers: the choice (`option_id`), and who made it (`approved_by`). The link is not in a part, because
 * clients show the parts of a question to everyone.
 */
export const questionKey = "urn:sekisho:question:v1";

/**
 * On a task: when to poll again (`poll_after_ms`), its progress (`percent`, `steps`), and how it failed (`reason`, `lost`). On the message that
 * begins a task: its time (`timeout_ms`).
 */
export const taskKey = "urn:sekisho:task:v1";

/**
 * On a status message that asks: an approval or questions in the structure of kagent. On the message that answers: the decisions or answers. The
 * message must name the extension in `extensions` too. (https://github.com/kagent-dev/kagent/blob/main/docs/architecture/human-in-the-loop.md)
 */
export const hitlKey = "https://kagent.dev/extensions/hitl/v1";
