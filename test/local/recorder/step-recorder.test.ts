import { describe, expect, it } from "@jest/globals";
import { createStepRecorder, type RecordedStep } from "@sekisho/local/recorder/step-recorder.ts";

const step = { requestId: "a", kind: "request", title: "execute_task", detail: {} } as const;

describe("the steps of a task", () => {
  it("keeps the steps of a task in order with their times, and notifies listeners", () => {
    const stepRecorder = createStepRecorder({ now: () => 7 });
    const heard: RecordedStep[] = [];
    const stop = stepRecorder.onStep((heardStep) => heard.push(heardStep));
    stepRecorder.add(step);
    stepRecorder.add({ ...step, atMs: 9, title: "get_task" });
    stop();
    stepRecorder.add({ ...step, title: "unheard" });
    expect(stepRecorder.steps().map(({ atMs, title }) => [atMs, title])).toEqual([
      [7, "execute_task"],
      [9, "get_task"],
      [7, "unheard"],
    ]);
    expect(heard.length).toBe(2);
  });

  it("hides a secret by its name, by its form, and wherever it is repeated", () => {
    const stepRecorder = createStepRecorder({ secrets: ['sign"ing'] });
    const detail = { params: { bot_token: "anything", text: 'my xoxb-1-2-abc and sign"ing' } };
    stepRecorder.add({ ...step, detail, title: 'get_task: xoxb-1-2-abc and sign"ing' });
    const shownJson = JSON.stringify(stepRecorder.steps());
    expect(shownJson).not.toMatch(/anything|xoxb-1|sign\\+"ing/);
    expect(shownJson).toContain("my ");
  });

  it("does not change a recorded step when its source object changes", () => {
    const stepRecorder = createStepRecorder();
    const detail = { state: "sent" };
    stepRecorder.add({ ...step, detail });
    detail.state = "done";
    expect(stepRecorder.steps()[0]?.detail).toEqual({ state: "sent" });
  });

  it("keeps only the latest tasks and a bounded number of steps for each", () => {
    const stepRecorder = createStepRecorder({ maxTasks: 2, maxSteps: 3 });
    for (const requestId of ["a", "b", "c"])
      for (let index = 0; index < 5; index++) stepRecorder.add({ ...step, requestId });
    expect(stepRecorder.steps().map(({ requestId }) => requestId)).toEqual([
      "b",
      "b",
      "b",
      "c",
      "c",
      "c",
    ]);
  });
});
