/** The Execution zone's entry on Lambda: the Function URL's handler, which takes and answers requests and runs no agent. */
import { parseConfig } from "../shared/config/load.ts";
import { maxTaskMsOf } from "../shared/config/stage-config.ts";
import { createLog } from "../shared/log.ts";
import { openTaskQueue, openTaskStore } from "./aws-engine.ts";
import { readUrlEnvironment } from "./config/aws-environment.ts";
import { platformAuthenticator } from "./host/authenticator/platform.ts";
import { createHost } from "./host/host.ts";
import { type UrlHandler, urlHandler } from "./url-handler.ts";

/**
 * `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. It pushes no
 * completions: whatever a request ends here (a cancel, a lost task), its answer says so.
 */
export function createUrlHandler({ config }: { config: unknown }): UrlHandler {
  const { execution } = parseConfig({ json: config });
  const { table, queueUrl, logLevel } = readUrlEnvironment();
  const host = createHost({
    store: openTaskStore({ table }),
    taskQueue: openTaskQueue({ queueUrl }),
    authenticator: platformAuthenticator(),
    syncBudgetMs: execution.syncBudgetMs,
    maxTaskMs: maxTaskMsOf({ config: { execution }, kind: "lambda" }),
    leaseMs: execution.leaseMs,
    lostAfterMs: execution.lostAfterMs,
    log: createLog({ service: "execution", level: logLevel }),
  });
  return urlHandler({ host });
}
