/** The ingress's entry on Lambda. */
import { createReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import { createLog } from "../../shared/log.ts";
import { readIngressEnvironment } from "../config/ingress-environment.ts";
import { createKeptSecret } from "../kept-secret.ts";
import { createHttpApiHandler } from "./http-api-handler.ts";
import { createIngress } from "./ingress.ts";
import { createSendToQueue } from "./send-to-queue.ts";

const { queueUrl, signingSecret: id, logLevel, aws } = readIngressEnvironment();
const readManagedSecret = createReadManagedSecret(aws);

export const handler = createHttpApiHandler({
  ingress: createIngress({
    signingSecret: createKeptSecret({ readSecret: () => readManagedSecret({ id }) }),
    queue: createSendToQueue({ ...aws, queueUrl }),
    log: createLog({ service: "verification", level: logLevel }),
  }),
});
