/** The operators' page beside the local page, on the same server: with the frames that this run has seen. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ConfigLocation } from "../../../lambdas/shared/config/load.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import type { StepRecorder } from "../recorder/step-recorder.ts";
import type { Door } from "../web/door.ts";
import { createLoopbackAdmission } from "./admission/loopback-admission.ts";
import { openLocalSource } from "./open-source.ts";
import { createOperatorsPage } from "./operators-page.ts";

export type PageBesideRun = {
  /** Answers what is under `/operate` and resolves to true, or leaves the request to others. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Before the server's close, so that open streams do not hold it up. */
  close(): Promise<void>;
};

/** `store` is there when the run has begun. */
export function openPageBesideRun({
  config,
  store,
  executionPort,
  stepRecorder,
  door,
  log,
}: {
  config: ConfigLocation;
  store: string;
  executionPort: number;
  stepRecorder: StepRecorder;
  door: Door;
  log: Log;
}): PageBesideRun {
  const stop = new AbortController();
  const source = openLocalSource({ config, store, executionPort, steps: stepRecorder.steps, signal: stop.signal });
  const page = createOperatorsPage({ source, admission: createLoopbackAdmission({ door }), log });
  return {
    async handle(request, response) {
      // The local page is at home there.
      if (request.url?.split("?", 1)[0] === "/") return false;
      return page.handle(request, response);
    },
    async close() {
      page.close();
      stop.abort();
      await source.close();
    },
  };
}
