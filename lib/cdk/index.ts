/** The entry `./cdk`: the zones as constructs, for a CDK app of one's own. */
export { ExecutionZone, type ExecutionZoneProps } from "./execution-zone.ts";
export { SekishoIdentity } from "./identity.ts";
export { addStage, loadStage, type StageLocation } from "./stage.ts";
export type { ExecutionEntry, StageSettings } from "./stage-settings.ts";
export { VerificationZone, type VerificationZoneProps } from "./verification-zone.ts";
