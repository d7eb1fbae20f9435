/** The server of the official SDK, in express on loopback. */
import { createServer } from "node:http";
import * as sdk from "@a2a-js/sdk";
import { AgentCard } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from "@a2a-js/sdk/server/express";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { joinTextParts } from "@sekisho/contracts/a2a/part.ts";
import { toA2aState } from "@sekisho/contracts/a2a/task.ts";
import { toParts } from "@sekisho/execution/a2a/view.ts";
import {
  type Agent,
  type AgentAnswer,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { closeServer, startListening } from "@sekisho/runtime/http/server.ts";
import type { BindingName } from "@sekisho/verification/transport/carrier.ts";
import express from "express";
import { agentContext } from "../execution/agents/agent-context.ts";

const about = {
  name: "an agent of the official SDK",
  description: "for tests",
  version: "1",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "talk", name: "talk", description: "talks", tags: ["talk"] }],
};

export async function startSdkServer({
  versions,
  bindings = ["JSONRPC"],
  ...code
}: ({ agent: Agent } | { executor: AgentExecutor }) & {
  versions: readonly A2aVersion[];
  bindings?: readonly BindingName[];
}): Promise<{ cardUrl: string; close: () => Promise<void> }> {
  const app = express();
  const server = createServer(app);
  const port = await startListening({
    server,
    hostname: "127.0.0.1",
    port: 0,
    portSetting: "none",
  });
  const base = `http://127.0.0.1:${port}`;
  const supportedInterfaces = versions.flatMap((protocolVersion) =>
    bindings.map((protocolBinding) => {
      const path = protocolBinding === "JSONRPC" ? "rpc" : "rest";
      return { url: `${base}/${path}`, protocolBinding, protocolVersion };
    }),
  );
  const card = AgentCard.fromJSON({ ...about, supportedInterfaces });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    "executor" in code ? code.executor : sdkExecutor(code),
  );
  const options = versions.includes("0.3") ? { legacyCompat: { enabled: true } } : {};
  app.use(
    "/.well-known/agent-card.json",
    agentCardHandler({ agentCardProvider: requestHandler, ...options }),
  );
  app.use(
    "/rpc",
    jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, ...options }),
  );
  app.use(
    "/rest",
    restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, ...options }),
  );
  return { cardUrl: `${base}/.well-known/agent-card.json`, close: () => closeServer(server) };
}

type Run = {
  contextId: string;
  first: sdk.Message;
  answers: AgentAnswer[];
  stopping: AbortController;
};

function sdkExecutor({ agent }: { agent: Agent }): AgentExecutor {
  const runs = new Map<string, Run>();
  return {
    async execute(request, bus) {
      const { taskId, contextId, userMessage } = request;
      const cachedValue = runs.get(taskId);
      const run = cachedValue ?? {
        contextId,
        first: userMessage,
        answers: [],
        stopping: new AbortController(),
      };
      runs.set(taskId, run);
      if (cachedValue) run.answers.push({ prompt: "", text: textIn(userMessage) });
      const publish = publisher({ taskId, contextId, bus });
      const announce = () => bus.publish(AgentEvent.task(announced(request)));
      const updates = runAgent(agent, taskOf(run), {
        ...agentContext(run.stopping.signal),
        ...{ taskId, contextId, messageId: userMessage.messageId, requestId: run.first.messageId },
      });
      await tell({ updates, announce, publish, signal: run.stopping.signal });
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      const run = runs.get(taskId);
      run?.stopping.abort();
      publisher({ taskId, contextId: run?.contextId ?? "", bus })({
        state: toA2aState({ state: "canceled" }),
      });
      bus.finished();
    },
  };
}

/** Announces a task before its first update, unless the agent answers without one. A slow agent is announced early. */
async function tell({
  updates,
  announce,
  publish,
  signal,
}: {
  updates: AsyncIterable<TaskUpdate>;
  announce: () => void;
  publish: Publish;
  signal: AbortSignal;
}): Promise<void> {
  let isAnnounced = false;
  const announceOnce = () => {
    if (!isAnnounced) announce();
    isAnnounced = true;
  };
  const early = setTimeout(announceOnce, 10);
  try {
    for await (const update of updates) {
      if (update.type === "answer" && update.direct) return publish({ message: update.text });
      announceOnce();
      for (const event of eventsOf(update)) publish(event);
    }
  } catch (error) {
    // An error after the cancellation is not a failure of the agent.
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(early);
  }
}

/** Returns the task as it starts, or as it goes on after a reply. */
function announced({ taskId: id, contextId, userMessage, task }: RequestContext): sdk.Task {
  const status = {
    state: toA2aState({ state: task ? "working" : "submitted" }),
    timestamp: new Date().toISOString(),
  };
  const begun = sdk.Task.fromJSON({ id, contextId, status });
  return task ? { ...task, status: begun.status } : { ...begun, history: [userMessage] };
}

function taskOf({ first, answers }: Run) {
  return { text: textIn(first), parts: partsIn(first), answers };
}

function textIn(message: sdk.Message): string {
  return joinTextParts(partsIn(message));
}

function partsIn(message: sdk.Message) {
  return (sdk.Message.toJSON(message) as { parts: [] }).parts;
}

type Event = { state: string; text?: string } | { artifact: object } | { message: string };
export type Publish = (event: Event) => void;

function eventsOf(update: TaskUpdate): Event[] {
  switch (update.type) {
    case "progress":
      return [
        { state: toA2aState({ state: "working" }), ...(update.text && { text: update.text }) },
      ];
    case "artifact":
      return [{ artifact: { parts: toParts(update.artifact) } }];
    case "answer":
      return [
        ...(update.text === "" ? [] : [{ artifact: { parts: [{ text: update.text }] } }]),
        { state: toA2aState({ state: "completed" }) },
      ];
    case "question":
      return [
        { state: toA2aState({ state: "input_required", kind: update.kind }), text: update.prompt },
      ];
    case "failure":
      return [
        { state: toA2aState({ state: update.reason === "plan_error" ? "rejected" : "failed" }) },
      ];
  }
}

function publisher({
  taskId,
  contextId,
  bus,
}: {
  taskId: string;
  contextId: string;
  bus: ExecutionEventBus;
}): Publish {
  const says = (text: string) => ({
    messageId: crypto.randomUUID(),
    role: "ROLE_AGENT",
    parts: [{ text }],
    ...{ taskId, contextId },
  });
  return (event) => {
    if ("message" in event) {
      bus.publish(AgentEvent.message(sdk.Message.fromJSON({ ...says(event.message), taskId: "" })));
    } else if ("artifact" in event) {
      const artifact = { artifactId: crypto.randomUUID(), ...event.artifact };
      bus.publish(
        AgentEvent.artifactUpdate(
          sdk.TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, lastChunk: true }),
        ),
      );
    } else {
      const { state, text } = event;
      const status = {
        state,
        timestamp: new Date().toISOString(),
        ...(text && { message: says(text) }),
      };
      bus.publish(
        AgentEvent.statusUpdate(sdk.TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })),
      );
    }
  };
}
