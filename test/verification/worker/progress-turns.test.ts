/** Progress that waits for its turn, so that Slack's rate limits are kept: nothing is called before, and nothing is lost. */
import { describe, expect, it } from "@jest/globals";
import type { SlackApi } from "@sekisho/verification/slack/api/slack.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import { showProgress } from "@sekisho/verification/worker/show-progress.ts";
import type { PacedCall } from "@sekisho/verification/worker/slack-pace.ts";
import { sampleTask } from "../task/sample.ts";

const signal = new AbortController().signal;
const placeholder = { ts: "1.0", postedAtMs: 1 };

/** Shows the progress of a task. Each paced call has to wait for as long as `delays` says. */
async function show(
  progress: Partial<NonNullable<Task["progress"]>>,
  delays: Partial<Record<PacedCall, number>> = {},
) {
  const methods: string[] = [];
  const slack = new Proxy({} as SlackApi, {
    get: (_target, method) => async () => {
      methods.push(String(method));
      return { ts: "2.0" };
    },
  });
  const shownProgress = await showProgress({
    slack,
    task: sampleTask({ placeholder, progress: { shownAtMs: 1, ...progress } }),
    text: { placeholder: () => ({ text: "at work", blocks: [] }) } as never,
    streaming: true,
    now: () => 1,
    pace: ({ call }) => delays[call] ?? 0,
    signal,
  });
  return { called: methods, shown: shownProgress };
}

describe("progress", () => {
  it("starts a stream only after the delay for rate limits", async () => {
    const partialProgress = { partialText: "A checkpoint on an old highway." };
    expect(await show(partialProgress, { start: 700 })).toEqual({
      called: [],
      shown: { delayMs: 700 },
    });
    expect((await show(partialProgress)).called).toEqual(["startStream"]);
  });

  it("edits the placeholder only after the delay for rate limits", async () => {
    expect(await show({ text: "half" }, { edit: 300 })).toEqual({
      called: [],
      shown: { delayMs: 300 },
    });
    expect((await show({ text: "half" })).called).toEqual(["update"]);
  });

  it("checks an answer again soon if it lacks its first complete word", async () => {
    expect(await show({ partialText: "A" })).toEqual({ called: [], shown: { delayMs: 0 } });
  });

  it("streams the text while the edit of the placeholder has to wait", async () => {
    const steps = [{ id: "a", title: "Read", status: "in_progress" as const }];
    const both = await show({ partialText: "A checkpoint.", steps }, { edit: 300 });
    expect(both).toMatchObject({
      called: ["startStream"],
      shown: { stream: { messages: [{ ts: "2.0" }] } },
    });
    expect(both.shown.delayMs).toBeUndefined();
  });
});
