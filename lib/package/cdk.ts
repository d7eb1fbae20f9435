/** The entry `./cdk`: the zones as constructs, for a CDK app of one's own. */
export { ExecutionZone, type ExecutionZoneProps } from "../cdk/execution-zone.ts";
export { SekishoIdentity } from "../cdk/identity.ts";
export { addStage, loadStage, type StageLocation } from "../cdk/stage.ts";
export type { ExecutionEntry, StageSettings } from "../cdk/stage-settings.ts";
export { VerificationZone, type VerificationZoneProps } from "../cdk/verification-zone.ts";
