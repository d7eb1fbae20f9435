/** The built-in agent: repeats what it received, and shows on demand everything that an agent can do. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Artifact, TaskStep } from "@sekisho/contracts/methods.ts";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { Agent, AgentAnswer, AgentTask, ReadAttachment } from "./agent.ts";
import type { CreateAgent } from "./create-agent.ts";

/** Makes `progress` take six seconds: longer than a call waits before its task continues in the background. */
const defaultStepMs = 1200;
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const approvalOptions = [
  { id: "go", label: "Begin", style: "primary" },
  { id: "stay", label: "Stay", style: "danger" },
];
const prompts = ["Shall I go on?", "Are you sure?"];
const formPrompt = "Where does the journey go?";
/** One field of each type. */
const form: readonly QuestionField[] = [
  {
    id: "road",
    label: "Road",
    type: "choice",
    required: true,
    options: [
      { id: "tokaido", label: "東海道" },
      { id: "nakasendo", label: "中山道" },
    ],
  },
  {
    id: "luggage",
    label: "Luggage",
    type: "choices",
    options: [
      { id: "papers", label: "Papers" },
      { id: "rice", label: "Rice" },
      { id: "umbrella", label: "Umbrella" },
    ],
  },
  { id: "travellers", label: "Travellers", type: "number", required: true, min: 1, max: 20 },
  { id: "day", label: "Day of departure", type: "date" },
  { id: "reason", label: "Reason", type: "text", multiline: true, max_length: 300 },
];

/** By the id of the task, which makes the link another one for each. */
const specialQuestions = {
  form: () => ({ prompt: formPrompt, fields: form }),
  approval: () => ({ prompt: "Shall the journey begin?", options: approvalOptions, approvals: 2 }),
  signIn: (taskId: string) => ({
    prompt: "Sign in at the checkpoint, so that I can see your travel papers.",
    kind: "auth" as const,
    url: `https://example.com/sign-in/${taskId}`,
  }),
};

/**
 * Reacts to these words in the text, alone or combined:
 * - `slow 5s` (or `slow 500ms`): answers after that time;
 * - `progress`: reports progress five times, every `stepMs` or over the time of `slow`;
 * - `plan`: reports the same as five named steps;
 * - `stream`: writes a longer answer in ten pieces at the same pace, which repeats the text if that is long;
 * - `ask me`: asks a question before the answer; `ask twice` asks two; `ask form` asks one with a form to fill in; `ask approval` asks two
 *   people; `ask sign-in` asks the person to sign in;
 * - `fail`: fails at the end;
 * - `file`: adds a small CSV file; `image` adds a tiny PNG;
 * - `long`: answers with about 9,000 characters of Markdown; `very long` with about 60,000;
 * - `read files`: reads the attachments and lists their sizes and SHA-256 digests.
 */
export function createEchoAgent(
  settings: {
    stepMs?: number;
    /** Rejects when the signal aborts. */
    sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
  } = {},
): Agent {
  const { stepMs = defaultStepMs, sleep = ({ ms, signal }) => delay(ms, undefined, { signal }) } =
    settings;
  return async function* echo(task, { signal, readAttachment, taskId }) {
    const wishes = readWishes({ text: task.text, stepMs });
    const { lengthMs, steps, reports, plans, streams, fails } = wishes;
    if (wishes.asks !== undefined && task.answers.length === 0) {
      yield { type: "question", ...specialQuestions[wishes.asks](taskId) };
      return;
    }
    const prompt = prompts.slice(0, wishes.questions)[task.answers.length];
    if (prompt !== undefined) {
      yield { type: "question", prompt, options };
      return;
    }
    const files = wishes.reads
      ? await fileLines({ attachments: task.attachments ?? [], readAttachment, signal })
      : [];
    const text = createAnswer({ task, body: wishes.body, files });
    for (let step = 1; step <= steps; step++) {
      await sleep({ ms: lengthMs / steps, signal });
      const report = reports && { text: `Step ${step} of ${steps}`, percent: (100 * step) / steps };
      const plan = plans && { steps: planAt(step) };
      const partialText = streams && { partial: truncate(text, (text.length * step) / steps) };
      if (report || plan || partialText)
        yield { type: "progress", ...report, ...plan, ...partialText };
    }
    if (fails) {
      yield { type: "failure", reason: "execution_failed" };
      return;
    }
    for (const file of wishes.files) yield { type: "artifact", artifact: sampleFiles[file] };
    yield { type: "answer", text };
  };
}

/** The entry of the agent's module in a bundle. */
export const createAgent: CreateAgent = () => createEchoAgent();

