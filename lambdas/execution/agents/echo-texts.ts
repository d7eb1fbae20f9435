/** The longer texts that the echo agent can answer with. */

/** About 1,200 characters: long enough to be watched while it is written. */
export const story = [
  "## A traveller at the checkpoint",
  "In the spring a traveller came down the mountain road to the checkpoint of Hakone. The gate stood open, as it did every day from sunrise to sunset, and beneath it two guards sat on a bench and looked at whoever came.",
  "「手形を拝見いたす」とひとりが言った。旅人は懐から一枚の紙を取り出し、両手で差し出した。",
  "The guard read the paper from the first word to the last. He looked at the seal, held it against another one in his book, and asked three things: *where from*, *where to*, and *what for*. The traveller answered each in a few words. Nothing else was asked, and nothing else was told.",
  "1. The seal was the right one.\n2. The names agreed.\n3. The paper was not too old.",
  "「通ってよし」。旅人は深く頭を下げ、門をくぐった。向こう側には湖が広がり、遠くに白い富士が見えた。",
  "Behind the gate somebody else took over. There a clerk carried out what the traveller had come for, wrote it down, and gave him an answer to take home. He never saw the seal: that stayed with the guards, in a box with two locks. And when the traveller came by again in the evening, the guard knew him, although he asked once more for the paper.",
  "**So it was every day**: many came, those who might go on went on, the others were told why not, and nobody was left standing at the gate without a word.",
].join("\n\n");

/** Numbered sections of Markdown until there are `length` characters: the last one is whole. */
export function markdownOf({ length }: { length: number }): string {
  const parts = ["# A report on the checkpoints"];
  let written = 0;
  for (let number = 1; written < length; number++) {
    const part = section(number);
    written += part.length + 2;
    parts.push(part);
  }
  return parts.join("\n\n");
}

/** In turn with a table, with code, and with a list, so that whatever is split is split everywhere. */
function section(number: number): string {
  const insert = [tableOf, codeOf, listOf][number % 3] ?? listOf;
  return [
    `## ${number}. ${titles[number % titles.length]}`,
    "Whoever came down the road was asked for a paper. The guards *read* it, held its seal against the one in their book, and let the traveller **pass** or told him why not. See `book-" +
      `${number}` +
      "` and [the map](https://example.com/map) for the stations along the way.",
    "街道を下ってきた者は、まず手形を求められた。番人は印を帳面と照らし合わせ、誤りがなければ門を開けた。誤りがあれば、その訳を告げて引き返させた。夜になると門は閉じられ、朝まで誰も通れなかった。",
    insert(number),
  ].join("\n\n");
}

const titles = ["The road", "門と番人", "Papers and seals", "夜の関所", "What was written down"];

function tableOf(number: number): string {
  const rows = ["箱根", "新居", "碓氷"].map((name, index) => `| ${name} | ${number * 100 + index} | ${index + 1} |`);
  return ["| station | travellers | turned back |", "| --- | ---: | ---: |", ...rows].join("\n");
}

function codeOf(number: number): string {
  const lines = [
    "function mayPass(traveller) {",
    `  // Section ${number}: an empty book lets nobody through.`,
    "  const seal = book.get(traveller.name);",
    "  return seal !== undefined && seal === traveller.paper.seal;",
    "}",
  ];
  return ["```js", ...lines, "```"].join("\n");
}

function listOf(number: number): string {
  return [
    `- Day ${number}: 42 travellers`,
    "  - 3 of them without a paper",
    "- 夜: 誰も通らず",
    "- The gate was mended",
  ].join("\n");
}
