/** The worker's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/bundled-config.ts";
import { createWorkerHandler } from "./worker-handler.ts";

export const handler = createWorkerHandler({ config: readBundledConfig(__dirname) });
