/** The message that shows a question of the agent: open with its buttons, answered, or closed. Pure. */
import type { Question, Task } from "../task/task.ts";
import { type ButtonLook, buttons, context, cut, markdownBlock, maxButtons, section } from "./blocks.ts";
import { escapeMrkdwn } from "./escape.ts";
import type { Locale } from "./failure-words.ts";
import { fencedTables } from "./fenced-tables.ts";
import { toMrkdwn } from "./markdown-mrkdwn.ts";
import { answeredWords, closedWords, hintWords, noPromptWords, type Standing, untilWords } from "./question-words.ts";
import { safeMarkdown, safePart } from "./safe-markdown.ts";
import { shorten } from "./shorten.ts";
import type { Block, Content } from "./slack.ts";
import { maxMrkdwnLength } from "./split-answer.ts";
import { hasVisibleText, isVisible } from "./visible-text.ts";

const maxPromptLength = 8000;
const maxPlainLength = 2500;
const maxAnswerLength = 300;
const maxFurther = 50;

type Asked = { task: Task; question: Question; locale: Locale };

/** `nowMs` decides whether its time is over. */
export function questionContent({ task, question, locale, nowMs }: Asked & { nowMs: number }): Content {
  const prompt = promptOf({ question, locale });
  const standing = standingOf({ task, question, nowMs });
  const plainPrompt = cut({ text: toMrkdwn(prompt), maxLength: maxPlainLength });
  if (question.answer !== undefined || standing !== "open") {
    const end = question.answer === undefined ? closedWords({ standing: closed(standing), locale }) : answered();
    const text = cut({ text: `${plainPrompt}\n\n${end}`, maxLength: maxMrkdwnLength });
    return { text, ...unlessPlain([markdownBlock(prompt), section(end)]) };
  }
  const hint = hintOf({ question, locale, isPlain: task.plain === true });
  return {
    text: cut({ text: `${plainPrompt}\n\n${hint}`, maxLength: maxMrkdwnLength }),
    ...unlessPlain([markdownBlock(prompt), ...buttonsOf({ task, question }), context(hint)]),
  };

  function answered(): string {
    const { option, text = "", ...given } = question.answer ?? { user: "", atMs: 0 };
    const label = option === undefined ? undefined : labelOf({ question, index: option });
    const words = answeredWords({ ...given, label, locale });
    return text === "" ? words : `${words}\n> ${escapeMrkdwn(shorten({ text, maxLength: maxAnswerLength }))}`;
  }

  function unlessPlain(blocks: Block[]): { blocks?: Block[] } {
    return task.plain ? {} : { blocks };
  }
}

/** In Markdown. A prompt may be as long as a response: first of all it is cut. */
function promptOf({ question, locale }: { question: Question; locale: Locale }): string {
  const written = cut({ text: question.prompt, maxLength: maxPromptLength }).trim();
  const markdown = fencedTables(safeMarkdown(written));
  // An ellipsis says only that it was cut.
  const prompt = hasVisibleText(markdown.replace(/…$/, "")) ? markdown : noPromptWords(locale);
  return safePart({ part: cut({ text: prompt, maxLength: maxPromptLength }), maxLength: maxPromptLength });
}

function standingOf({ task, question, nowMs }: Omit<Asked, "locale"> & { nowMs: number }): Standing {
  if (task.ending === "unanswered" || task.outcome?.type === "unanswered") return "expired";
  if (task.ending !== undefined || task.outcome !== undefined) return "over";
  return nowMs >= question.expiresAtMs ? "expired" : "open";
}

function closed(standing: Standing): Exclude<Standing, "open"> {
  return standing === "open" ? "over" : standing;
}

/** Credentials are never given here. */
function buttonsOf({ task, question }: Omit<Asked, "locale">): Block[] {
  if (question.kind === "auth" || question.options.length === 0) return [];
  const looks = question.options.map(
    ({ style }, option): ButtonLook => ({
      requestId: task.id,
      button: { type: "answer", question: question.index, option },
      label: labelOf({ question, index: option }),
      style,
    }),
  );
  return [buttons(looks)];
}

function hintOf({ question, locale, isPlain }: { question: Question; locale: Locale; isPlain: boolean }): string {
  const until = untilWords({ expiresAtMs: question.expiresAtMs, locale });
  if (question.kind === "auth") return hintWords({ kind: "auth", locale });
  const labels = question.options.map((_, index) => escapeMrkdwn(labelOf({ question, index })));
  const further = (isPlain ? labels : labels.slice(maxButtons)).slice(0, maxFurther).map((label) => `• ${label}`);
  const kind = isPlain || labels.length === 0 ? "words" : further.length > 0 ? "more" : "buttons";
  const hint = hintWords({ kind, locale });
  // Choices come last: where there are very many of them, they are cut.
  return (further.length === 0 ? [hint, until] : [until, hint, ...further]).join("\n");
}

function labelOf({ question, index }: { question: Question; index: number }): string {
  const { id = "", label = "" } = question.options[index] ?? {};
  const [text = String(index + 1)] = [label, id]
    .map((said) => shorten({ text: said, maxLength: 75 }))
    .filter(isVisible);
  return text;
}
