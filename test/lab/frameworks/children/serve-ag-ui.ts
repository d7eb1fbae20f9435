/** An endpoint of AG-UI for an agent of `@ag-ui/client`, which has no server of its own. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { type AbstractAgent, EventType } from "@ag-ui/client";
import { RunAgentInputSchema } from "@ag-ui/core/schemas";
import { EventEncoder } from "@ag-ui/encoder";

/** A run keeps its state in its agent, so each has a new one. */
export function serveAgUi(createAgent: () => AbstractAgent) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { success, data: input, error } = RunAgentInputSchema.safeParse(await json(request));
    if (!success) {
      response.writeHead(422).end(error.message);
      return;
    }
    const encoder = new EventEncoder({ accept: request.headers.accept ?? "" });
    const agent = createAgent();
    response.writeHead(200, { "content-type": encoder.getContentType() });
    const subscription = agent.run(input).subscribe({
      next: (event) => void response.write(encoder.encode(event)),
      error({ message }: Error) {
        response.end(encoder.encode({ type: EventType.RUN_ERROR, message } as never));
      },
      complete: () => void response.end(),
    });
    response.on("close", () => {
      if (response.writableFinished) return;
      agent.abortRun();
      subscription.unsubscribe();
    });
  };
}
