/** The client of the official SDK for 0.3, on which those of ADK and Strands stand. */
import type { Message, Task, TaskStatus } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { type Heard, joinTexts, type Peer } from "./peer.ts";

export const sdk: Peer = {
  name: "SDK 0.3",
  async converse(hostUrl) {
    const client = await new ClientFactory().createFromUrl(hostUrl);
    let openTask: Pick<Message, "taskId" | "contextId"> = {};

    function ask(text: string) {
      const messageId = crypto.randomUUID();
      const message = {
        kind: "message" as const,
        messageId,
        role: "user" as const,
        parts: [{ kind: "text" as const, text }],
      };
      return { message: { ...message, ...openTask } };
    }

    async function say(text: string): Promise<Heard> {
      const statuses: TaskStatus[] = [];
      const parts: Message["parts"] = [];
      for await (const event of client.sendMessageStream(ask(text))) {
        if (event.kind === "artifact-update") parts.push(...event.artifact.parts);
        if (event.kind !== "status-update") continue;
        statuses.push(event.status);
        openTask =
          event.status.state === "input-required"
            ? { taskId: event.taskId, contextId: event.contextId }
            : {};
      }
      const status = statuses.at(-1);
      return {
        text: parts.flatMap((part) => (part.kind === "text" ? part.text : [])).join(""),
        progress: statuses.map(({ message }) => joinTexts(message)),
        files: parts.flatMap((part) =>
          part.kind === "file" && "bytes" in part.file ? part.file.bytes : [],
        ),
        state: status?.state,
        said: joinTexts(status?.message),
      };
    }

    async function cancel(text: string): Promise<string> {
      const { id } = (await client.sendMessage({
        ...ask(text),
        configuration: { blocking: false },
      })) as Task;
      return (await client.cancelTask({ id })).status.state;
    }

    return { say, cancel };
  },
  lacks: {},
};
