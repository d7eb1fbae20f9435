/** What the span of an agent's turn says of its conversation. */
import { describe, expect, it } from "@jest/globals";
import { agentSpan } from "../../../lambdas/execution/host/agent-span.ts";
import { newTrace } from "../../../lambdas/shared/trace.ts";

const task = { id: "t", requestId: "00000001-0000-5000-8000-000000000000", trace: newTrace() };
const conversationOf = (contextId: string | undefined) =>
  agentSpan({ agentName: "echo", task, contextId }).attributes?.["gen_ai.conversation.id"];

describe("the span of an agent's turn", () => {
  it.each(["00000002-0000-4000-8000-000000000000", `s${"0".repeat(65)}`])("names the conversation %s", (id) => {
    expect(conversationOf(id)).toBe(id);
  });

  it("tells conversations apart that a caller has named in words, without the words", () => {
    const id = conversationOf("SECRETCTX my private words");
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(conversationOf("SECRETCTX my private words")).toBe(id);
    expect(conversationOf("another one")).not.toBe(id);
    expect(conversationOf(undefined)).toBeUndefined();
  });
});
