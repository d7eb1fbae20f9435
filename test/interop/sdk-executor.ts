/** Runs one of our agents in the executor of the official SDK, so that the same agent answers on its server and on our host. */
import * as sdk from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type RequestContext } from "@a2a-js/sdk/server";
import { joinTextParts } from "../../contracts/a2a/part.ts";
import { toA2aState } from "../../contracts/a2a/task.ts";
import type { Agent, AgentAnswer, TaskUpdate } from "../../lambdas/execution/agents/agent.ts";
import { agentContext } from "../execution/agents/agent-context.ts";
import { eventsOf, type Publish, publisher } from "./sdk-events.ts";

type Run = { contextId: string; first: sdk.Message; answers: AgentAnswer[]; stopping: AbortController };

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
  const status = { state: toA2aState({ state: task ? "working" : "submitted" }), timestamp: new Date().toISOString() };
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
