/** Every way by which a text of others reaches a person's terminal, browser, file or Slack: what acts there does not get through. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { createChangeFeed } from "@sekisho/local/page/changes.ts";
import { createStepRecorder } from "@sekisho/local/recorder/step-recorder.ts";
import { createEventStreams } from "@sekisho/local/web/event-streams.ts";
import { respondJson } from "@sekisho/local/web/site.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { csvLine } from "@sekisho/sekisho/usage/csv.ts";
import { safeFileName } from "@sekisho/verification/files/files.ts";
import { pageResponse } from "@sekisho/verification/oauth/page.ts";
import { decodeEntities } from "@sekisho/verification/slack/markdown/characters.ts";
import { createOutgoingFiles } from "@sekisho/verification/slack/messages/answer.ts";
import { nextStreamPiece } from "@sekisho/verification/slack/messages/stream-piece.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { takeResult } from "@sekisho/verification/transport/take-result.ts";
import { writeConfig } from "../cli/aws/a-stage.ts";
import { commandHere } from "../cli/aws/command-here.ts";
import { raw, result, success } from "../doubles/answers.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { longestLimits } from "../tooling/hang.ts";
import { askedAtMs, sampleTask } from "../verification/task/sample.ts";

/** An escape sequence, one of C1, one that sets the title, a direction, a carriage return, and words around them. */
const hostile = "be\u001b[2J\u009b31m\u001b]0;owned\u0007\u202eexe.gpj\u2066\u200f\r\u0000fore";
const acting = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]/u;

const folder = mkdtempSync(join(tmpdir(), "sekisho-sinks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The same kinds of characters, written as entities of Markdown. */
const hostileEntities =
  "be&#27;[2J&#x9b;31m&#127;&#8238;exe.gpj&#x2066;&rlm;&LRM;&#13;&#0;&#8232;fore";

/** All that Slack gets of an agent's Markdown, with its entities decoded as Slack may do it. */
function shownBySlack(text: string): string {
  const { parts, placeholder, question: asked } = createTaskText({ locale: "en" });
  const label = `${text} [${text}](https://a.example/${text}) \`${text}\`\n\n|a|\n|-|\n|${text}|\n\n|a|\n|-|\n|${text}|`;
  const open = {
    index: 0,
    prompt: label,
    options: [],
    askedAtMs,
    expiresAtMs: askedAtMs + 1000,
  };
  const contents = [{}, { plain: true as const }].flatMap((form) => [
    ...parts(sampleTask({ outcome: { type: "answer", text: label }, ...form })),
    placeholder(
      sampleTask({
        state: "waiting",
        progress: { text, partialText: label, shownAtMs: askedAtMs },
        ...form,
      }),
    ),
    asked({ task: sampleTask({ state: "asking", question: open, ...form }), nowMs: askedAtMs }),
  ]);
  const piece = nextStreamPiece({ text: `${label}\n`, from: 0, shows: undefined });
  const decodedText = (one: string) =>
    one
      .replace(/&(?:#(\d+)|#x([0-9a-f]+));/gi, (_, decimal, hex) =>
        String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)),
      )
      .replace(/&(?:lrm|rlm);/gi, "\u200e");
  return decodedText(textsIn([contents, piece]));
}

/** `sekisho send` at an agent that answers like this; all that it wrote. */
async function sentIds(
  answer: (call: { id: string; method: string }) => Response,
  ...words: string[]
) {
  const server = await startWebServer({
    handle: async ({ body }) => answer(JSON.parse(Buffer.from(body).toString())),
  });
  try {
    const json = {
      destinations: { far: { transport: "https", url: server.url } },
      routes: [{ destination: "far" }],
      limits: longestLimits,
      execution: { syncBudgetMs: 100 },
    };
    const config = writeConfig({ folder, name: "sent.json", json });
    const { stdout, stderr } = await commandHere(
      ["send", "hello", "--config", config, ...words],
      {},
    );
    return stdout + stderr;
  } finally {
    await server.close();
  }
}

/** `sekisho start --once` with an agent that does this. */
async function startedOnce(does: string) {
  const agent = join(folder, `agent-${randomUUID()}.ts`);
  writeFileSync(agent, `export async function* agent() { ${does} }\n`);
  const destinations = { here: { transport: "https" } };
  const json = { destinations, routes: [{ destination: "here" }], execution: { agent } };
  const config = writeConfig({ folder, name: "once.json", json });
  const env = { SEKISHO_SHOW_AGENT_ERRORS: "1" };
  const { stdout, stderr } = await commandHere(
    ["start", "--once", "hello", "--config", config],
    env,
  );
  return stdout + stderr;
}

/** All texts of a value, and the names of its members. */
function textsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(textsIn).join("\n");
}

function written(write: (response: ServerResponse) => void): string {
  let text = "";
  const response = {
    writeHead: () => response,
    write: (chunk: string) => {
      text += chunk;
      return true;
    },
    end: (chunk = "") => {
      text += chunk;
    },
    on(_event: "close", close: () => void) {
      closing.push(close);
      return response;
    },
  };
  const closing: (() => void)[] = [];
  write(response as unknown as ServerResponse);
  for (const close of closing) close();
  return text;
}

