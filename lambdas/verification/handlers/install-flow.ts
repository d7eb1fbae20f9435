/** The installation flow's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/aws-environment.ts";
import { createOauthHandler, type FlowConfig } from "./install-flow-handler.ts";

// Checked when it was written. The schema of the configuration would double the size of this bundle.
const config = readBundledConfig(__dirname) as FlowConfig;

export const handler = createOauthHandler({ config });
