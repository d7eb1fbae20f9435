/** The files that an answer comes with: itself where it is very long, and what the agent made. Pure. */
import type { Artifact } from "../../../contracts/methods.ts";
import { isLongAnswer, longAnswerName } from "../slack/long-answer.ts";
import type { Task } from "../task/task.ts";
import { nameAmong, nameFor } from "./outgoing-name.ts";

export type OutgoingFile = {
  name: string;
  mimetype?: string;
  content: { text: string } | { base64: string } | { url: string };
};

/** A message of Slack shows no more well. */
const maxFiles = 20;

/** In the order of the outcome's `uploads`; the same at every try. */
export function outgoingFiles(task: Pick<Task, "outcome">): OutgoingFile[] {
  return allFiles(task).slice(0, maxFiles);
}

/** How many files of the answer nobody gets. */
export function leftOutCount(task: Pick<Task, "outcome">): number {
  return Math.max(0, allFiles(task).length - maxFiles);
}

function allFiles({ outcome }: Pick<Task, "outcome">): OutgoingFile[] {
  if (outcome?.type !== "answer") return [];
  const { text, artifacts = [] } = outcome;
  const files: OutgoingFile[] = isLongAnswer(text)
    ? [{ name: longAnswerName, mimetype: "text/markdown", content: { text } }]
    : [];
  for (const artifact of artifacts) {
    const made = contentOf(artifact);
    if (made === undefined || ("text" in made.content && made.content.text.trim() === text.trim())) continue;
    const name = nameAmong({ name: nameFor({ artifact, ...made }), taken: files.map((file) => file.name) });
    files.push({ name, ...made });
  }
  return files;
}

/** An artifact of nothing is none. */
function contentOf(artifact: Artifact): Omit<OutgoingFile, "name"> | undefined {
  const { text, base64, data, url, mimetype } = artifact;
  const type = mimetype === undefined || mimetype === "" ? {} : { mimetype };
  if (text !== undefined && text.trim() !== "") return { ...type, content: { text } };
  if (base64 !== undefined && base64 !== "") return { ...type, content: { base64 } };
  if (data !== undefined && data !== null)
    return { mimetype: "application/json", content: { text: `${JSON.stringify(data, null, 2)}\n` } };
  return url === undefined || url === "" ? undefined : { ...type, content: { url } };
}
