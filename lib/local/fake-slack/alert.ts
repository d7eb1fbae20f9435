/** An alert as monitoring apps post it: all its words are in an attachment. */
import { escapeMrkdwn } from "@sekisho/verification/slack/markdown/characters.ts";

/** `text` is mrkdwn. */
export type Alert = {
  title: string;
  text: string;
  color: "good" | "warning" | "danger";
  fields?: readonly { title: string; value: string }[];
};

export function toAlertAttachment({ title, text, color, fields = [] }: Alert) {
  const plainTitle = escapeMrkdwn(title);
  return {
    id: 1,
    color,
    title: plainTitle,
    text,
    fallback: plainTitle,
    fields: fields.map((field) => ({ ...field, short: true })),
    mrkdwn_in: ["text"],
  };
}
