/** Slack's own documents. A message lists them among its files, but they have no content that a bot could download as a file. */
export type SlackDocument = "canvas" | "list";

export const documentMimetypes: Readonly<Record<SlackDocument, string>> = {
  canvas: "application/vnd.slack-docs",
  list: "application/vnd.slack-list",
};

/** Returns undefined for a file. */
export function toSlackDocument(mimetype: string): SlackDocument | undefined {
  if (mimetype === documentMimetypes.canvas) return "canvas";
  return mimetype === documentMimetypes.list ? "list" : undefined;
}
