/** Turns the updates of our agents into events of the official SDK. */
import * as sdk from "@a2a-js/sdk";
import { AgentEvent, type ExecutionEventBus } from "@a2a-js/sdk/server";
import { toA2aState } from "../../contracts/a2a/task.ts";
import { toParts } from "../../lambdas/execution/a2a/view.ts";
import type { TaskUpdate } from "../../lambdas/execution/agents/agent.ts";

type Event = { state: string; text?: string } | { artifact: object } | { message: string };
export type Publish = (event: Event) => void;

export function eventsOf(update: TaskUpdate): Event[] {
  switch (update.type) {
    case "progress":
      return [{ state: toA2aState({ state: "working" }), ...(update.text && { text: update.text }) }];
    case "artifact":
      return [{ artifact: { parts: toParts(update.artifact) } }];
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

export function publisher({
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
      const status = { state, timestamp: new Date().toISOString(), ...(text && { message: says(text) }) };
      bus.publish(AgentEvent.statusUpdate(sdk.TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })));
    }
  };
}
