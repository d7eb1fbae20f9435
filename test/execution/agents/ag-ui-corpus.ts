/** Streams as servers of AG-UI send them, and the answer of each. */
import { callOf, runOf, type ServerEvent, textOf } from "./ag-ui-server.ts";

export type RecordedStream = { name: string; events: readonly ServerEvent[]; answer: string };

const raw = (size: number): ServerEvent => ({
  type: "RAW",
  event: { event: "on_chat_model_stream", data: { chunk: "x".repeat(size), depth: [[[[]]]] } },
});
/** What older servers write where nothing is set. */
const nulls = { rawEvent: null, timestamp: null, metadata: null };
const result = (toolCallId: string, content: unknown): ServerEvent => ({
  ...{ type: "TOOL_CALL_RESULT", messageId: `result-${toolCallId}`, toolCallId, content },
  role: "tool",
});
const otherRun = (events: readonly ServerEvent[]) =>
  events.map((event) => ("runId" in event ? { ...event, runId: "an-earlier-run" } : event));

export const recordedStreams: readonly RecordedStream[] = [
  {
    name: "LangGraph: raw events, steps, a tool, snapshots",
    events: runOf(
      [
        raw(300),
        { type: "STEP_STARTED", stepName: "agent", ...nulls },
        ...textOf("m1", ["Let me ", "look."], nulls),
        ...callOf("c1", "search", '{"q":"関所"}'),
        raw(20),
        result("c1", "42"),
        { type: "STEP_FINISHED", stepName: "agent" },
        { type: "STEP_STARTED", stepName: "agent" },
        ...textOf("m2", ["It is ", "", "42 🏯."]),
        { type: "STEP_FINISHED", stepName: "agent" },
        { type: "STATE_SNAPSHOT", snapshot: { messages: [], done: null } },
        {
          type: "MESSAGES_SNAPSHOT",
          messages: [
            { id: "u1", role: "user", content: "hello" },
            { id: "m1", role: "assistant", content: "Let me look." },
            { id: "m2", role: "assistant", content: "It is 42 🏯." },
          ],
        },
      ],
      { outcome: null, result: null },
    ),
    answer: "Let me look.\n\nIt is 42 🏯.",
  },
  {
    name: "CrewAI: the answer in a snapshot only, after an earlier one",
    events: runOf([
      { type: "STEP_STARTED", stepName: "crew" },
      { type: "STEP_FINISHED", stepName: "crew" },
      {
        type: "MESSAGES_SNAPSHOT",
        messages: [
          { id: "u0", role: "user", content: "before" },
          { id: "a0", role: "assistant", content: "An earlier answer" },
          { id: "u1", role: "user", content: "hello" },
          { id: "a1", role: "assistant", content: "From the crew", name: null },
        ],
      },
    ]),
    answer: "From the crew",
  },
  {
    name: "Pydantic AI: thinking of the older form, usage, an explicit end",
    events: runOf(
      [
        { type: "THINKING_START" },
        { type: "THINKING_TEXT_MESSAGE_START" },
        { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hmm" },
        { type: "THINKING_TEXT_MESSAGE_END" },
        { type: "THINKING_END" },
        ...textOf("m1", ["Yes."]),
      ],
      {
        outcome: { type: "success", pendingToolCallIds: [] },
        usage: [{ provider: "p", model: "m", inputTokens: 1 }],
      },
    ),
    answer: "Yes.",
  },
  {
    name: "chunks, reasoning and a subagent",
    events: runOf([
      { type: "REASONING_MESSAGE_CHUNK", messageId: "r1", delta: "secret thoughts" },
      { type: "SUBAGENT_STARTED", subagentRunId: "s1", name: "Reviewer" },
      ...textOf("s-m1", ["a draft"], { subagentRunId: "s1" }),
      { type: "SUBAGENT_FINISHED", subagentRunId: "s1", outcome: { type: "success" } },
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", role: "assistant", delta: "One " },
      { type: "TEXT_MESSAGE_CHUNK", delta: "two" },
      { type: "TOOL_CALL_CHUNK", toolCallId: "c1", toolCallName: "count" },
      result("c1", [{ type: "text", text: "2" }]),
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "three" },
    ]),
    answer: "One two\n\nthree",
  },
  {
    name: "a replayed run with an error before the requested one",
    events: [
      ...otherRun(runOf(textOf("old", ["An earlier answer"]))),
      { type: "RUN_ERROR", message: "an earlier error" },
      ...runOf(textOf("m1", ["The answer"])),
    ],
    answer: "The answer",
  },
  { name: "a result alone", events: runOf([], { result: "All good" }), answer: "All good" },
];