/** Parses the JSON of a response, or of a stream of events, as a browser does. */
const parsedConfig = (text: string) =>
  textsIn(
    text
      .split("\n")
      .flatMap((line) => (/[{[]/.test(line) ? [JSON.parse(line.replace(/^data: /, ""))] : [])),
  );

const question = { options: [{ id: "yes", label: hostile }], question_id: "q", prompt: hostile };

const sinks: Record<string, () => string | Promise<string>> = {
  "terminal: the answer of send": () => sentIds((call) => success(call, hostile)),
  "terminal: the question of send": () =>
    sentIds((call) => result(call, { status: "input_required", task_id: "t", ...question })),
  "terminal: the progress of send": () =>
    sentIds((call) =>
      call.method === "get_task"
        ? success(call, "before")
        : result(call, {
            status: "accepted",
            task_id: "t",
            poll_after_ms: 1,
            progress: { text: hostile },
          }),
    ),
  "terminal: an id that the peer chose": () =>
    sentIds((call) =>
      call.method === "get_task"
        ? raw("", { status: 403 })
        : result(call, { status: "accepted", task_id: hostile, poll_after_ms: 1 }),
    ),
  "terminal: the answer of start --once": () =>
    startedOnce(`yield ${JSON.stringify({ type: "answer", text: hostile })};`),
  "terminal: the question of start --once": () =>
    startedOnce(`yield ${JSON.stringify({ type: "question", prompt: hostile })};`),
  "terminal: what an agent threw": () =>
    startedOnce(`throw new Error(${JSON.stringify(hostile)});`),
  "a log line": () => {
    const lines: string[] = [];
    createLog({ service: "sekisho", write: (line) => lines.push(line) }).error("x_failed", {
      cause_kind: hostile,
    });
    return lines.join("");
  },
  "Slack: an answer": () => textsIn(takeResult({ status: "success", response_text: hostile })),
  "Slack: progress, whole or in part": () =>
    textsIn(
      takeResult({
        status: "accepted",
        task_id: "t",
        progress: { text: hostile, partial_text: hostile },
      }),
    ),
  "Slack: a question and its buttons": () =>
    textsIn(takeResult({ status: "input_required", ...question })),
  "file names: of an answer": () => {
    const artifacts = [
      { name: hostile, text: "x" },
      { url: `https://a.example/${encodeURIComponent(hostile)}` },
    ];
    const files = createOutgoingFiles({ outcome: { type: "answer", text: "x y", artifacts } });
    return files.map(({ name }) => name).join("\n");
  },
  "file names: of a message": () => safeFileName(hostile),
  "pages: an answer of a page's server": () =>
    parsedConfig(written((response) => respondJson(response, { hostile }))),
  "pages: a stream of events": async () => {
    const fakeSlack = await startFakeSlack({ signingSecret: "s", botToken: "xoxb-fake-slack" });
    try {
      fakeSlack.ask({ eventsUrl: "http://127.0.0.1:1/slack/events", text: hostile });
      const watch = createChangeFeed({ fakeSlack, stepRecorder: createStepRecorder() });
      const visitor = { operator: "loopback" };
      const text = written((response) =>
        createEventStreams().open({ response, visitor }, { watch }),
      );
      return parsedConfig(text.replace(/^:$/gm, ""));
    } finally {
      await fakeSlack.close();
    }
  },
  "pages: the end of an installation": () =>
    pageResponse({ situation: "installed", locale: "en", name: hostile }).text(),
  "files: CSV": () => csvLine([hostile]),
};

describe("control characters and direction marks", () => {
  it.each(Object.entries(sinks))("keeps control characters out of %s", async (_name, show) => {
    const shownText = await show();
    expect(shownText).toContain("be");
    expect(shownText.match(acting)).toBeNull();
  });

  it.each([
    ["each", hostileEntities],
    ["one within the other", "be&#82&#8238;38;&#&#8238;8238;fore"],
  ])("keeps control characters out of Slack as entities: %s", (_what, writtenText) => {
    const shownText = shownBySlack(writtenText);
    expect(shownText).toContain("be");
    expect(shownText.match(acting)).toBeNull();
    expect(decodeEntities(writtenText).match(acting)).toBeNull();
  });

  it("escapes control characters in JSON on the terminal without losing content", async () => {
    const extra = { note: hostile, "a \u009b name": "\u007f" };
    const answer = { status: "success", response_text: "be", artifacts: [{ data: extra }] };
    const shownText = await sentIds((call) => result(call, answer), "--json");
    expect(shownText.match(acting)).toBeNull();
    expect(JSON.parse(shownText)).toEqual(answer);
  });
});

describe("code that writes to a terminal", () => {
  /** Each goes through `escapeActiveCharacters` or `sanitizeLines`, or writes words of ours alone. */
  const known = [
    "bin/app.ts",
    "lib/cli/main.ts",
    "lambdas/execution/handlers/run-container.ts",
    "lambdas/runtime/log.ts",
    "lambdas/runtime/telemetry/emf-metrics.ts",
    "lib/cli/aws/secret-values.ts",
    "lib/cli/confirm.ts",
    "lib/conformance/main.ts",
    "bin/release/bundle-conformance.ts",
    "bin/release/package.ts",
    "lib/local/execution-zone.ts",
    "lib/local/terminal-log.ts",
  ];

  it("lists every file that writes to a terminal, so that a new one is reviewed", () => {
    const files = ["bin", "lambdas", "lib"].flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => `${root}/${file}`),
    );
    const writers = files.filter(
      (file) =>
        file.endsWith(".ts") &&
        /process\.(stdout|stderr)\b(?!\.(isTTY|hasColors))|console\./.test(
          readFileSync(file, "utf8"),
        ),
    );
    expect(writers.sort()).toEqual(known.toSorted());
  });
});
