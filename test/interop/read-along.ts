/** Polls a task of an agent that writes its answer in steps, as a worker does for people who read along. */
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { clientTo } from "../verification/transport/a2a/sample.ts";

/** The agent writes the next step after `goOn`. */
export function createSteps() {
  let goOn = () => {};
  return {
    goOn: () => goOn(),
    next() {
      const { promise, resolve } = Promise.withResolvers<void>();
      goOn = resolve;
      return promise;
    },
  };
}

/** Resolves to the partial answer that each poll saw, and to the result. Each poll begins before the next step. */
export async function readAlong(request: {
  cardUrl: string;
  version: A2aVersion;
  goOn: () => void;
}) {
  const { cardUrl, version, goOn } = request;
  const { call } = clientTo(cardUrl, { version });
  const accepted = await call("execute_task", { channel: "C1", text: "How is the weather?" });
  const key = { task_id: String(Object(accepted).task_id) };
  const partialTexts: unknown[] = [];
  let result = await call("get_task", key);
  while (result.status === "accepted") {
    setTimeout(goOn, 100);
    result = await call("get_task", { ...key, wait_ms: 10_000 });
    if (result.status === "accepted") partialTexts.push(result.progress?.partial_text);
  }
  return { result, partialTexts };
}
