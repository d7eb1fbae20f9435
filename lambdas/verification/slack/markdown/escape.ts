/** Text of an agent made safe for Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text, "Escaping text"). */

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * The three characters by which a text could do more than be read: `<!channel>` would notify everyone, `<@U…>` a person,
 * `<https://…|label>` would hide where a link goes. Plain URLs are still links, and `*bold*`, lists and code still format.
 */
export function escapeMrkdwn(text: string): string {
  return text.replace(/[&<>]/g, (character) => entities[character] ?? character);
}

const characters: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">" };

/** What was escaped, as it was typed; once, so that a typed `&amp;lt;` stays what it is. */
export function unescapeMrkdwn(text: string): string {
  return text.replace(/&(?:amp|lt|gt);/g, (entity) => characters[entity] ?? entity);
}
