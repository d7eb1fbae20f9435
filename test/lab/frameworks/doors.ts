/** The ways to the agents of the frameworks: the line of configuration of each, and what its framework does differently. */
import type { Framework } from "./framework.ts";

type Urls = Framework["urls"];

export type Door = {
  name: string;
  /** The file in `children`. */
  child: "langgraph" | "mastra" | "ai-sdk" | "agentcore";
  /** The value of `execution.agent`. */
  agent: (urls: Urls) => object;
  /** The address of a container that is called as a runtime of AgentCore. */
  container?: (urls: Urls) => string | undefined;
  /** The labels of the buttons, and the answer after the second one. Undefined for a way that has no questions. */
  question?: { prompt: string; labels: readonly [string, string]; denied: string };
  /** True if people see the answer while it is written. */
  isStream: boolean;
  /** Why a canceled run goes on. */
  runsOn?: string;
};

export const runtimeArn =
  "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent-abc123";

const langGraphQuestion = {
  ...{ prompt: "Delete the file?", labels: ["yes", "no"] as const },
  denied: "The file is kept.",
};

const langGraph: readonly Door[] = [
  {
    name: "LangGraph over AG-UI",
    child: "langgraph",
    agent: ({ agUi }) => ({ type: "ag-ui", url: `${agUi}/asking` }),
    question: langGraphQuestion,
    isStream: true,
  },
  {
    name: "LangGraph over AG-UI, with interrupts of 1.0",
    child: "langgraph",
    agent: ({ agUi }) => ({ type: "ag-ui", url: `${agUi}/outcome` }),
    question: langGraphQuestion,
    isStream: true,
  },
  {
    name: "LangChain's agent over AG-UI",
    child: "langgraph",
    agent: ({ agUi }) => ({ type: "ag-ui", url: `${agUi}/approving` }),
    question: {
      ...{ prompt: "Tool execution requires approval", labels: ["Approve", "Deny"] },
      denied: "rejected",
    },
    isStream: true,
  },
  {
    name: "LangGraph's server",
    child: "langgraph",
    agent: ({ server }) => ({
      ...{ type: "http", url: `${server}/threads/{session}/runs/wait` },
      request: {
        ...{ assistant_id: "asking", if_not_exists: "create" },
        input: { messages: [{ role: "user", content: "{text}" }] },
      },
      answer: "$.messages[-1].content",
      question: "$.__interrupt__[0].value",
      resume: { assistant_id: "asking", command: { resume: "{reply}" } },
    }),
    question: langGraphQuestion,
    isStream: false,
    runsOn: "runs/wait of this server does not notice that the connection is closed",
  },
];

const mastra: Door = {
  name: "Mastra over AG-UI",
  child: "mastra",
  agent: ({ agUi }) => ({ type: "ag-ui", url: agUi }),
  question: {
    ...{ prompt: "Delete the file?", labels: ["Approve", "Deny"] },
    denied: "The file is kept.",
  },
  isStream: true,
  runsOn: "@ag-ui/mastra does not pass on that its run is aborted",
};

const aiSdkRequest = { session: "{session}", messages: "{messages}" };

const aiSdk: readonly Door[] = [
  {
    name: "the AI SDK, JSON",
    child: "ai-sdk",
    agent: ({ answer }) => ({
      ...{ type: "http", url: answer, request: aiSdkRequest, question: "$.question" },
      resume: { session: "{session}", reply: "{reply}" },
    }),
    question: {
      ...{ prompt: "May I call delete_file?", labels: ["approve", "deny"] },
      denied: "denied",
    },
    isStream: false,
  },
  {
    name: "the AI SDK, a stream of text",
    child: "ai-sdk",
    agent: ({ text }) => ({ type: "http", url: text, request: aiSdkRequest }),
    isStream: false,
  },
  {
    name: "the AI SDK, a stream of UI messages",
    child: "ai-sdk",
    agent: ({ ui }) => ({ type: "http", url: ui, request: aiSdkRequest }),
    isStream: true,
  },
];

const agentCore: readonly Door[] = [
  {
    name: "AgentCore's SDK, a stream",
    child: "agentcore",
    agent: () => ({ type: "http", runtimeArn }),
    container: ({ stream }) => stream,
    isStream: true,
  },
  {
    name: "AgentCore's SDK, JSON",
    child: "agentcore",
    agent: () => ({
      ...{ type: "http", runtimeArn, question: "$.question", resume: { reply: "{reply}" } },
    }),
    container: ({ answer }) => answer,
    question: {
      ...{ prompt: "Delete the file?", labels: ["yes", "no"] },
      denied: "The file is kept.",
    },
    isStream: false,
    runsOn: "the SDK does not tell a handler that the connection is closed",
  },
  {
    name: "AgentCore's SDK at its own address",
    child: "agentcore",
    agent: ({ stream }) => ({
      ...{ type: "http", url: stream, request: { prompt: "{text}", sessionId: "{session}" } },
    }),
    isStream: true,
  },
];

export const doors: readonly Door[] = [...langGraph, mastra, ...aiSdk, ...agentCore];
