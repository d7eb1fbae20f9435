/** The Execution zone's entry on Lambda: the Function URL's handler, which takes and answers requests and runs no agent. */
import { encodeError } from "../../contracts/encode-error.ts";
import { SekishoError } from "../../contracts/errors.ts";
import { parseConfig } from "../shared/config/load.ts";
import { maxTaskMsOf } from "../shared/config/stage-config.ts";
import { createLog } from "../shared/log.ts";
import { openTaskQueue, openTaskStore } from "./aws-engine.ts";
import { readUrlEnvironment } from "./config/aws-environment.ts";
import { exchangeOf, type FunctionUrlResponse, toFunctionUrlResponse } from "./function-url-event.ts";
import { platformAuthenticator } from "./host/authenticator.ts";
import { createHost, type Host } from "./host/host.ts";

export type UrlHandler = (event: unknown) => Promise<FunctionUrlResponse>;

/** `config` is the stage's configuration as JSON. Throws at once where it or the environment cannot be used. */
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

/** Never rejects. Whatever does not say who calls is refused with 403 before the host sees it. */
export function urlHandler({ host }: { host: Pick<Host, "exchange"> }): UrlHandler {
  return async (event) => {
    const exchange = exchangeOf(event);
    return toFunctionUrlResponse(exchange === undefined ? refusal() : await host.exchange(exchange));
  };
}

function refusal() {
  const error = encodeError({ error: new SekishoError("permission_denied"), dialect: "zone" });
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status: 403, headers, body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
}
