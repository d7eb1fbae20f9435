/** Our transport reads along with an agent of the official SDK that streams its answer. */
import { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { expect, it } from "@jest/globals";
import { closeAfterTest } from "../doubles/serving.ts";
import { createSteps, readAlong } from "./read-along.ts";
import { startSdkServer } from "./sdk-server.ts";

const answer = "It is 31 degrees, and it will rain.";
const chunks = answer.match(/.{1,9}/g) ?? [];

it.each(["1.0", "0.3"] as const)(
  "shows an answer as an agent of the official SDK appends to it, in %s",
  async (version) => {
    const steps = createSteps();
    async function execute({ taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
      const working = { state: "TASK_STATE_WORKING" };
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: working })));
      for (const [index, text] of chunks.entries()) {
        await steps.next();
        const artifact = { artifactId: "answer", parts: [{ text }] };
        const event = { taskId, contextId, artifact, append: index > 0 };
        bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(event)));
      }
      await steps.next();
      const event = { taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(event)));
      bus.finished();
    }
    const executor = { execute, cancelTask: async () => {} };
    const { cardUrl } = closeAfterTest(await startSdkServer({ executor, versions: [version] }));
    const { result, partialTexts } = await readAlong({ cardUrl, version, goOn: steps.goOn });
    expect(result).toMatchObject({ status: "success", response_text: answer });
    expect(partialTexts).toEqual(chunks.map((_, index) => chunks.slice(0, index + 1).join("")));
  },
);
