/** The entry `./conformance`: runs the cases of docs/reference/conformance.md, for instance from a test. */

export type { AskerZone } from "./asker.ts";
export * from "./conformance.ts";
export type { Sender } from "./sender.ts";
