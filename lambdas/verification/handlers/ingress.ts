/** The ingress's entry on Lambda. */

import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { readMetricsNamespace } from "@sekisho/runtime/aws/environment.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createEmfMetrics } from "@sekisho/runtime/telemetry/emf-metrics.ts";
import { entryMetricTable } from "@sekisho/runtime/telemetry/metric-table-entry.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { readIngressEnvironment } from "../config/ingress-environment.ts";
import {
  createHttpApiHandler,
  createSendToQueue,
  type HttpApiHandler,
} from "../ingress/http-api.ts";
import { createIngress } from "../ingress/ingress.ts";

const { queueUrl, signingSecret: id, forwards, logs, sampleRatio, aws } = readIngressEnvironment();
const readManagedSecret = createReadManagedSecret(aws);

const namespace = readMetricsNamespace();
const emf =
  namespace && createEmfMetrics({ table: entryMetricTable, namespace, zone: "verification" });
const answer = createHttpApiHandler({
  ingress: createIngress({
    signingSecret: createCachedSecret({ readSecret: () => readManagedSecret({ id }) }),
    queue: createSendToQueue({ ...aws, queueUrl }),
    forwards,
    newTrace: () => createTrace({ sampleRatio }),
    log: createLog({ service: "verification", ...logs }),
    ...(emf && { metrics: emf.metrics }),
  }),
});

export const handler: HttpApiHandler = async (event) => {
  const response = await answer(event);
  if (emf) emf.flush();
  return response;
};
