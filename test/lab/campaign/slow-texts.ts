/** Entry of the campaign's search for slow texts: which text of 64 KB holds the event loop longest, in which function? */
import { parseArgs } from "node:util";
import { createMarkdownTree } from "@sekisho/local/page/display-tree.ts";
import { parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import { invisible } from "@sekisho/runtime/visible-text.ts";
import { isSignInPage } from "@sekisho/verification/files/attachments.ts";
import { safeFileName } from "@sekisho/verification/files/files.ts";
import { findRoute } from "@sekisho/verification/gate/rules.ts";
import {
  findOtherBotUser,
  isAddressedToOther,
  readUserText,
} from "@sekisho/verification/slack/api/user-text.ts";
import { readMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { createWork } from "@sekisho/verification/slack/markdown/nodes.ts";
import { chooseFileName } from "@sekisho/verification/slack/messages/answer-files.ts";
import { nextStreamPiece } from "@sekisho/verification/slack/messages/stream-piece.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { isCancelWord } from "@sekisho/verification/task/command-words.ts";
import { freshnessMs } from "@sekisho/verification/transport/a2a/card-source.ts";
import { isEventStream } from "@sekisho/verification/transport/response-head.ts";
import { takeResult } from "@sekisho/verification/transport/take-result.ts";
import { fragments } from "../../verification/slack/markdown/markdown-fragments.ts";
import { askedAtMs, sampleTask } from "../../verification/task/sample.ts";
import { createStepCounter, findGrowth, type Growth } from "./count-steps.ts";

const usage = `Usage: node test/lab/campaign/slow-texts.ts [--seed N] [--seconds N]

Combines pieces of Markdown, repeats them up to 64 KB, and keeps what takes longest. Fails where a text takes more than
a second of processor time, more than 60 steps of the Markdown parser per character, or where twice the text, and twice
that again, cost more than 2.5 times the steps in a pass of over 50 steps per character (count-steps.ts). The unit makes times of different machines comparable.
Half the time is for each of the two.`;

const fullLength = 65_536;
/** A longer answer is attached as a file, and only its beginning is read. */
const longestShown = 57_500;
const maxMs = 1000;
const maxStepsPerCharacter = 60;
/** The steps are compared for so much of what a text repeats. It is below the bounds of what is read. */
const comparedLengths = [10_000, 20_000, 40_000] as const;
const maxGrowth = 2.5;
/** A pass with fewer for the longest of them cannot hold the process for any text that is read. */
const minStepsPerCharacter = 50;

const { parts, placeholder, question } = createTaskText({ locale: "en" });

/** Each goes through with one text what one act of the process does: between them others have their turn. */
const subjects: Record<string, (text: string) => unknown> = {
  answer: (text) => parts(sampleTask({ outcome: { type: "answer", text } })),
  "longest answer that may be shown": (text) =>
    parts(sampleTask({ outcome: { type: "answer", text: text.slice(0, longestShown) } })),
  // The file that a long answer becomes could not be attached: all of it is posted.
  "complete answer in messages": (text) =>
    parts(sampleTask({ outcome: { type: "answer", text, uploads: [{ failed: true }] } })),
  "answer without blocks": (text) =>
    parts(
      sampleTask({
        mrkdwnFallback: true,
        outcome: { type: "answer", text, uploads: [{ failed: true }] },
      }),
    ),
  "label of a link": (text) =>
    parts(
      sampleTask({
        outcome: { type: "answer", text: `[${text.slice(0, 50_000)}](https://evil.example)` },
      }),
    ),
  "partial text": (text) =>
    placeholder(
      sampleTask({ state: "waiting", progress: { text, partialText: text, shownAtMs: askedAtMs } }),
    ),
  question: (text) => {
    const asked = { index: 0, prompt: text, options: [{ id: text, label: text }] };
    const open = { ...asked, askedAtMs, expiresAtMs: askedAtMs + 1000 };
    return question({ task: sampleTask({ state: "asking", question: open }), nowMs: askedAtMs });
  },
  "piece of a stream": (text) => nextStreamPiece({ text, from: 0, shows: undefined }),
  "file name": (text) =>
    chooseFileName({
      artifact: { name: text, url: `https://a.example/${text}` },
      content: { url: `https://a.example/${text}` },
    }),
  attachment: (text) => [
    safeFileName(text),
    isSignInPage({
      bytes: Buffer.from(text),
      contentType: text,
      claimedMimetype: text,
      name: text,
    }),
  ],
  "response header": (text) => [
    isEventStream(text),
    parseRetryAfter({ header: text, nowMs: askedAtMs }),
    freshnessMs(text),
  ],
  "message from Slack": (text) => {
    const asked = { text, botUsers: ["U1"], author: "U2" };
    return [readUserText(asked), findOtherBotUser(asked), isAddressedToOther(asked)];
  },
  "result with many addresses": (text) => {
    // A host of its own for each artifact, so that nothing is known of it.
    const artifacts = Array.from({ length: 100 }, (_, n) => ({
      url: `https://${text.slice(n * 650, (n + 1) * 650)}.example/`,
    }));
    return takeResult({
      status: "success",
      response_text: text,
      artifacts: [{ url: `https://${text}/` }, ...artifacts],
    });
  },
  "word to cancel": (text) => isCancelWord(text),
  "word of a route": (text) =>
    findRoute({
      routes: [{ word: "deploy", destination: ["a"] }],
      message: { team: "T1", channel: "C1", text },
    }),
  "page of the local Slack": (text) => createMarkdownTree(text),
};

/**
 * A text is `before`, then `unit` again and again, and a count of them that differ. With `second`, one half is of `unit` and the other of
 * `second`: marks of two classes in sequence are what normalization is slowest with.
 */
type Recipe = {
  before: readonly string[];
  unit: readonly string[];
  second?: readonly string[] | undefined;
  isCounted: boolean;
};
type Found = { recipe: Recipe; subject: string; ms: number; steps: number };

function textOf(
  { before: oldValue, unit, second, isCounted }: Recipe,
  length = fullLength,
): string {
  const start = oldValue.join("");
  if (second === undefined)
    return (start + filled({ unit, isCounted, upTo: length })).slice(0, length);
  const half = length / 2;
  return (
    start +
    filled({ unit, isCounted, upTo: half }) +
    filled({ unit: second, isCounted, upTo: half })
  ).slice(0, length);
}

function filled({
  unit,
  isCounted,
  upTo,
}: Pick<Recipe, "unit" | "isCounted"> & { upTo: number }): string {
  const once = unit.join("") || "a";
  const times = Math.ceil(upTo / once.length);
  const body = isCounted
    ? Array.from({ length: times }, (_, n) => once + n).join("")
    : once.repeat(times);
  return body.slice(0, upTo);
}

/** A host of so many characters that differ is what is slowest to convert to ASCII. */
const manyCharacters = Array.from({ length: 5000 }, (_, n) =>
  String.fromCodePoint(0x4e00 + n),
).join("");
/** Texts that are slow for other reasons than Markdown's own signs. */
const pieces = [
  ...fragments,
  "\u0301",
  "\u0323",
  "\uff9e",
  "https://",
  "<!--",
  "-->",
  "; charset=",
  "max-age=",
  "a.b ",
  manyCharacters.slice(0, 200),
  manyCharacters,
  "\u0903",
  "\u{1d16d}",
  ...listInvisible(),
];

/** Every character that is drawn as nothing, tags and fillers included, but of control and unassigned characters one each. */
function listInvisible(): string[] {
  const drawnAsNothing = new RegExp(`^[${invisible}]$`, "u");
  const codes = Array.from({ length: 0x110000 }, (_, code) => code).filter(
    (code) => code < 0xd800 || code > 0xdfff,
  );
  const characters = codes.map((code) => String.fromCodePoint(code));
  const isNamed = (character: string) =>
    drawnAsNothing.test(character) && !/[\p{Cc}\p{Cn}]/u.test(character);
  return [...characters.filter(isNamed), "\u0001", "\u0378"];
}

/** Texts that attackers found, that the search found, and each piece alone. */
const withBeginning: readonly Recipe[] = [
  { before: ["```\n"], unit: ["\n"], second: ["a\n"], isCounted: false },
  { before: ["[a.b](https://a.b) x"], unit: ["\u0301"], second: ["\u0323"], isCounted: false },
  { before: [`[${"a.b ".repeat(120)}](https://`], unit: [manyCharacters], isCounted: false },
  { before: ["https://"], unit: [manyCharacters], isCounted: false },
  {
    before: [
      `${`[${"a.b ".repeat(120)}][r]\n\n`.repeat(10)}[r]: https://${manyCharacters}.example/\n`,
    ],
    unit: ["a"],
    isCounted: false,
  },
];
const repeated: readonly Recipe[] = [
  ["&lt;(|a|b|\n|\n|-|\nwww.a.b"],
  ["[[[[](|a|b|\n|-|-|\n"],
  ["- a\n  "],
  [`${"a".repeat(53)}!${"@".repeat(26)}`],
  ['|<br>a](><a@b.c><"![&lt;<!--|-|\n'],
  ["[a](b '"],
  ["a\n"],
  ["*a **b "],
  ["**a *b_"],
  ["<a b='"],
  ["="],
  ["#"],
  ["-"],
  ["e\u0301"],
  ...fragments.map((piece) => [piece]),
].map((unit) => ({ before: [], unit, isCounted: false }));
/** A word with a link in it, whose letter may be followed by any number of marks. */
const marked: readonly Recipe[] = listInvisible().map((character) => ({
  before: ["[a.b](https://evil.example)a"],
  unit: [character],
  isCounted: false,
}));
const known: readonly Recipe[] = [...withBeginning, ...marked, ...repeated];

/** The same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function measure(recipe: Recipe): Found {
  const text = textOf(recipe);
  const { steps } = readMarkdown({ text, work: createWork(text.length) });
  let worst: Found = { recipe, subject: "parser", ms: 0, steps: steps / text.length };
  for (const [subject, run] of Object.entries(subjects)) {
    const ms = msOf(() => run(text));
    if (ms > worst.ms) worst = { ...worst, subject, ms };
  }
  return worst;
}

type Grown = Growth & { recipe: Recipe; subject: string };

const sources = new URL("../../../", import.meta.url).href;
const isSource = (url: string) =>
  ["contracts/", "lambdas/", "lib/"].some((folder) => url.startsWith(sources + folder));

/** Finds the passes whose steps grow faster than the text. Counting slows everything down, so times are measured before. */
function compareSteps({ recipes, seconds }: { recipes: readonly Recipe[]; seconds: number }) {
  const counter = createStepCounter({ isSource });
  const endMs = performance.now() + seconds * 1000;
  const grown: Grown[] = [];
  let compared = 0;
  for (const recipe of recipes) {
    if (performance.now() > endMs) break;
    const texts = comparedLengths.map((length) =>
      textOf(recipe, recipe.before.join("").length + length),
    );
    for (const [subject, run] of Object.entries(subjects)) {
      const doublings = texts.map((text) => counter.count(() => run(text)));
      const growth = findGrowth({
        doublings,
        maxGrowth,
        minSteps: minStepsPerCharacter * comparedLengths[2],
      });
      grown.push(...growth.map(({ pass, steps }) => ({ recipe, subject, pass, steps })));
    }
    compared += 1;
  }
  counter.close();
  return { grown, compared };
}

/** The work of one unit: what a machine needs for it tells how fast and how busy it is. */
function doUnit(): string {
  return JSON.stringify(Array.from({ length: 100_000 }, (_, n) => [n, String(n)]));
}

/** Processor time of this thread, the least of three runs: a busy machine makes it little longer, where a clock would show seconds. */
function msOf(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 3 && (times === 0 || least > 30); times += 1) {
    const start = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

function search({ seed, seconds }: { seed: number; seconds: number }): {
  slowest: Found[];
  tried: Recipe[];
} {
  const random = createRandom(seed);
  const pick = () => {
    const piece = pieces[random(pieces.length)] ?? "";
    return random(8) === 0 ? piece.repeat(2 ** (1 + random(6))) : piece;
  };
  const fresh = (): Recipe => ({
    before: Array.from({ length: random(3) }, pick),
    unit: Array.from({ length: 1 + random(8) }, pick),
    second: random(5) === 0 ? Array.from({ length: 1 + random(4) }, pick) : undefined,
    isCounted: random(6) === 0,
  });
  const changed = ({ before: oldValue, unit, second, isCounted }: Recipe): Recipe => {
    const next = [...unit];
    const at = random(next.length + 1);
    next.splice(at, random(2), ...Array.from({ length: random(3) }, pick));
    return {
      before: random(5) === 0 ? [pick(), ...oldValue].slice(0, 3) : oldValue,
      unit: next,
      second,
      isCounted,
    };
  };
  // The first run of each function also compiles it.
  for (let times = 0; times < 3; times += 1) measure(fresh());
  const endMs = performance.now() + seconds * 1000;
  const waiting = [...known];
  let slowest: Found[] = [];
  const tried: Recipe[] = [];
  while (performance.now() < endMs) {
    const parent = slowest[random(slowest.length)];
    const next = parent === undefined || random(3) === 0 ? fresh() : changed(parent.recipe);
    const recipe = waiting.shift() ?? next;
    if (slowest.some((one) => textOf(one.recipe) === textOf(recipe))) continue;
    const found = measure(recipe);
    tried.push(recipe);
    slowest = [...slowest, found].sort((a, b) => scoreOf(b) - scoreOf(a)).slice(0, 12);
  }
  process.stdout.write(`${tried.length} texts of ${fullLength} characters, seed ${seed}\n`);
  return { slowest, tried };
}

function shortened(_key: string, value: unknown): unknown {
  return typeof value === "string" && value.length > 200
    ? `${value.slice(0, 40)}… (${value.length} characters)`
    : value;
}

function scoreOf({ ms, steps }: Found): number {
  return ms + steps;
}

function main(): number {
  const text = { type: "string" } as const;
  const options = { seed: { ...text, default: "1" }, seconds: { ...text, default: "60" } };
  const { values } = parseArgs({ options });
  const [seed, seconds] = [Number(values.seed), Number(values.seconds) / 2];
  const unitMs = msOf(doUnit);
  const { slowest, tried } = search({ seed, seconds });
  for (const { recipe, subject, ms, steps } of slowest)
    process.stdout.write(
      `${ms.toFixed(0)} ms, ${steps.toFixed(1)} steps per character: ${subject}, ${JSON.stringify(recipe, shortened)}\n`,
    );
  process.stdout.write(
    `The slowest took ${((slowest[0]?.ms ?? 0) / unitMs).toFixed(1)} units of ${unitMs.toFixed(1)} ms\n`,
  );
  const { grown, compared } = compareSteps({
    recipes: [...slowest.map(({ recipe }) => recipe), ...tried],
    seconds,
  });
  process.stdout.write(`${compared} texts compared with twice the text\n`);
  for (const { recipe, subject, pass, steps } of grown)
    process.stdout.write(
      `${steps.join(", ")} steps at each doubling: ${pass} of ${subject}, ${JSON.stringify(recipe, shortened)}\n`,
    );
  return grown.length > 0 ||
    slowest.some(({ ms, steps }) => ms > maxMs || steps > maxStepsPerCharacter)
    ? 1
    : 0;
}

try {
  process.exitCode = main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n\n${usage}\n`);
  process.exitCode = 2;
}
