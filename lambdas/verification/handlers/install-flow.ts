/** The installation flow's entry on Lambda. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createOauthHandler } from "./install-flow-handler.ts";

const config = readBundledConfig(__dirname);

export const handler = createOauthHandler({ config });