const lengths = { long: 9000, "very long": 60_000 };

type AnswerParts = { task: AgentTask; body: Body | undefined; files: readonly string[] };

/** `files` are lines about the attachments. */
function createAnswer({ task, body, files }: AnswerParts): string {
  const answers = task.answers.map((answer) => `${answer.prompt} ${describeAnswer(answer)}`);
  const lines = [...files, ...answers];
  // The empty line ends a Markdown table or list, which would otherwise include the next line.
  const gap = body === undefined || lines.length === 0 ? [] : [""];
  return [createAnswerText({ task, body }), ...gap, ...lines].join("\n");
}

function describeAnswer({ option_id, text, fields, approved_by }: AgentAnswer): string {
  if (approved_by !== undefined) return `${option_id}, approved by ${approved_by.join(" and ")}`;
  if (fields === undefined) return option_id ?? text;
  return Object.entries(fields)
    .map(([id, value]) => `${id}: ${Array.isArray(value) ? value.join(", ") : value}`)
    .join("; ");
}

function createAnswerText({ task, body }: { task: AgentTask; body: Body | undefined }): string {
  if (body === "story") return story;
  return body === undefined ? createEcho(task) : createSampleMarkdown({ length: lengths[body] });
}

function createEcho({ text, attachments = [] }: AgentTask): string {
  const count = attachments.length;
  const files = count === 0 ? "" : `attached ${count === 1 ? "a file" : `${count} files`}`;
  const about = "I'm the echo agent. I just repeat what you send me. You";
  if (text === "" && files !== "") return `${about} ${files}.`;
  return `${about} wrote${files && ` and ${files}`}:\n${text}`;
}

/** A generated text for the answer. Without one, the answer repeats the request. */
type Body = "story" | "long" | "very long";

type Wishes = {
  lengthMs: number;
  /** 0 if there is nothing to wait for. */
  steps: number;
  /** `reports`: each step reports progress. `streams`: each step adds a piece of the answer. */
  reports: boolean;
  /** Each step ends one of the named steps. */
  plans: boolean;
  streams: boolean;
  questions: number;
  asks: keyof typeof specialQuestions | undefined;
  fails: boolean;
  body: Body | undefined;
  files: readonly SampleFile[];
  /** Reads the attachments. */
  reads: boolean;
};

/** A task takes no longer. */
const maxLengthMs = 8 * 3600_000;
const createSteps = { stream: 10 };
const planTitles = ["Read the request", "Look around", "Think", "Try it", "Write it down"];
const readRequest = /\bread (the |my )?files?\b/gi;

function readWishes({ text, stepMs }: { text: string; stepMs: number }): Wishes {
  const says = (word: RegExp) => word.test(text);
  const reports = says(/\bprogress\b/i);
  const plans = says(/\bplan\b/i);
  const streams = says(/\bstream\b/i);
  const [, amount, unit] = /\bslow\s+(\d{1,9})\s*(ms|s)\b/i.exec(text) ?? [];
  const slowMs =
    amount === undefined ? undefined : Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000);
  const pieces = streams ? createSteps.stream : reports || plans ? planTitles.length : 0;
  const lengthMs = Math.min(maxLengthMs, slowMs ?? pieces * stepMs);
  const otherText = text.replace(readRequest, "");
  return {
    lengthMs,
    steps: lengthMs > 0 ? Math.max(pieces, 1) : pieces,
    reports,
    plans,
    streams,
    questions: says(/\bask (me )?twice\b/i) ? 2 : says(/\bask me\b/i) ? 1 : 0,
    asks: says(/\bask (me )?form\b/i)
      ? "form"
      : says(/\bask (for )?approval\b/i)
        ? "approval"
        : says(/\bask (me )?(to )?sign[ -]in\b/i)
          ? "signIn"
          : undefined,
    fails: says(/\bfail\b/i),
    body: says(/\bvery long\b/i)
      ? "very long"
      : says(/\blong\b/i)
        ? "long"
        : streams && text.length < story.length
          ? "story"
          : undefined,
    files: [
      ...(/\bfile\b/i.test(otherText) ? ["table" as const] : []),
      ...(says(/\bimage\b/i) ? ["image" as const] : []),
    ],
    reads: otherText !== text,
  };
}

/** The named steps while the step of that number, from 1, is the latest that has ended. */
function planAt(endedSteps: number): TaskStep[] {
  return planTitles.map((title, index) => {
    const status =
      index < endedSteps ? "completed" : index === endedSteps ? "in_progress" : "pending";
    return { id: `step-${index + 1}`, title, status };
  });
}

