/** What the span of an agent's turn says of its conversation. */
import { describe, expect, it } from "@jest/globals";
import { startAgentSpan } from "../../../lambdas/execution/runs/collect-outcome.ts";
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";

const task = { id: "t", requestId: "00000001-0000-5000-8000-000000000000", trace: createTrace() };
const conversationOf = (contextId: string | undefined) =>
  startAgentSpan({ agentName: "echo", task, contextId }).attributes?.["gen_ai.conversation.id"];

describe("the span of an agent's turn", () => {
  it("names the conversation as the agent knows it", () => {
    const id = "00000002-0000-8000-8000-000000000000";
    expect(conversationOf(id)).toBe(id);
  });

  it("names none where the caller named none", () => {
    expect(conversationOf(undefined)).toBeUndefined();
  });
});
