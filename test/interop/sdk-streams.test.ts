/** Our transport reads along with an agent of the official SDK that streams its answer. */
import { Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { expect, it } from "@jest/globals";
import { closeAfterTest } from "../doubles/serving.ts";
import { clientTo } from "../verification/transport/a2a/sample.ts";
import { startSdkServer } from "./sdk-server.ts";

const answer = "It is 31 degrees, and it will rain.";
const chunks = answer.match(/.{1,9}/g) ?? [];

it.each(["1.0", "0.3"] as const)(
  "shows an answer as an agent of the official SDK appends to it, in %s",
  async (version) => {
    let goOn = () => {};
    const step = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      goOn = resolve;
      return promise;
    };
    async function execute({ taskId, contextId }: RequestContext, bus: ExecutionEventBus) {
      const tell = (state: string) =>
        AgentEvent.statusUpdate(
          TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state } }),
        );
      const status = { state: "TASK_STATE_WORKING" };
      bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status })));
      for (const [index, text] of chunks.entries()) {
        await step();
        const artifact = { artifactId: "answer", parts: [{ text }] };
        const event = { taskId, contextId, artifact, append: index > 0 };
        bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(event)));
      }
      await step();
      bus.publish(tell("TASK_STATE_COMPLETED"));
      bus.finished();
    }
    const executor = { execute, cancelTask: async () => {} };
    const { cardUrl } = closeAfterTest(await startSdkServer({ executor, versions: [version] }));
    const { call } = clientTo(cardUrl);
    const accepted = await call("execute_task", { channel: "C1", text: "How is the weather?" });
    const key = { task_id: String(Object(accepted).task_id) };
    const seenTexts: unknown[] = [];
    let result = await call("get_task", key);
    while (result.status === "accepted") {
      setTimeout(() => goOn(), 100);
      result = await call("get_task", { ...key, wait_ms: 10_000 });
      seenTexts.push(Object(result).progress?.partial_text);
    }
    expect(result).toMatchObject({ status: "success", response_text: answer });
    const texts = chunks.map((_, index) => chunks.slice(0, index + 1).join(""));
    expect(seenTexts).toEqual([...texts, undefined]);
  },
);
