/** The official SDK's executor around one of our agents, so that the same agent answers on its server and on our host. */
import * as sdk from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { textOf } from "../../contracts/a2a/part.ts";
import { toA2aState } from "../../contracts/a2a/states.ts";
import type { Agent, AgentAnswer, TaskUpdate } from "../../lambdas/execution/agents/agent.ts";
import { partsOf } from "../../lambdas/execution/host/a2a/artifacts.ts";
import { agentContext } from "../execution/agents/agent-context.ts";

type Run = { contextId: string; first: sdk.Message; answers: AgentAnswer[]; stopping: AbortController };
type Publish = (event: { state: string; text?: string } | { artifact: object } | { message: string }) => void;

export function sdkExecutor({ agent }: { agent: Agent }): AgentExecutor {
  const runs = new Map<string, Run>();
  return {
    async execute(request, bus) {
      const { taskId, contextId, userMessage } = request;
      const known = runs.get(taskId);
      const run = known ?? { contextId, first: userMessage, answers: [], stopping: new AbortController() };
      runs.set(taskId, run);
      if (known) run.answers.push({ prompt: "", text: textIn(userMessage) });
      const publish = publisher({ taskId, contextId, bus });
      const announce = () => bus.publish(AgentEvent.task(announced(request)));
      const updates = agent(taskOf(run), {
        ...agentContext(run.stopping.signal),
        ...{ taskId, contextId, messageId: userMessage.messageId, requestId: run.first.messageId },
      });
      await tell({ updates, announce, publish, signal: run.stopping.signal });
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      const run = runs.get(taskId);
      run?.stopping.abort();
      publisher({ taskId, contextId: run?.contextId ?? "", bus })({ state: toA2aState({ state: "canceled" }) });
      bus.finished();
    },
  };
}

/** A task is announced before its first update, unless the agent answers without one. */
async function tell(request: {
  updates: AsyncIterable<TaskUpdate>;
  announce: () => void;
  publish: Publish;
  signal: AbortSignal;
}): Promise<void> {
  const { updates, publish, signal } = request;
  let announce: (() => void) | undefined = request.announce;
  const iterator = updates[Symbol.asyncIterator]();
  for (;;) {
    const next = iterator.next();
    // Whoever has to wait for the agent sees the task meanwhile.
    const early = setTimeout(() => {
      announce?.();
      announce = undefined;
    }, 10);
    const { value: update, done } = await next.catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return { value: undefined, done: true };
    });
    clearTimeout(early);
    if (done || update === undefined) return;
    if (update.type === "answer" && update.direct) return publish({ message: update.text });
    announce?.();
    announce = undefined;
    for (const event of eventsOf(update)) publish(event);
  }
}

function eventsOf(update: TaskUpdate): Parameters<Publish>[0][] {
  switch (update.type) {
    case "progress":
      return [{ state: toA2aState({ state: "working" }), ...(update.text && { text: update.text }) }];
    case "artifact":
      return [{ artifact: { parts: partsOf(update.artifact) } }];
    case "answer":
      return [
        ...(update.text === "" ? [] : [{ artifact: { parts: [{ text: update.text }] } }]),
        { state: toA2aState({ state: "completed" }) },
      ];
    case "question":
      return [{ state: toA2aState({ state: "input_required", kind: update.kind }), text: update.prompt }];
    case "failure":
      return [{ state: toA2aState({ state: update.reason === "plan_error" ? "rejected" : "failed" }) }];
  }
}

function publisher({ taskId, contextId, bus }: { taskId: string; contextId: string; bus: ExecutionEventBus }): Publish {
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
      const status = { state, timestamp: new Date().toISOString(), ...(text && { message: says(text) }) };
      bus.publish(AgentEvent.statusUpdate(sdk.TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
    }
  };
}

/** The task as it begins, or as it goes on after an answer. */
function announced({ taskId: id, contextId, userMessage, task }: RequestContext): sdk.Task {
  const status = { state: toA2aState({ state: task ? "working" : "submitted" }), timestamp: new Date().toISOString() };
  const begun = sdk.Task.fromJSON({ id, contextId, status });
  return task ? { ...task, status: begun.status } : { ...begun, history: [userMessage] };
}

function taskOf({ first, answers }: Run) {
  return { text: textIn(first), parts: partsIn(first), answers };
}

function textIn(message: sdk.Message): string {
  return textOf(partsIn(message));
}

function partsIn(message: sdk.Message) {
  return (sdk.Message.toJSON(message) as { parts: [] }).parts;
}
