/** The words for what happens to a task. */
import { describe, expect, it } from "@jest/globals";
import { describeEvent, describeEventName, formatStepTitle } from "../../../lib/cli/trace/event-text.ts";

describe("the words for an event", () => {
  it("say what the event itself knows", () => {
    expect(describeEvent({ type: "woken", nowMs: 0, resumed: true })).toBe("worker takes over from one that died");
    expect(describeEvent({ type: "thread_canceled", count: 2, isRepeated: false })).toBe(
      "asked 2 of the thread to end",
    );
    expect(describeEvent({ type: "delivered" })).toBe("answer is in the thread");
  });

  it("are there where only its name was kept, also of another version", () => {
    expect(describeEventName("delivered")).toBe("answer is in the thread");
    expect(describeEventName("of_tomorrow")).toBe("of tomorrow");
    expect(describeEventName("constructor")).toBe("constructor");
  });

  it("stand before the state", () => {
    expect(formatStepTitle({ words: "counted", state: "received" })).toBe("counted → received");
  });
});
