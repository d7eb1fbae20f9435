/** The entry of the Execution zone's Function URL on Lambda. It runs no agent. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createFunctionUrlHandler } from "./function-url-handler.ts";

export const handler = createFunctionUrlHandler({ config: readBundledConfig(__dirname) });
