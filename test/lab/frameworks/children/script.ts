/** The replies of the scripted models of all frameworks, in the terms of no framework. */
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { reply } from "../../peers/script.ts";
import { tell, untilReleased } from "./parent.ts";

export { toolResults } from "../../peers/script.ts";

/** A call of a model. `userTexts` are all messages of the person that it got, and `toolResult` is the result of a tool after the last one. */
export type Turn = {
  userTexts: readonly string[];
  toolResult: string | undefined;
  signal: AbortSignal | undefined;
};

/** The model's next step: a text in pieces, or the call of a tool. */
export type Step = {
  words: Iterable<string> | AsyncIterable<string>;
  call?: { name: string; args: { about: string } } | undefined;
};

export async function decide({ userTexts, toolResult, signal }: Turn): Promise<Step> {
  const text = userTexts.at(-1) ?? "";
  if (text === "list") return { words: [`You wrote: ${userTexts.join(", ")}`] };
  if (text === "stream") return { words: streamWords() };
  if (text === "work on") return { words: hang(signal) };
  const step = await reply({ text, files: [], toolResult });
  return { words: [], ...step };
}

/** Has a beginning until the parent asks for the end. */
async function* streamWords(): AsyncGenerator<string> {
  const released = untilReleased();
  yield "The beginning ";
  await released;
  yield "and the end.";
}

/** A framework without a signal stops by itself at the next piece. */
async function* hang(signal: AbortSignal | undefined): AsyncGenerator<string> {
  try {
    yield "I begin. ";
    if (signal === undefined) for (;;) yield wait(50, "And go on. ");
    if (!signal.aborted) await once(signal, "abort");
    signal.throwIfAborted();
  } finally {
    tell({ event: "aborted" });
  }
}

export async function join(words: Step["words"]): Promise<string> {
  let text = "";
  for await (const word of words) text += word;
  return text;
}
