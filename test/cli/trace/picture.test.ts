/** One task's way, from whatever is known of it, and on a terminal. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { AgentQuestion } from "../../../lambdas/verification/task/task.ts";
import { describeEventName } from "../../../lib/cli/trace/event-text.ts";
import { createPicture } from "../../../lib/cli/trace/picture.ts";
import type { PictureStep } from "../../../lib/cli/trace/picture-step.ts";
import { hideTexts } from "../../../lib/cli/trace/recorder-steps.ts";
import { foldPolls, timelineLines } from "../../../lib/cli/trace/timeline.ts";
import type { RecordedStep } from "../../../lib/local/recorder/step-recorder.ts";
import { sampleCall } from "../../verification/task/sample.ts";
import {
  knownExecution,
  knownLines,
  knownTask,
  requestId,
  secretText,
  taskId,
  traceId,
} from "./known.ts";

const startMs = 1_760_000_000_000;
const nowMs = startMs + 60_000;
const task = knownTask({ startMs });
const execution = knownExecution({ startMs });
const lines = knownLines({ startMs });
const titles = (picture: ReturnType<typeof createPicture>) =>
  picture?.steps.map(({ title }) => title);

describe("the picture of a task", () => {
  it("is that of its record, as far as that goes", () => {
    const picture = createPicture({ requestId, task, nowMs });
    expect(picture).toMatchObject({
      requestId,
      traceId,
      state: "done",
      outcome: "answered",
      destination: "host",
    });
    expect([picture?.startedAtMs, picture?.endedAtMs]).toEqual([startMs, startMs + 2300]);
    expect(titles(picture)).toEqual([
      "message queued",
      "placeholder posted → announced",
      "worker claimed the task → sent",
      "Execution zone responded → delivering",
      "outcome posted → done",
    ]);
  });

  it("has the Execution zone's part where its record is at hand, in order of time", () => {
    const picture = createPicture({ requestId, task, execution, nowMs });
    expect(picture?.taskId).toBe(taskId);
    expect(titles(picture)?.slice(3, 5)).toEqual([
      "task stored → submitted",
      "agent finished → completed",
    ]);
    const times = picture?.steps.map(({ atMs }) => atMs) ?? [];
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it("tells once what a record and a line both know, and everything that only the lines know", () => {
    const picture = createPicture({ requestId, task, execution, lines, nowMs });
    expect(titles(picture)).toEqual([
      "message queued",
      "placeholder posted → announced",
      "slack call failed (rate_limited)",
      "worker claimed the task → sent",
      "execute_task",
      "task stored → submitted",
      "task started",
      "agent finished → completed",
      "Execution zone responded → delivering",
      "outcome posted → done",
    ]);
    expect(picture?.steps[4]).toMatchObject({
      zone: "transport",
      durationMs: 1985,
      detail: { attempt: 1 },
    });
    expect(picture?.steps[2]).toMatchObject({
      zone: "slack",
      failed: true,
      detail: { method: "reactions.add" },
    });
  });

  it("is there without any record: lines say the state, the ids and where it went", () => {
    const picture = createPicture({ requestId, lines, nowMs });
    expect(picture).toMatchObject({
      requestId,
      taskId,
      traceId,
      state: "done",
      destination: "host",
    });
    expect(titles(picture)).toEqual(
      expect.arrayContaining(["task ended → completed", "Execution zone responded → delivering"]),
    );
    expect(createPicture({ requestId: "another", lines, nowMs })).toBeUndefined();
  });

  it("takes lines without a request id by task and trace, and none that name another request", () => {
    const [line] = lines;
    if (line === undefined) throw new Error("no line");
    const bare = { ...line, message: "outcome_not_stored", fields: { task_id: taskId } };
    const traced = { ...line, message: "store_failed", fields: { trace_id: traceId } };
    const foreign = {
      ...line,
      message: "task_lost",
      fields: { request_id: "another", trace_id: traceId },
    };
    const unrelated = { ...line, message: "circuit_opened", fields: { destination: "host" } };
    const picture = createPicture({
      requestId,
      lines: [...lines, bare, traced, foreign, unrelated],
      nowMs,
    });
    expect(titles(picture)).toEqual(expect.arrayContaining(["outcome not stored", "store failed"]));
    expect(picture?.steps).toHaveLength(lines.length + 2);
  });

  it("shows an event of another version by its name", () => {
    expect(describeEventName("of_tomorrow")).toBe("of tomorrow");
    expect(describeEventName("constructor")).toBe("constructor");
  });

  it("has one line once, however many files it is in", () => {
    expect(createPicture({ requestId, lines: [...lines, ...lines], nowMs })).toEqual(
      createPicture({ requestId, lines, nowMs }),
    );
  });

  it("has a question, its answer, polls and progress of a task that is under way, and no end", () => {
    const question: AgentQuestion = {
      index: 0,
      prompt: secretText,
      options: [{ id: "yes", label: secretText }],
      askedAtMs: startMs + 500,
      expiresAtMs: startMs + 5000,
      answer: {
        user: "U7",
        atMs: startMs + 900,
        option: 0,
        text: secretText,
        callId: "c",
        arrival: { type: "arrived" },
        stillAskedTimes: 2,
      },
    };
    const progress = { text: secretText, percent: 40, shownAtMs: startMs + 1200 };
    const polled = { wait: { workStartedAtMs: startMs, polls: 7, polledAtMs: startMs + 1300 } };
    const waiting = knownTask({ startMs, state: "waiting", question, progress, ...polled });
    const picture = createPicture({ requestId, task: waiting, nowMs });
    expect(picture?.endedAtMs).toBeUndefined();
    expect(titles(picture)).toEqual(
      expect.arrayContaining([
        "agent asked a question",
        "reply given, and the agent has it",
        "latest progress shown",
      ]),
    );
    expect(picture?.steps.find(({ title }) => title.startsWith("reply given"))?.detail).toEqual({
      question: 1,
      user: "U7",
      option: 1,
      still_asked: 2,
    });
    expect(JSON.stringify(picture)).not.toContain(secretText);
  });

  it("says that nobody runs an agent any more whose lease lapsed", () => {
    const lease = { owner: "o", untilMs: nowMs - 1 };
    const working = knownExecution({ startMs, state: "working", lease });
    const lost = createPicture({ requestId, execution: working, nowMs });
    expect(titles(lost)?.at(-1)).toBe("lease of the agent's run expired");
    const held = createPicture({
      requestId,
      execution: { ...working, lease: { ...lease, untilMs: nowMs + 1 } },
      nowMs,
    });
    expect(titles(held)).toEqual(["task stored → submitted", "agent started → working"]);
  });

  it("has the frames of the local run, with lengths in the place of texts, and of no other task", () => {
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
    const stepRecorder: RecordedStep[] = [
      { requestId, atMs: startMs + 155, kind: "request", title: "execute_task", detail: body },
      {
        requestId,
        atMs: startMs + 2140,
        kind: "response",
        title: `execute_task: ${secretText}`,
        detail: answer,
      },
      {
        requestId,
        atMs: startMs + 2150,
        kind: "decision",
        title: "it answered → delivering",
        detail: decision,
      },
      { requestId: "another", atMs: startMs, kind: "event", title: "another's", detail: {} },
    ];
    const picture = createPicture({ requestId, task, stepRecorder, nowMs });
    const frames = picture?.steps.filter(({ frame }) => frame !== undefined);
    expect(frames?.map(({ title }) => title)).toEqual(["execute_task", "response to execute_task"]);
    expect(frames?.[0]).toMatchObject({ frame: { id: requestId, params: { channel: "C1" } } });
    expect(titles(picture)).toContain("it answered → delivering");
    expect(titles(picture)).not.toContain("Execution zone responded → delivering");
    expect(JSON.stringify(picture)).not.toContain(secretText);
    expect(titles(picture)).not.toContain("another's");
  });
});

const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eid\n";
const controls = /[\p{Cc}\u202e]/u;

describe("the picture on a terminal", () => {
  it("moves no cursor, sets no title and turns no line around, whatever an Execution zone named its task", () => {
    const task = knownTask({
      startMs,
      call: sampleCall({ taskId: hostile, destination: hostile }),
    });
    const picture = createPicture({ requestId, task, nowMs: startMs });
    if (picture === undefined) throw new Error("no picture");
    const steps = picture.steps.map((step) => ({
      ...step,
      title: hostile,
      detail: { [hostile]: hostile },
    }));
    const lines = timelineLines({ picture: { ...picture, steps }, color: false });
    expect(lines).toContain("  task id      [2J]0;owned31mid");
    expect(lines.filter((line) => controls.test(line))).toEqual([]);
  });

  it("is drawn of as many lines as a log may hold", () => {
    const steps = Array.from({ length: 200_000 }, (_, at) => ({
      atMs: startMs + at,
      zone: "execution" as const,
      title: `step ${at}`,
      detail: {},
    }));
    const picture = { requestId, state: "waiting", startedAtMs: startMs, steps };
    expect(timelineLines({ picture, color: false }).length).toBeGreaterThan(steps.length);
  });
});

describe("polls in a row", () => {
  const step = (atMs: number, title: string): PictureStep => ({
    atMs,
    zone: "verification",
    title,
    detail: {},
  });
  const poll = (atMs: number): PictureStep => ({
    ...step(atMs, "get_task"),
    zone: "transport",
    durationMs: 5,
  });

  it("are one step that says how many there were and how long they took, until something else happens", () => {
    const before = step(0, "Execution zone responded → waiting");
    const question = step(40, "question is in the thread → asking");
    const folded = foldPolls([before, poll(10), poll(20), poll(30), question, poll(50)]);
    const titles = folded.map(({ title }) => title);
    expect(titles).toEqual([before.title, "get_task, 3 times", question.title, "get_task"]);
    expect(folded[1]).toMatchObject({ atMs: 10, durationMs: 25 });
  });

  it("do not hide one that failed", () => {
    const failed: PictureStep = { ...poll(30), failed: true };
    expect(foldPolls([poll(10), poll(20), failed, poll(40)])).toContainEqual(failed);
  });
});

describe("a frame", () => {
  it("keeps ids, kinds, numbers and its shape, and of texts their lengths", () => {
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

  it("masks what is a secret by its name, and a sentence in a member that is for an id", () => {
    expect(hideTexts({ bot_token: "xoxb-1", status: "I am done, and here is why" })).toEqual({
      bot_token: "(10 characters)",
      status: "(26 characters)",
    });
  });

  it("shows no text of a member that nobody thought of, at any depth", () => {
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
