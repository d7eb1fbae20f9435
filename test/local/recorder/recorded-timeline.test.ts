import { describe, expect, it } from "@jest/globals";
import { createRecordedTimeline, hideTexts } from "@sekisho/local/recorder/recorded-timeline.ts";
import type { RecordedStep } from "@sekisho/local/recorder/step-recorder.ts";
import fc from "fast-check";
import { knownTask, requestId, secretText } from "../../cli/tasks/known.ts";

const startMs = 1_760_000_000_000;

describe("the timeline of the local run", () => {
  it("shows the frames of a task with lengths in place of texts", () => {
    const body = {
      jsonrpc: "2.0",
      method: "execute_task",
      id: requestId,
      params: { channel: "C1", text: secretText },
    };
    const answer = {
      jsonrpc: "2.0",
      id: requestId,
      result: { status: "success", response_text: secretText },
    };
    const decision = {
      event: { type: "answered", result: answer.result },
      next: ["wake in 0 ms at most"],
    };
    const stepsOf = (id: string): RecordedStep[] => [
      { requestId: id, atMs: startMs + 155, kind: "request", title: "execute_task", detail: body },
      {
        requestId: id,
        atMs: startMs + 2140,
        kind: "response",
        title: `execute_task: ${secretText}`,
        detail: answer,
      },
      {
        requestId: id,
        atMs: startMs + 2150,
        kind: "decision",
        title: "it answered → delivering",
        detail: decision,
      },
    ];
    const timeline = createRecordedTimeline({
      task: knownTask({ startMs }),
      execution: undefined,
      steps: [...stepsOf(requestId), ...stepsOf("another")],
      nowMs: startMs + 60_000,
    });
    // The recorded step takes the place of the entry of the history that says the same.
    expect(timeline.map(({ title }) => title)).toEqual([
      "message queued",
      "placeholder posted → announced",
      "worker claimed the task → sent",
      "execute_task",
      "response to execute_task",
      "it answered → delivering",
      "outcome posted → done",
    ]);
    expect(timeline[3]).toMatchObject({ frame: { id: requestId, params: { channel: "C1" } } });
    expect(JSON.stringify(timeline)).not.toContain(secretText);
  });
});

describe("a frame", () => {
  it("keeps ids, kinds, numbers and the shape of a frame, and only the lengths of its texts", () => {
    const params = {
      channel: "C1",
      text: "What is it?",
      timeout_ms: 5,
      history: [{ role: "user", text: "Hi" }],
    };
    expect(hideTexts({ jsonrpc: "2.0", method: "execute_task", id: "a-1", params })).toEqual({
      jsonrpc: "2.0",
      method: "execute_task",
      id: "a-1",
      params: {
        channel: "C1",
        text: "(11 characters)",
        timeout_ms: 5,
        history: [{ role: "user", text: "(2 characters)" }],
      },
    });
  });

  it("masks a secret by its name, and a sentence in a member for an id", () => {
    expect(hideTexts({ bot_token: "xoxb-1", status: "I am done, and here is why" })).toEqual({
      bot_token: "(10 characters)",
      status: "(26 characters)",
    });
  });

  it("hides the text of an unknown member at any depth", () => {
    const secret = "a-secret-text";
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 5 }),
        (path) => {
          const body = path.reduceRight<unknown>(
            (inner, name) => ({ [`x${name}`]: inner, list: [secret] }),
            secret,
          );
          expect(JSON.stringify(hideTexts(body))).not.toContain(secret);
        },
      ),
    );
  });
});
