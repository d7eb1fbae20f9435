/** The installation flow's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/aws-environment.ts";
import { createOauthHandler, type FlowConfig } from "./install-flow-handler.ts";

// Not parsed, because the deployment checked it and the configuration's schema would double the size of this bundle.
const config = readBundledConfig(__dirname) as FlowConfig;

export const handler = createOauthHandler({ config });
