/** The entry of the Execution zone's Function URL on Lambda. It runs no agent. */
import { readBundledConfig } from "../../shared/config/bundled-config.ts";
import { createUrlHandler } from "./function-url-handler.ts";

export const handler = createUrlHandler({ config: readBundledConfig(__dirname) });
