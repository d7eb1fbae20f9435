/** Separates a model's reasoning from its answer. Many endpoints send both in one text, with tags around the reasoning. */

/** Attributes and a prefix such as `seed:` are part of a tag. A slash before the end is not, because such a tag encloses nothing. */
const names = "think|thinking|thoughts?|reasoning|redacted_(?:thinking|reasoning)";
const tag = `<(?:/?(?:[a-z]{1,10}:)?(?:${names})(?:\\s[^<>/]{0,200})?|\\|(?:(?:start|end)_thinking|(?:begin|end)_of_thought)\\|)>`;
const bracketedTag = "\\[/?THINK\\]|◁/?think▷";
/** The tokens that decide where reasoning begins and ends: tags, line ends, and the marks of code in Markdown. */
const tokens = new RegExp(`${tag}|${bracketedTag}|\\n|\`+|~{3,}`, "gi");
/** The end of a text that may be the beginning of a tag. */
const tagBeginning = /[<[◁](?:[^\s<>[\]◁▷][^\n<>[\]◁▷]{0,250})?$/;

const closingTag = /^(?:.\/|<\|end_)/i;
const blank = /^\s*$/;
const quotes = /^["'“”‘’«»「」『』()]$/;

export type AnswerText = {
  text: string;
  /** `unopened`: there was no opening tag, because the model's template puts it into the prompt. */
  reasoning: "none" | "tagged" | "unopened";
};

/**
 * Removes reasoning, which begins with a tag at the beginning of a line and goes on to the closing tag, or to the end of the text. Everything
 * before a closing tag without an opening one is reasoning too. Tags in code, in quotes and within a line are part of the answer, which may be
 * about them. Of a text without `isWhole`, what may still turn out to be reasoning is left out.
 */
export function removeReasoning(modelText: string, { isWhole }: { isWhole: boolean }): AnswerText {
  const answerPieces: string[] = [];
  const state = {
    from: 0,
    lineStart: 0,
    isReasoning: false,
    isCode: false,
    isBlock: false,
    mentioned: 0,
    nested: 0,
  };
  let reasoning: AnswerText["reasoning"] = "none";

  function endReasoning(at: number): void {
    Object.assign(state, {
      from: at,
      lineStart: at,
      isReasoning: false,
      isCode: false,
      isBlock: false,
    });
  }

  function readTag(token: string, at: number): void {
    const end = at + token.length;
    const isClosing = closingTag.test(token);
    if (state.isReasoning) {
      if (isClosing) endReasoning(end);
      else state.nested += 1;
    } else if (!isClosing && blank.test(modelText.slice(state.lineStart, at))) {
      answerPieces.push(modelText.slice(state.from, at));
      Object.assign(state, { isReasoning: true, mentioned: 0 });
      if (reasoning === "none") reasoning = "tagged";
    } else if (!isClosing) state.mentioned += 1;
    else if (state.mentioned > 0) state.mentioned -= 1;
    else if (!(quotes.test(modelText[at - 1] ?? "") && quotes.test(modelText[end] ?? ""))) {
      if (reasoning === "none") reasoning = "unopened";
      state.nested = Math.max(0, state.nested - 1);
      endReasoning(end);
    }
  }

  for (const { 0: token, index: at } of modelText.matchAll(tokens)) {
    const [mark = ""] = token;
    if (mark === "\n") Object.assign(state, { lineStart: at + 1, isCode: false });
    else if (mark === "`" || mark === "~") {
      const isFence = token.length > 2 && blank.test(modelText.slice(state.lineStart, at));
      // A block that reasoning leaves open must not hide the end of the reasoning.
      if (isFence) state.isBlock = !state.isBlock && !state.isReasoning;
      else if (mark === "`") state.isCode = !state.isCode;
    } else if (!state.isCode && !state.isBlock && !isProse(token)) readTag(token, at);
  }
  if (!state.isReasoning) answerPieces.push(modelText.slice(state.from));
  // Reasoning that mentions an opening tag may go on after its first closing one.
  if (!isWhole && state.nested > 0) return { text: "", reasoning };
  const text = reasoning === "none" ? modelText : joinParagraphs(answerPieces);
  return { text: isWhole ? text : text.replace(tagBeginning, ""), reasoning };
}

/** `[Think]` is a word. The models that write reasoning in brackets use capitals. */
function isProse(token: string): boolean {
  return token.startsWith("[") && token !== token.toUpperCase();
}

function joinParagraphs(texts: readonly string[]): string {
  return texts
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join("\n\n");
}
