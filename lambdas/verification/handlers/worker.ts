/** The worker's entry on Lambda. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createVerificationWorkerHandler } from "./worker-handler.ts";

export const handler = createVerificationWorkerHandler({ config: readBundledConfig(__dirname) });
