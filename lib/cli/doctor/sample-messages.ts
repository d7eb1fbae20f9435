/** A sample of every kind of message and view that Sekisho shows in Slack, as the product makes it. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { SlackBlock } from "../../../lambdas/verification/slack/api/slack.ts";
import { helpText } from "../../../lambdas/verification/slack/messages/help.ts";
import { homeBlocks } from "../../../lambdas/verification/slack/messages/home.ts";
import { chooseContact } from "../../../lambdas/verification/slack/messages/outcome-text.ts";
import type { Overview } from "../../../lambdas/verification/slack/messages/overview.ts";
import { createTaskText } from "../../../lambdas/verification/slack/messages/task-text.ts";
import {
  type AgentQuestion,
  type Locale,
  receivedTask,
  type Task,
} from "../../../lambdas/verification/task/task.ts";

/** `view` is the App Home. The others are messages. */
export type SlackSample = { kind: string; blocks: readonly SlackBlock[]; isView?: true };

const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const markdown = `# Heading\n\nText with **bold**, _italic_, \`code\` and a [link](https://example.com/).\n\n- one\n- two\n\n1. first\n\n> a quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`sh\necho "hello"\n\`\`\`\n`;

/** `nowMs` is when the samples are made. */
export function createSlackSamples({
  slack,
  locale,
  nowMs,
}: {
  slack: Config["slack"];
  locale: Locale;
  nowMs: number;
}) {
  const text = createTaskText({ locale, contact: chooseContact(slack) });
  const ts = (nowMs / 1000).toFixed(6);
  const base: Task = {
    ...receivedTask({
      requestId,
      receivedAtMs: nowMs,
      trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
      message: {
        appId: "A0",
        team: "T0",
        channel: "C0",
        user: "U0",
        ts,
        direct: false,
        text: "What is new?",
      },
    }),
    locale,
  };
  const question: AgentQuestion = {
    index: 0,
    prompt: markdown,
    options: [
      { id: "yes", label: "Yes", style: "primary" },
      { id: "no", label: "No", style: "danger" },
    ],
    askedAtMs: nowMs,
    expiresAtMs: nowMs + 3600_000,
  };
  const steps = [
    { id: "1", title: "Read", status: "completed" },
    { id: "2", title: "Write", status: "in_progress" },
  ] as const;
  const shown = (progress: Task["progress"]) => ({ ...base, state: "waiting" as const, progress });
  const ended = (outcome: Task["outcome"]) => ({ ...base, state: "delivering" as const, outcome });
  const overview: Overview = {
    mayAsk: true,
    contact: chooseContact(slack),
    description: slack.assistant?.description,
    command: slack.command?.name,
    prompts: slack.assistant?.prompts ?? [],
    routes: [
      { word: "data", destination: "one" },
      { channel: "C0", destination: "two" },
      { destination: "three" },
    ],
    rules: [{ team: "T0" }, { channel: "C0", group: "S0" }, { user: "U0" }],
    tasks: [
      { requestId, text: base.message.text, channel: "C0", askedAtMs: nowMs, activity: "working" },
    ],
    hasMoreTasks: true,
    quota: { inPeriod: { left: 1, of: 2, spanMs: 3600_000 }, atOnce: { left: 1, of: 2 } },
  };

  const messages: Record<string, ReturnType<typeof text.parts>> = {
    "the placeholder": [text.placeholder(base)],
    "progress with steps": [
      text.placeholder(
        shown({ text: "Reading", percent: 50, steps: [...steps], shownAtMs: nowMs }),
      ),
    ],
    "a partial answer": [text.placeholder(shown({ partialText: markdown, shownAtMs: nowMs }))],
    "an answer": text.parts(ended({ type: "answer", text: markdown })),
    "a long answer": text.parts(ended({ type: "answer", text: markdown.repeat(100) })).slice(0, 1),
    "a failure": text.parts(ended({ type: "failed", reason: "unavailable", lost: false })),
    "a cancel": text.parts(ended({ type: "failed", reason: "canceled", lost: false })),
    "a question": [text.question({ task: { ...base, state: "asking", question }, nowMs })],
    "an answered question": [
      text.question({
        task: {
          ...base,
          question: {
            ...question,
            answer: { user: "U0", atMs: nowMs, option: 0, callId: requestId },
          },
        },
        nowMs,
      }),
    ],
    help: text.parts(ended({ type: "help", text: helpText({ overview, locale }) })),
  };
  const samples = Object.entries(messages).map(([kind, parts]): SlackSample => {
    return { kind, blocks: parts.flatMap(({ blocks = [] }) => blocks) };
  });
  return [
    ...samples,
    {
      kind: "the App Home",
      blocks: homeBlocks({ overview, locale, nowMs }),
      isView: true as const,
    },
  ];
}
