/** The entry for dead letters on Lambda. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createDeadLetterHandler } from "./dead-letter-handler.ts";

export const handler = createDeadLetterHandler({ config: readBundledConfig(__dirname) });
