/** The worker's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/deployed.ts";
import { createVerificationWorkerHandler } from "./worker-handler.ts";

export const handler = createVerificationWorkerHandler({ config: readBundledConfig(__dirname) });
