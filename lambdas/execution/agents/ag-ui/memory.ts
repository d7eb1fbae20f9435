/**
 * The memory of a conversation from task to task: the agent's state, and the ids of its answers. A server that keeps the conversation
 * takes an answer with another id for a further one, and would read its own words twice.
 */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { maxHistoryItems } from "@sekisho/contracts/limits.ts";
import { isJsonObject, isNestedTooDeep } from "@sekisho/runtime/untrusted-input.ts";

/**
 * `words` is how the answer begins, by which its post is found in the thread. `questionId` is the message that it answers: an answer
 * without letters, or one that Slack shows in other words, is found directly after that.
 */
type KeptAnswer = { id: string; words: string; questionId?: string | undefined };

/** `state` is absent if the agent has none, or if it is too large. */
export type Memory = { agUi: 1; state?: unknown; answers: readonly KeptAnswer[] };

type TextMessage = { id: string; role: string; content: string };
/** A message of the thread, with the time of its post in seconds. */
type ThreadMessage = TextMessage & { ts: string | undefined };

/** The host's limit. */
const maxMemoryBytes = 64 * 1024;
const maxIdLength = 200;
const maxWords = 100;
/** Enough for so many words between marks, links and icons. */
const maxReadLength = 2000;
/** The posts of one answer follow each other at once. */
const maxPauseSeconds = 60;
/** Answers that begin alike, such as "Done.", are told apart by their order only. */
const maxSkippedAnswers = 2;
/** An answer to a second try, and one of an agent that is new in the thread, say so above it. */
const maxLinesAbove = 2;

/** Empty for what another agent has kept. */
export function readMemory(value: unknown): Memory {
  // The host stores what `addToMemory` made.
  return isJsonObject(value) && value.agUi === 1 ? (value as Memory) : { agUi: 1, answers: [] };
}

/** `state` is undefined if it is too large. `answer` is the text that the person reads, and `id` the message that ends it. */
export function addToMemory(
  memory: Memory,
  news: { state: unknown; answer: string; id: string | undefined; questionId?: string | undefined },
): Memory {
  const { state, answer, id, questionId } = news;
  const words = readWords(answer).slice(0, maxWords);
  const isFindable = words !== "" || questionId !== undefined;
  const isNamed = id !== undefined && id.length <= maxIdLength && isFindable;
  const otherAnswers = memory.answers.filter((each) => each.id !== id);
  const answers = isNamed
    ? [...otherAnswers, { id, words, questionId }].slice(-maxHistoryItems)
    : memory.answers;
  const withState: Memory = { agUi: 1, answers, state };
  const hasState = isJsonObject(state) ? Object.keys(state).length > 0 : state !== undefined;
  const isKept =
    hasState &&
    !isNestedTooDeep(withState) &&
    isJsonWithin({ value: withState, maxBytes: maxMemoryBytes });
  return isKept ? withState : { agUi: 1, answers };
}

/** The messages of the thread, oldest first, with the agent's ids for its answers. The posts of one answer become one message. */
export function nameAnswers(
  messages: readonly ThreadMessage[],
  { answers }: Pick<Memory, "answers">,
): TextMessage[] {
  const named: TextMessage[] = [];
  /** The posts after the one that is looked at, if they may belong to the same answer. */
  let laterPosts: ThreadMessage[] = [];
  /** The newest answer that is not found yet. */
  let newestIndex = answers.length - 1;
  const addUnnamed = () => named.push(...laterPosts.splice(0).reverse().map(toMessage));
  const addNamed = (index: number) => {
    const answer = answers[index];
    if (answer === undefined || laterPosts.length === 0) return;
    // A short answer is one post. Those after it are of other agents.
    const postCount = answer.words.length < maxWords ? 1 : laterPosts.length;
    const texts = laterPosts.splice(0, postCount).map((post) => post.content);
    addUnnamed();
    named.push({ id: answer.id, role: "assistant", content: texts.join("\n\n") });
    newestIndex = index - 1;
  };
  for (const message of messages.toReversed()) {
    if (message.role === "assistant") {
      if (!isOneAnswer(message, laterPosts[0])) addUnnamed();
      laterPosts = [message, ...laterPosts];
      addNamed(findAnswer({ text: message.content, answers, newestIndex }));
      continue;
    }
    addNamed(
      answers.findLastIndex(
        ({ questionId }, index) => index <= newestIndex && questionId === message.id,
      ),
    );
    addUnnamed();
    named.push(toMessage(message));
  }
  addUnnamed();
  return named.reverse();
}

function toMessage({ id, role, content }: ThreadMessage): TextMessage {
  return { id, role, content };
}

function isOneAnswer(post: ThreadMessage, nextPost: ThreadMessage | undefined): boolean {
  return nextPost !== undefined && Number(nextPost.ts) - Number(post.ts) <= maxPauseSeconds;
}

/** The index of the newest answer that this post begins with, or -1. Lines of Sekisho's own may stand above it. */
function findAnswer(request: {
  text: string;
  answers: readonly KeptAnswer[];
  newestIndex: number;
}): number {
  const { text, answers, newestIndex } = request;
  const words = readWords(text);
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const possibleWords = Array.from({ length: maxLinesAbove + 1 }, (_, count) =>
    readWords(lines.slice(count).join("\n")),
  );
  return answers.findLastIndex((answer, index) => {
    if (index > newestIndex || answer.words === "") return false;
    if (answer.words.length >= maxWords) return words.includes(answer.words);
    return newestIndex - index <= maxSkippedAnswers && possibleWords.includes(answer.words);
  });
}

/** A name that Sekisho adds to an id, the language of a code block, and an icon, which Slack writes as `:name:`. Some icons have letters or digits. */
const names = /[@#][^@#()\n]{1,80} \((?=[A-Z][A-Z0-9]{2,30}\))/g;
const languages = /^(?:```|~~~).*$/gm;
const icons = /:[a-z0-9_+-]{1,60}:|[0-9]\ufe0f?\u20e3|\p{Extended_Pictographic}/gu;

/** Letters and digits only, because Slack writes marks, links and lines in its own way. */
function readWords(text: string): string {
  return text
    .slice(0, maxReadLength)
    .replaceAll(languages, "")
    .replaceAll(icons, "")
    .replaceAll(names, "")
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
