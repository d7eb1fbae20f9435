/** The files that an answer comes with: itself where it is very long, and what the agent made. Pure. */
import type { Artifact } from "../../../contracts/methods.ts";
import { isNestedTooDeep } from "../../shared/json-depth.ts";
import { isLongAnswer, longAnswerName } from "../slack/long-answer.ts";
import type { Outcome, Task } from "../task/task.ts";
import { nameAmong, nameFor } from "./outgoing-name.ts";

/** `data` is any JSON. It is written only when its file is uploaded (`dataBytes`). */
type OutgoingContent = { text: string } | { base64: string } | { data: unknown } | { url: string };

export type OutgoingFile = { name: string; mimetype?: string; content: OutgoingContent };

/** A message of Slack shows no more well. */
const maxFiles = 20;

/** In the order of the outcome's `uploads`; the same at every try. */
export function outgoingFiles({ outcome }: Pick<Task, "outcome">): readonly OutgoingFile[] {
  return outcome?.type === "answer" ? listOf(outcome).files : [];
}

/** How many files of the answer nobody gets. */
export function leftOutCount({ outcome }: Pick<Task, "outcome">): number {
  return outcome?.type === "answer" ? listOf(outcome).leftOut : 0;
}

/** One line of JSON; undefined where it cannot be written. */
export function dataBytes(data: unknown): Uint8Array | undefined {
  return isNestedTooDeep(data) ? undefined : Buffer.from(`${JSON.stringify(data)}\n`);
}

type Answer = Extract<Outcome, { type: "answer" }>;
type FileList = { files: readonly OutgoingFile[]; leftOut: number };

/** One step of a task asks for the list several times. */
const lists = new WeakMap<Answer, FileList>();

function listOf(answer: Answer): FileList {
  const list = lists.get(answer) ?? makeList(answer);
  lists.set(answer, list);
  return list;
}

/** Beyond the limit artifacts are only counted. */
function makeList({ text, artifacts = [], leftOut = 0 }: Answer): FileList {
  const said = text.trim();
  const files: OutgoingFile[] = isLongAnswer(text)
    ? [{ name: longAnswerName, mimetype: "text/markdown", content: { text } }]
    : [];
  let surplus = 0;
  for (const artifact of artifacts) {
    const made = contentOf(artifact);
    if (made === undefined || ("text" in made.content && made.content.text.trim() === said)) continue;
    if (files.length < maxFiles) {
      files.push({ name: nameAmong({ name: nameFor({ artifact, ...made }), taken: files.map(nameOf) }), ...made });
    } else surplus += 1;
  }
  return { files, leftOut: surplus + leftOut };
}

/** An artifact of nothing is none. */
function contentOf(artifact: Artifact): Omit<OutgoingFile, "name"> | undefined {
  const { text, base64, data, url, mimetype } = artifact;
  const type = mimetype === undefined || mimetype === "" ? {} : { mimetype };
  if (text !== undefined && text.trim() !== "") return { ...type, content: { text } };
  if (base64 !== undefined && base64 !== "") return { ...type, content: { base64 } };
  if (data !== undefined && data !== null) return { mimetype: "application/json", content: { data } };
  return url === undefined || url === "" ? undefined : { ...type, content: { url } };
}

function nameOf({ name }: OutgoingFile): string {
  return name;
}
