/** The worker's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/aws-environment.ts";
import { createVerificationWorkerHandler } from "./worker-handler.ts";

export const handler = createVerificationWorkerHandler({ config: readBundledConfig(__dirname) });
