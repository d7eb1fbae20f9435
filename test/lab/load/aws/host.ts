/** The fake Execution zone of a load run of the aws engine, in process. It accepts each task, and all end at the same virtual time. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { Transport } from "@sekisho/verification/transport/transport.ts";

const answerText = "Done.";

export function createLoadHost({
  hasEnded,
  onCall,
}: {
  hasEnded: () => boolean;
  /** Gets the method, and whether the answer was the result. */
  onCall: (request: { method: string; isResult: boolean }) => void;
}): Transport {
  return {
    async send({ body }) {
      const { method, id, params } = JSON.parse(Buffer.from(body).toString()) as {
        method: string;
        id: string;
        params: { task_id?: string };
      };
      if (method !== "execute_task" && method !== "get_task")
        throw new SekishoError("method_not_found");
      const isResult = method === "get_task" && hasEnded();
      onCall({ method, isResult });
      const accepted = {
        status: "accepted",
        task_id: params.task_id ?? `task-of-${id}`,
        poll_after_ms: 1000,
      };
      const result = isResult ? { status: "success", response_text: answerText } : accepted;
      return { status: 200, body: Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })) };
    },
  };
}