type FileRequest = {
  attachments: NonNullable<AgentTask["attachments"]>;
  readAttachment: ReadAttachment;
  signal: AbortSignal;
};

/** One line for each attachment, in order. Rejects when `signal` aborts. */
async function fileLines({ attachments, readAttachment, signal }: FileRequest): Promise<string[]> {
  const lines: string[] = [];
  for (const attachment of attachments) {
    const description = await readAttachment({ attachment }).then(
      describeBytes,
      (error: unknown) => {
        signal.throwIfAborted();
        return `not read (${SekishoError.from(error).reason})`;
      },
    );
    lines.push(`${attachment.name}: ${description}`);
  }
  return lines;
}

function describeBytes(bytes: Uint8Array): string {
  return `${bytes.byteLength} bytes, sha256 ${createHash("sha256").update(bytes).digest("hex")}`;
}

type SampleFile = "table" | "image";

const table = [
  ["station", "name", "travellers"],
  ["1", "箱根", "1204"],
  ["2", "新居", "873"],
  ["3", "碓氷", "645"],
];

/** A red gate of 32 by 32 pixels. */
const gate =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAACVBMVEX////ZOh8zKytUaly0AAAAO0lEQVR42mNgwA20VoHBCgSDNRQMAvAxGBgDGB1YHRjw" +
  "MkRBakOwMhgDGBigimnF4FrBwKC1AJmBEwAAEkAk5nmo77YAAAAASUVORK5CYII=";

const sampleFiles: Readonly<Record<SampleFile, Artifact>> = {
  table: {
    name: "checkpoints.csv",
    mimetype: "text/csv",
    text: table.map((row) => `${row.join(",")}\n`).join(""),
  },
  image: { name: "gate.png", mimetype: "image/png", base64: gate },
};

/** About 1,200 characters, so that one can watch how it is written. */
const story = [
  "## A traveller at the checkpoint",
  "In the spring a traveller came down the mountain road to the checkpoint of Hakone. The gate stood open, as it did every day from sunrise to sunset, and beneath it two guards sat on a bench and looked at whoever came.",
  "「手形を拝見いたす」とひとりが言った。旅人は懐から一枚の紙を取り出し、両手で差し出した。",
  "The guard read the paper from the first word to the last. He looked at the seal, held it against another one in his book, and asked three things: *where from*, *where to*, and *what for*. The traveller answered each in a few words. Nothing else was asked, and nothing else was told.",
  "1. The seal was the right one.\n2. The names agreed.\n3. The paper was not too old.",
  "「通ってよし」。旅人は深く頭を下げ、門をくぐった。向こう側には湖が広がり、遠くに白い富士が見えた。",
  "Behind the gate somebody else took over. There a clerk carried out what the traveller had come for, wrote it down, and gave him an answer to take home. He never saw the seal: that stayed with the guards, in a box with two locks. And when the traveller came by again in the evening, the guard knew him, although he asked once more for the paper.",
  "**So it was every day**: many came, those who might go on went on, the others were told why not, and nobody was left standing at the gate without a word.",
].join("\n\n");

/** Writes whole numbered sections of Markdown until the text has at least `length` characters. */
function createSampleMarkdown({ length }: { length: number }): string {
  const parts = ["# A report on the checkpoints"];
  let textLength = 0;
  for (let number = 1; textLength < length; number++) {
    const part = createSection(number);
    textLength += part.length + 2;
    parts.push(part);
  }
  return parts.join("\n\n");
}

/** Adds a table, code and a list in turn, so that a test of message splitting meets each of them. */
function createSection(number: number): string {
  const insert = [createTable, createCodeBlock, createList][number % 3] ?? createList;
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

function createTable(number: number): string {
  const rows = ["箱根", "新居", "碓氷"].map(
    (name, index) => `| ${name} | ${number * 100 + index} | ${index + 1} |`,
  );
  return ["| station | travellers | turned back |", "| --- | ---: | ---: |", ...rows].join("\n");
}

function createCodeBlock(number: number): string {
  const lines = [
    "function mayPass(traveller) {",
    `  // Section ${number}: an empty book lets nobody through.`,
    "  const seal = book.get(traveller.name);",
    "  return seal !== undefined && seal === traveller.paper.seal;",
    "}",
  ];
  return ["```js", ...lines, "```"].join("\n");
}

function createList(number: number): string {
  return [
    `- Day ${number}: 42 travellers`,
    "  - 3 of them without a paper",
    "- 夜は通行なし",
    "- The gate was mended",
  ].join("\n");
}
