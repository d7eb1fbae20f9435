/** The words of the echo agent's answer; pure. */
import type { AgentTask } from "../agent.ts";
import { markdownOf, story } from "./sample-texts.ts";
import type { Body } from "./wishes.ts";

const lengths = { long: 9000, "very long": 60_000 };

/** `files` are lines about the attachments. */
export function answerTo({
  task,
  requestId,
  body,
  files,
}: {
  task: AgentTask;
  requestId: string;
  body: Body | undefined;
  files: readonly string[];
}): string {
  const heard = task.answers.map(({ prompt, option_id, text }) => `${prompt} ${option_id ?? text}`);
  const lines = [...files, ...heard, `(request ${requestId.slice(0, 8)})`];
  // Markdown may end with a table or a list, to which the next line would belong.
  return [textOf({ task, body }), ...(body === undefined ? [] : [""]), ...lines].join("\n");
}

function textOf({ task, body }: { task: AgentTask; body: Body | undefined }): string {
  if (body === "story") return story;
  return body === undefined ? echoOf(task) : markdownOf({ length: lengths[body] });
}

function echoOf({ text, channel, user_id, thread_ts, attachments = [] }: AgentTask): string {
  const who = user_id === undefined ? "Someone" : user_id;
  const where = channel === undefined ? "" : ` in ${channel}${thread_ts === undefined ? "" : `, thread ${thread_ts}`}`;
  const files = attachments.length === 0 ? "" : ` with ${attachments.length} file(s)`;
  return `I am the echo agent. ${who} said${where}${files}:\n${text}`;
}
