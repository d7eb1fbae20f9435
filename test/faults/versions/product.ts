/** What the simulation takes of the product. One build of this file is one version of both zones. */
export { SekishoError } from "@sekisho/contracts/errors.ts";
export { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
export { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
export { handleExecutionBatches } from "@sekisho/execution/handlers/worker-handler.ts";
export { createHost } from "@sekisho/execution/host.ts";
export { parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
export { readItem, writeItem } from "@sekisho/runtime/engine/records.ts";
export { createDestinations } from "@sekisho/verification/destinations.ts";
export { parseUsage } from "@sekisho/verification/gate/quotas.ts";
export { parseRefusalRecord } from "@sekisho/verification/gate/refusals.ts";
export { createPolicy } from "@sekisho/verification/gate/rules.ts";
export { createIngress } from "@sekisho/verification/ingress/ingress.ts";
export { SlackError } from "@sekisho/verification/slack/api/slack.ts";
export { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
export { parseTask } from "@sekisho/verification/task/task.ts";
export { parseThread } from "@sekisho/verification/task/thread.ts";
export { createVerificationWorker } from "@sekisho/verification/worker/verification-worker.ts";
export { parseZoneSecret } from "@sekisho/verification/zone-secret.ts";
