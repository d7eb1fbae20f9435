/** The buttons below what a task came to: 👍 and 👎 below an answer, and one to try again below a failure. */
import { describe, expect, it } from "@jest/globals";
import { reasons } from "@sekisho/contracts/errors.ts";
import { parseBlocks } from "@sekisho/local/fake-slack/blocks.ts";
import { decodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { ActionsBlock, Button, ContextActionsBlock, FeedbackButtons } from "@slack/web-api";
import { sampleTask } from "../../task/sample.ts";

const { id: requestId, message } = sampleTask();
const answer = { type: "answer", text: "A checkpoint." } as const;
const locales = ["en", "ja"] as const;

function blocksOf(
  changes: Partial<Task>,
  options: { locale?: "en" | "ja"; feedback?: boolean } = {},
) {
  const parts = createTaskText({ locale: "en", ...options }).parts(
    sampleTask({ state: "delivering", ...changes }),
  );
  for (const { blocks } of parts) {
    if (blocks !== undefined)
      expect(parseBlocks({ json: blocks, refusesMarkdown: false })).toHaveProperty("blocks");
  }
  return parts.map(({ blocks = [] }) => blocks as readonly unknown[]);
}

function votesOf(
  changes: Partial<Task>,
  options: { locale?: "en" | "ja"; feedback?: boolean } = { feedback: true },
) {
  const isVotes = (block: unknown): block is ContextActionsBlock =>
    Object(block).type === "context_actions";
  return blocksOf(changes, options).map((blocks) => blocks.filter(isVotes));
}

function retryOf(changes: Partial<Task>, locale: "en" | "ja" = "en"): Button | undefined {
  const isActions = (block: unknown): block is ActionsBlock => Object(block).type === "actions";
  const [actions] = blocksOf(changes, { locale }).flat().filter(isActions);
  return actions?.elements[0] as Button | undefined;
}

describe("the votes on an answer", () => {
  it.each(locales)(
    "shows the votes as one element with two values that name the task, in %s",
    (locale) => {
      const [[block]] = votesOf({ outcome: answer }, { locale, feedback: true }) as [
        [ContextActionsBlock],
      ];
      const [element] = block.elements as FeedbackButtons[];
      const {
        action_id = "",
        positive_button: up,
        negative_button: down,
      } = element ?? ({} as FeedbackButtons);
      const readButton = ({ value }: { value: string }) => decodeButton({ action_id, value });
      expect(readButton(up)).toEqual({ requestId, button: { type: "feedback", vote: "up" } });
      expect(readButton(down)).toEqual({ requestId, button: { type: "feedback", vote: "down" } });
      for (const { text, accessibility_label = "" } of [up, down]) {
        expect(text.text.length * accessibility_label.length).toBeGreaterThan(0);
        expect(accessibility_label.length).toBeLessThanOrEqual(75);
      }
    },
  );

  it("shows the votes below the last part of a long answer", () => {
    const counts = votesOf({ outcome: { ...answer, text: "Word by word.\n\n".repeat(1600) } }).map(
      ({ length }) => length,
    );
    expect(counts.length).toBeGreaterThan(1);
    expect(counts).toEqual([...counts.slice(1).map(() => 0), 1]);
  });

  it("shows no votes without the setting, without blocks, or below anything but an answer", () => {
    expect(votesOf({ outcome: answer }, {}).flat()).toEqual([]);
    expect(votesOf({ outcome: answer, mrkdwnFallback: true }).flat()).toEqual([]);
    expect(votesOf({ outcome: answer, delivery: { status: "failure_notice" } }).flat()).toEqual([]);
    expect(votesOf({ outcome: { type: "too_old" } }).flat()).toEqual([]);
    expect(votesOf({ outcome: { type: "failed", reason: "timeout", lost: false } }).flat()).toEqual(
      [],
    );
  });
});

describe("the button to try again", () => {
  const failedTask = (
    reason: (typeof reasons)[number] | "ambiguous",
    isLost = false,
  ): Partial<Task> => ({
    outcome: { type: "failed", reason, lost: isLost },
  });

  it.each(locales)("names the task in the retry button, in %s", (locale) => {
    const {
      action_id = "",
      value = "",
      confirm,
    } = retryOf(failedTask("execution_failed"), locale) ?? ({} as Button);
    expect(decodeButton({ action_id, value })).toEqual({ requestId, button: { type: "retry" } });
    expect(confirm).toBeUndefined();
  });

  it.each([
    ["timeout", false],
    ["ambiguous", false],
    ["execution_failed", true],
  ] as const)(
    "asks for confirmation of a retry after %s (lost: %s), because the agent may have done its work",
    (reason, isLost) => {
      for (const locale of locales)
        expect(retryOf(failedTask(reason, isLost), locale)?.confirm).toBeDefined();
    },
  );

  it("shows the retry button only for failures that another attempt may fix", () => {
    expect(reasons.filter((reason) => retryOf(failedTask(reason)) !== undefined).sort()).toEqual([
      "execution_failed",
      "internal",
      "invalid_state",
      "rate_limited",
      "task_not_found",
      "timeout",
      "unavailable",
    ]);
  });

  it.each(locales)(
    "removes the retry button and keeps the rest of the failure, in %s",
    (locale) => {
      const text = createTaskText({ locale });
      const task = sampleTask({ state: "done", ...failedTask("execution_failed") });
      const [firstPart] = text.parts(task);
      const isButton = (block: unknown) => Object(block).type === "actions";
      const blocks = firstPart?.blocks?.filter((block) => !isButton(block));
      expect(blocks).toHaveLength(Number(firstPart?.blocks?.length) - 1);
      expect(text.withoutRetry({ task, text: firstPart?.text ?? "" })).toEqual({
        ...firstPart,
        blocks,
      });
    },
  );

  it.each<[string, Partial<Task>]>([
    ["of a slash command, which leaves no message", { message: { ...message, command: true } }],
    ["of another bot", { message: { ...message, botIds: ["B1"] } }],
    ["of a canceled task", { ...failedTask("ambiguous"), cancelReason: "asked" }],
    ["that Slack refused", { delivery: { status: "failure_notice" } }],
    ["without blocks", { mrkdwnFallback: true }],
  ])("shows no retry button below a failure %s", (_what, changes) => {
    expect(retryOf({ ...failedTask("execution_failed"), ...changes })).toBeUndefined();
  });
});

it.each([
  [{ type: "cancel" }, "sekisho_cancel", {}],
  [{ type: "retry" }, "sekisho_retry", {}],
  [{ type: "feedback", vote: "up" }, "sekisho_feedback", { v: "up" }],
])("accepts the button %j in a message of an earlier version", (button, action_id, fields) => {
  const value = JSON.stringify({ r: requestId, ...fields });
  expect(decodeButton({ action_id, value })).toEqual({ requestId, button });
});

it.each([
  [
    "an unknown vote",
    { action_id: "sekisho_feedback", value: JSON.stringify({ r: requestId, v: "maybe" }) },
  ],
  [
    "a vote with unknown members",
    { action_id: "sekisho_feedback", value: JSON.stringify({ r: requestId, v: "up", x: 1 }) },
  ],
  [
    "a vote with an invalid request id",
    { action_id: "sekisho_feedback", value: JSON.stringify({ r: "1", v: "up" }) },
  ],
  ["a vote without a value", { action_id: "sekisho_feedback", value: "" }],
  [
    "a retry with a vote",
    { action_id: "sekisho_retry", value: JSON.stringify({ r: requestId, v: "up" }) },
  ],
  [
    "another app's button",
    { action_id: "feedback", value: JSON.stringify({ r: requestId, v: "up" }) },
  ],
])("ignores %s", (_what, button) => {
  expect(decodeButton(button)).toBeUndefined();
});

it.each(locales)(
  "names the admins after a click without access, and explains a late click, in %s",
  (locale) => {
    const { buttonClickRefused } = createTaskText({ locale: "en", contact: "<@U9>" });
    expect(buttonClickRefused({ refusal: { type: "not_allowed" }, locale })).toContain("<@U9>");
    const [late, over] = (["retried", "over"] as const).map((type) =>
      buttonClickRefused({ refusal: { type }, locale }),
    );
    expect(late).not.toBe(over);
  },
);
