/** Derives what a person may expect of a message, from what people did and saw in Slack and never from the records of the zones. */
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import type { Post } from "../world/memory-slack.ts";
import type { Asked } from "./people.ts";
import { agentsAnswer, options } from "./sim-agent.ts";
import type { World } from "./world.ts";

export type Expectation = {
  /** `either`: it may be answered or not. `none`: there must be no answer. */
  answer: "owed" | "either" | "none";
  /** The texts that the agent may have said. Empty if nothing may be executed. Undefined if any visible text will do. */
  texts: readonly string[] | undefined;
  /** It is the word to cancel, not a task. */
  isCancel: boolean;
  /** The bot was asked in the thread well before. */
  isThreadKnown: boolean;
  /** The asker replied to the agent's question when it stood in the thread. */
  hasReply: boolean;
};

type About = { message: Asked; asked: readonly Asked[]; world: World };

/** So long after the bot was asked there, a thread is known to be one of the bot. */
const knownAfterMs = 10_000;

/** `asked` are all messages of the story. */
export function expectationOf(about: About): Expectation {
  const { message, world } = about;
  const isCancel = message.text === "cancel";
  return {
    answer: answerOf({ ...about, isCancel }),
    texts: isCancel || !world.story.isAllowed ? [] : textsOf(about),
    isCancel,
    isThreadKnown: isThreadKnown(about),
    hasReply: repliesTo(about).some((reply) => isToOpenQuestion({ reply, message, world })),
  };
}

function answerOf({
  message,
  asked,
  world,
  isCancel,
}: About & { isCancel: boolean }): Expectation["answer"] {
  // Nobody took it: Slack was told so, or the person was.
  if (!message.isTaken && acceptedAtMs(message, world) === undefined) return "none";
  // A refused message is not accepted. There are words in its thread only where the queue gave it up before anybody knew.
  if (!world.story.isAllowed) return "either";
  // Which of them fit into the quota depends on which is dealt with first.
  if (world.story.quota !== undefined) return "either";
  // A message that is gone needs no answer.
  if (message.change !== undefined && message.change.text === undefined) return "either";
  if (!message.isUnaddressed) return "owed";
  const parent = asked.find(({ ts }) => ts === message.threadTs);
  // What people say to each other.
  if (parent === undefined || parent === message) return "none";
  // It is acknowledged where it meets something under way: see `lostWish`.
  if (isCancel) return "either";
  // It is the answer to a question, or came at a moment at which it could be one: see `lostReply`.
  if (world.story.agent.asks) return "either";
  return isThreadKnown({ message, asked, world }) ? "owed" : "either";
}

function isThreadKnown({ message, asked, world }: About): boolean {
  const before = asked.filter(
    (other) => other !== message && other.threadTs === message.threadTs && !other.isUnaddressed,
  );
  return before.some((other) => {
    const atMs = acceptedAtMs(other, world);
    return atMs !== undefined && atMs + knownAfterMs <= message.writtenAtMs;
  });
}

/** The story's first message is asked about, where its agent asks; by a button or in words. */
function textsOf(about: About): string[] | undefined {
  const { message, world } = about;
  const { story } = world;
  // An earlier version said it, in words of its own.
  if (world.from?.slack.posts.some(({ key }) => isAnswerOf(key, message))) return undefined;
  // Of what was written before it was stopped the record says nothing any more.
  if (story.agent.says !== undefined || story.stopsStreamAfterMs !== undefined) return undefined;
  if (!asks(about)) {
    // Which was first, the edit or the send, is for the records to say.
    const texts = [
      message.text,
      ...(message.change?.text === undefined ? [] : [message.change.text]),
    ];
    return texts.map((text) => agentsAnswer({ text }));
  }
  const clicked = story.buttonClicks
    .filter(({ by = "asker" }) => by === "asker" || (story.isForAnyone && by === "stranger"))
    .flatMap((click) => ("option" in click ? (options[click.option]?.id ?? []) : []));
  const answers = [
    ...clicked.map((option_id) => ({ option_id, text: "" })),
    ...(story.forms ?? []).map(({ choice }) => ({
      fields: { choice: options[choice]?.id ?? "" },
      text: "",
    })),
    ...repliesTo(about).map(({ text }) => ({ text })),
  ];
  return answers.map((answer) => agentsAnswer({ text: message.text, answers: [answer] }));
}

function isAnswerOf(key: Post["key"], { requestId }: Asked): boolean {
  return key?.requestId === requestId && isOutcome(key);
}

function asks({ message, asked, world }: About): boolean {
  return world.story.agent.asks !== undefined && message === asked[0];
}

function repliesTo(about: About): Asked[] {
  const { message, asked } = about;
  if (!asks(about)) return [];
  return asked.filter(
    (other) => other !== message && other.threadTs === message.ts && other.isUnaddressed,
  );
}

function isToOpenQuestion({
  reply,
  message,
  world,
}: {
  reply: Asked;
  message: Asked;
  world: World;
}): boolean {
  const shownMs = world.questionsShownAtMs.get(message.requestId) ?? Number.POSITIVE_INFINITY;
  return acceptedAtMs(reply, world) !== undefined && shownMs < reply.writtenAtMs;
}

/** When it first stood in the queue: from then on it is not lost. */
function acceptedAtMs({ requestId }: Asked, { acceptedAtMs: byId }: World): number | undefined {
  return byId.get(requestId);
}
