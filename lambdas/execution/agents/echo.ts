/** The agent that comes with the house: it says what it received, and shows on demand whatever an agent can do. */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "./agent.ts";
import { answerTo } from "./echo/answer-to.ts";
import { fileLines } from "./echo/file-lines.ts";
import { sampleFiles } from "./echo/sample-files.ts";
import { wishesOf } from "./echo/wishes.ts";

/** `progress` takes six seconds in all: longer than a call waits before its task goes on in the background. */
const defaultStepMs = 1200;
const options = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];
const prompts = ["Shall I go on?", "Are you sure?"];

/**
 * Words in the text, alone or together:
 * - `slow 5s` (or `slow 500ms`) answers that much later;
 * - `progress` reports five times on the way (every `stepMs`, or over the time of `slow`);
 * - `stream` writes a longer answer in ten pieces, as it were (in such steps);
 * - `ask me` asks before the answer, `ask twice` does so two times;
 * - `fail` fails at the end;
 * - `file` answers with a small CSV, `image` with a tiny PNG;
 * - `long` answers with about 9,000 characters of Markdown, `very long` with about 60,000;
 * - `read files` reads the attachments, and tells how many bytes each has and their SHA-256.
 */
export function createEchoAgent({
  stepMs = defaultStepMs,
  sleep = ({ ms, signal }) => delay(ms, undefined, { signal }),
}: {
  stepMs?: number;
  /** Rejects when the signal aborts. */
  sleep?: (request: { ms: number; signal: AbortSignal }) => Promise<void>;
} = {}): Agent {
  return async function* echo(task, { requestId, signal, readAttachment }) {
    const wishes = wishesOf({ text: task.text, stepMs });
    const { lengthMs, steps, reports, streams, fails } = wishes;
    const prompt = prompts.slice(0, wishes.questions)[task.answers.length];
    if (prompt !== undefined) {
      yield { type: "question", prompt, options };
      return;
    }
    const files = wishes.reads ? await fileLines({ attachments: task.attachments ?? [], readAttachment, signal }) : [];
    const text = answerTo({ task, requestId, body: wishes.body, files });
    for (let step = 1; step <= steps; step++) {
      await sleep({ ms: lengthMs / steps, signal });
      const report = reports && { text: `Step ${step} of ${steps}`, percent: (100 * step) / steps };
      const written = streams && { partial: text.slice(0, (text.length * step) / steps) };
      if (report || written) yield { type: "progress", ...report, ...written };
    }
    if (fails) {
      yield { type: "failure", reason: "execution_failed" };
      return;
    }
    for (const file of wishes.files) yield { type: "artifact", artifact: sampleFiles[file] };
    yield { type: "answer", text };
  };
}
